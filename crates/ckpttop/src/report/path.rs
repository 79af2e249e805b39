//! Paths of SVG: lines and areas over columns, with gaps where nothing is known.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* joins what lies on two sides of a gap.

use std::fmt::Write as _;

/// Points of a plot: `None` is a gap.
pub(super) type Points = Vec<Option<(f64, f64)>>;

/// The runs of points without a gap.
fn runs(points: &[Option<(f64, f64)>]) -> impl Iterator<Item = Vec<(f64, f64)>> {
    let runs = points.split(Option::is_none).filter(|run| !run.is_empty());
    runs.map(|run| run.iter().flatten().copied().collect())
}

fn step(out: &mut String, command: char, (x, y): (f64, f64)) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{command}{x:.1} {y:.1}");
}

/// A line through the points. A point alone becomes a dash as wide as a column.
pub(super) fn line(points: &[Option<(f64, f64)>], width: f64) -> String {
    let mut out = String::new();
    for run in runs(points) {
        if let [(x, y)] = run[..] {
            step(&mut out, 'M', (x - width / 2.0, y));
            step(&mut out, 'L', (x + width / 2.0, y));
            continue;
        }
        for (index, point) in run.into_iter().enumerate() {
            step(&mut out, if index == 0 { 'M' } else { 'L' }, point);
        }
    }
    out
}

/// The area between an upper and a lower line, of columns of this width.
pub(super) fn area(
    upper: &[Option<(f64, f64)>],
    lower: &[Option<(f64, f64)>],
    width: f64,
) -> String {
    let pairs: Vec<_> = upper.iter().zip(lower).map(|(u, l)| (*u).zip(*l)).collect();
    let mut out = String::new();
    let half = width / 2.0;
    for run in pairs.split(Option::is_none).filter(|run| !run.is_empty()) {
        let run: Vec<_> = run.iter().flatten().copied().collect();
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        // To the edges of the outer columns.
        step(&mut out, 'M', (first.0.0 - half, first.0.1));
        for (upper, _) in &run {
            step(&mut out, 'L', *upper);
        }
        step(&mut out, 'L', (last.0.0 + half, last.0.1));
        step(&mut out, 'L', (last.1.0 + half, last.1.1));
        for (_, lower) in run.iter().rev() {
            step(&mut out, 'L', *lower);
        }
        step(&mut out, 'L', (first.1.0 - half, first.1.1));
        out.push('Z');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_not_bridged() {
        let points = [Some((1.0, 2.0)), Some((2.0, 3.0)), None, Some((4.0, 5.0))];
        assert_eq!(line(&points, 1.0), "M1.0 2.0L2.0 3.0M3.5 5.0L4.5 5.0");
        let ground = points.map(|point| point.map(|(x, _)| (x, 9.0)));
        let area = area(&points, &ground, 1.0);
        assert_eq!(area.matches('M').count(), 2);
        assert_eq!(area.matches('Z').count(), 2);
        assert!(area.ends_with("M3.5 5.0L4.0 5.0L4.5 5.0L4.5 9.0L4.0 9.0L3.5 9.0Z"));
        assert_eq!(line(&[None, None], 1.0), "");
    }
}
