//! A plot over time: SVG with checkpoints shaded and stalls marked, and its legend.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* has a colour: elements have classes, style.css has the colours, for light, dark and
//! paper.

use super::axis::{Scale, Unit, times};
use super::grid::Grid;
use super::html::escape;
use super::path::{self, Points};
use super::series::Values;
use crate::value::At;
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 26.0;
const HEIGHT: f64 = 190.0;
const BOTTOM: f64 = 24.0;
/// Texts below the plot.
const TIMES: i64 = 10;

/// A line or a layer.
pub(super) struct Series {
    pub(super) name: String,
    /// Its colour in style.css.
    pub(super) class: &'static str,
    pub(super) values: Values,
}

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    Lines,
    /// On an axis where each step is tenfold.
    Log,
    /// On top of each other, the first at the bottom.
    Stack,
}

/// A plot.
pub(super) struct Plot {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) caption: String,
    pub(super) unit: Unit,
    pub(super) form: Form,
    pub(super) series: Vec<Series>,
}

/// A time with a mark in all plots.
pub(super) struct Mark {
    pub(super) from: At,
    pub(super) to: At,
    /// Its look in style.css: `write`, `sync`, `stall`.
    pub(super) class: &'static str,
    /// What is shown when the mouse rests on it.
    pub(super) title: String,
}

/// Writing to a String cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{ let _ = write!($out, $($arg)*); }};
}

impl Plot {
    /// The figure: title, legend, plot, caption.
    pub(super) fn figure(&self, grid: &Grid, marks: &[Mark]) -> String {
        let mut out = format!(
            "<figure id=\"{}\">\n<h2>{}</h2>\n",
            self.id,
            escape(self.title)
        );
        let known = self
            .series
            .iter()
            .any(|one| one.values.iter().any(Option::is_some));
        if known {
            self.legend(&mut out, marks);
            self.svg(&mut out, grid, marks);
        } else {
            out.push_str("<p class=\"none\">Nothing of this was recorded.</p>\n");
        }
        put!(
            out,
            "<figcaption>{}</figcaption>\n</figure>\n",
            escape(&self.caption)
        );
        out
    }

    fn legend(&self, out: &mut String, marks: &[Mark]) {
        out.push_str("<ul class=\"legend\">\n");
        let key = |class: &str| {
            format!("<svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\">{class}</svg>")
        };
        for one in &self.series {
            let sign = match self.form {
                Form::Stack => format!(
                    "<rect class=\"fill {}\" width=\"22\" height=\"12\"/>",
                    one.class
                ),
                _ => format!("<path class=\"line {}\" d=\"M0 6L22 6\"/>", one.class),
            };
            put!(
                out,
                "<li>{}{} <small>{}</small></li>\n",
                key(&sign),
                escape(&one.name),
                escape(&self.short(&one.values))
            );
        }
        for (class, name) in [
            ("write", "write phase"),
            ("sync", "sync phase"),
            ("stall", "stall"),
        ] {
            if marks.iter().any(|mark| mark.class == class) {
                let sign = format!("<rect class=\"{class}\" width=\"22\" height=\"12\"/>");
                put!(out, "<li>{}{name}</li>\n", key(&sign));
            }
        }
        out.push_str("</ul>\n");
    }

    /// Mean and largest value.
    fn short(&self, values: &Values) -> String {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        if known.is_empty() {
            return "not known".to_owned();
        }
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let most = known.iter().fold(0.0, |a: f64, b| a.max(*b));
        match self.form {
            Form::Log => format!("at most {}", self.unit.show(most)),
            _ => format!(
                "mean {}, at most {}",
                self.unit.show(mean),
                self.unit.show(most)
            ),
        }
    }

    fn scale(&self, tops: &[Values]) -> Scale {
        let values = || tops.iter().flatten().flatten().copied();
        let most = values().fold(0.0, f64::max);
        if self.form == Form::Log {
            let least = values()
                .filter(|value| *value > 0.0)
                .fold(f64::INFINITY, f64::min);
            Scale::log(least, most)
        } else {
            Scale::linear(most, self.unit)
        }
    }

    fn svg(&self, out: &mut String, grid: &Grid, marks: &[Mark]) {
        let tops = match self.form {
            Form::Stack => stacked(&self.series),
            _ => self.series.iter().map(|one| one.values.clone()).collect(),
        };
        let scale = self.scale(&tops);
        put!(
            out,
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">\n",
            TOP + HEIGHT + BOTTOM,
            escape(self.title)
        );
        bands(out, grid, marks);
        axes(out, &scale, grid);
        let width = (WIDTH - LEFT - RIGHT) / grid.columns as f64;
        let points = |values: &Values| -> Points {
            let columns = values.iter().enumerate();
            columns
                .map(|(column, value)| {
                    value.map(|value| (LEFT + (column as f64 + 0.5) * width, y(&scale, value)))
                })
                .collect()
        };
        let mut below: Option<Points> = None;
        for (one, top) in self.series.iter().zip(&tops) {
            let upper = points(top);
            let (class, form, data) = if self.form == Form::Stack {
                let ground = points(&top.iter().map(|value| value.map(|_| 0.0)).collect());
                let lower = below.replace(upper.clone()).unwrap_or(ground);
                (one.class, "fill", path::area(&upper, &lower, width))
            } else {
                (one.class, "line", path::line(&upper, width))
            };
            if !data.is_empty() {
                let name = escape(&one.name);
                put!(
                    out,
                    "<path class=\"{form} {class}\" d=\"{data}\"><title>{name}</title></path>\n"
                );
            }
        }
        stalls(out, grid, marks);
        out.push_str("</svg>\n");
    }
}

fn y(scale: &Scale, value: f64) -> f64 {
    TOP + HEIGHT * (1.0 - scale.place(value))
}

fn x(grid: &Grid, at: At) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * grid.share(at)
}

/// The upper edge of each layer. In a column in which one layer is known, the others are 0.
fn stacked(series: &[Series]) -> Vec<Values> {
    let columns = series.first().map_or(0, |one| one.values.len());
    let seen: Vec<bool> = (0..columns)
        .map(|column| series.iter().any(|one| one.values[column].is_some()))
        .collect();
    let mut sums = vec![0.0; columns];
    let layer = |one: &Series| {
        let values = sums.iter_mut().zip(&one.values).zip(&seen);
        values
            .map(|((sum, value), seen)| {
                *sum += value.unwrap_or(0.0);
                seen.then_some(*sum)
            })
            .collect()
    };
    series.iter().map(layer).collect()
}

/// The phases of checkpoints, behind everything.
fn bands(out: &mut String, grid: &Grid, marks: &[Mark]) {
    // A sync phase is seen even if it is short; but many do not cover the rest.
    let least = (WIDTH / 8.0 / marks.len().max(1) as f64).clamp(0.3, 1.5);
    for mark in marks.iter().filter(|mark| mark.class != "stall") {
        band(out, grid, mark, least);
    }
}

fn band(out: &mut String, grid: &Grid, mark: &Mark, least: f64) {
    if mark.to <= grid.from() || mark.from >= grid.to() {
        return;
    }
    let (from, to) = (x(grid, mark.from), x(grid, mark.to));
    put!(
        out,
        "<rect class=\"{}\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{HEIGHT}\"><title>{}</title></rect>\n",
        mark.class,
        (to - from).max(least),
        escape(&mark.title)
    );
}

/// Stalls, before everything, with an arrow that is seen when they are short.
fn stalls(out: &mut String, grid: &Grid, marks: &[Mark]) {
    for mark in marks.iter().filter(|mark| mark.class == "stall") {
        band(out, grid, mark, 1.0);
        let middle = (x(grid, mark.from) + x(grid, mark.to)) / 2.0;
        put!(
            out,
            "<path class=\"arrow\" d=\"M{:.1} {}L{:.1} {}L{middle:.1} {}Z\"><title>{}</title></path>\n",
            middle - 5.0,
            TOP - 9.0,
            middle + 5.0,
            TOP - 9.0,
            TOP - 1.0,
            escape(&mark.title)
        );
    }
}

fn axes(out: &mut String, scale: &Scale, grid: &Grid) {
    let right = WIDTH - RIGHT;
    let floor = TOP + HEIGHT;
    for (value, text) in &scale.ticks {
        let y = y(scale, *value);
        put!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}L{right} {y:.1}\"/>\n"
        );
        let (x, y) = (LEFT - 6.0, y + 4.0);
        put!(
            out,
            "<text class=\"y\" x=\"{x}\" y=\"{y:.1}\">{}</text>\n",
            escape(text)
        );
    }
    put!(
        out,
        "<text class=\"unit\" x=\"4\" y=\"12\">{}</text>\n",
        escape(&scale.unit)
    );
    put!(
        out,
        "<path class=\"axis\" d=\"M{LEFT} {floor}L{right} {floor}\"/>\n"
    );
    for (at, text) in times(grid, TIMES) {
        let x = x(grid, at);
        put!(
            out,
            "<path class=\"axis\" d=\"M{x:.1} {floor}L{x:.1} {}\"/>\n",
            floor + 4.0
        );
        // The last text would stand over the edge.
        if x > right - 24.0 {
            continue;
        }
        let y = floor + 17.0;
        put!(
            out,
            "<text class=\"x\" x=\"{x:.1}\" y=\"{y}\">{}</text>\n",
            escape(&text)
        );
    }
}
