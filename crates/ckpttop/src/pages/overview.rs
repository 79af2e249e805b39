//! The first page: the running checkpoint, what happens per second, the workers.
//!
//! *Runs in:* the viewer. *Reads and writes:* the frame that is being drawn.
//! *Never:* needs more than 80 columns and 24 lines.

use super::table::{self, Column};
use super::{Context, Page, spark};
use crate::human::{UNKNOWN, bytes, count, known, time};
use crate::rates::Series;
use crate::snapshot::Wants;
use crate::value::At;
use crate::views::progress::Progress;
use crate::views::stalls::Stall;
use crate::views::workers::Worker;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Gauge, Paragraph};

pub(super) const PAGE: Page = Page {
    title: "overview",
    help: "the running checkpoint, what happens per second, the flusher and the workers",
    wants: Wants {
        history: 1,
        timeline: 1,
        ..Wants::LITTLE
    },
    rows: |_, _| 0,
    draw,
};

fn draw(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    let [checkpoint, rates, flusher, workers] = Layout::vertical([
        Constraint::Length(5),
        Constraint::Length(8),
        Constraint::Length(4),
        Constraint::Min(0),
    ])
    .areas(area);
    match &context.views.progress {
        Some(row) => running(frame, checkpoint, row, context.seen.taken_at),
        None => last(frame, checkpoint, context),
    }
    if let Some(stall) = context.views.stalls.iter().find(|stall| stall.ongoing) {
        draw_stall(frame, checkpoint, stall);
    }
    draw_rates(frame, rates, context);
    draw_flusher(frame, flusher, context);
    table::draw(frame, workers, &context.views.workers, &WORKERS, context);
}

fn head(text: &'static str) -> Line<'static> {
    Line::styled(text, Style::new().add_modifier(Modifier::BOLD))
}

fn running(frame: &mut Frame<'_>, area: Rect, row: &Progress, now: At) {
    let [title, bar, rest] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
    ])
    .areas(area);
    let line = format!(
        "{} {}, {}, {}: {}",
        row.kind,
        row.checkpoint_id,
        row.cause.as_deref().unwrap_or("cause not known"),
        time(row.elapsed_time),
        row.phase
    );
    frame.render_widget(Line::from(line).bold(), title);
    let share = row.share();
    let label = known(share, |share| format!("{:.1} %", share * 100.0));
    let gauge = Gauge::default()
        .ratio(share.unwrap_or(0.0))
        .label(label)
        .gauge_style(Style::new().fg(Color::Blue));
    frame.render_widget(gauge, bar);
    let buffers = format!(
        "{} of {} buffers, {} of {}, {}/s   {}",
        known(row.buffers_done, count),
        known(row.buffers_total, count),
        known(row.bytes_done, bytes),
        known(row.bytes_total, bytes),
        known(row.write_rate_bytes, bytes),
        end(row, now),
    );
    let files = format!(
        "{} of about {} files synced   {}",
        known(row.files_done, count),
        known(row.files_total_estimate, count),
        row.current_file.as_deref().unwrap_or(""),
    );
    frame.render_widget(Paragraph::new(vec![buffers.into(), files.into()]), rest);
}

/// The stall that is going on, on the last line of the area.
fn draw_stall(frame: &mut Frame<'_>, area: Rect, stall: &Stall) {
    let [_, line] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(area);
    let text = format!(
        "stalled for {}: {} backends at work, none commits; most wait for {}",
        time(stall.stalled_time),
        stall.active_backends,
        stall.top_wait_event.as_deref().unwrap_or("nothing"),
    );
    frame.render_widget(Line::from(text).red().bold(), line);
}

/// When the checkpoint will end.
fn end(row: &Progress, now: At) -> String {
    let Some(eta) = row.eta_at else {
        return "end not known".to_owned();
    };
    let schedule = match row.on_schedule {
        Some(true) => ", on schedule",
        Some(false) => ", behind schedule",
        None => "",
    };
    format!(
        "ends at {} (in {}){schedule}",
        eta.clock(),
        time(eta.ms_since(now))
    )
}

fn last(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    let mut lines = vec![head("no checkpoint is running")];
    if let Some(row) = context.views.history.first() {
        lines.push(Line::from(format!(
            "the last one, {} ({}), {} {} ago after {}",
            row.checkpoint_id,
            row.cause.as_deref().unwrap_or("cause not known"),
            row.result,
            time(context.seen.taken_at.ms_since(row.ended_at)),
            known(row.total_time, time),
        )));
        lines.push(Line::from(format!(
            "{} buffers written, {} files synced in {}, the longest in {} {}",
            known(row.buffers_written, count),
            known(row.files_synced, count),
            known(row.sync_time, time),
            known(row.longest_sync_time, time),
            row.longest_sync_file.as_deref().unwrap_or(""),
        )));
    }
    let totals = &context.views.totals;
    lines.push(Line::from(format!(
        "{} done: {} timed, {} requested; {} failed",
        totals.num_done + totals.restartpoints_done,
        totals.num_timed + totals.restartpoints_timed,
        totals.num_requested + totals.restartpoints_req,
        totals.num_failed,
    )));
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_rates(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    let rates = context.rates;
    let count = |series: &Series| known(series.last(), count);
    let bytes = |series: &Series| known(series.last(), bytes);
    let series = [
        ("buffers written/s", &rates.buffers, count(&rates.buffers)),
        ("files synced/s", &rates.files, count(&rates.files)),
        (
            "writeback started/s",
            &rates.writeback,
            bytes(&rates.writeback),
        ),
        ("waiting for writeback", &rates.queue, bytes(&rates.queue)),
        ("dirty in the page cache", &rates.dirty, bytes(&rates.dirty)),
        ("commits/s", &rates.commits, count(&rates.commits)),
        (
            "p99 of transactions",
            &rates.p99,
            known(rates.p99.last(), |us| time(us as f64 / 1e3)),
        ),
    ];
    let lines = Layout::vertical([Constraint::Length(1); 8]).split(area);
    let mut lines = lines.iter();
    if let Some(line) = lines.next() {
        frame.render_widget(head("per second, and what waits"), *line);
    }
    for ((name, series, value), line) in series.into_iter().zip(lines) {
        let data = series.newest(spark::room(*line));
        spark::draw(frame, *line, name, &value, data);
    }
}

fn draw_flusher(frame: &mut Frame<'_>, area: Rect, context: &Context<'_>) {
    let row = &context.views.flush;
    let device = match (row.device_ops_per_second, row.device_bytes_per_second) {
        (None, None) => "no limit of the device seen".to_owned(),
        (ops, rate) => format!(
            "device {} operations/s, {}/s",
            known(ops, count),
            known(rate, bytes)
        ),
    };
    let lines = vec![
        head("flusher"),
        Line::from(format!(
            "{}{}   waiting {} ({} of the device), in flight {}, {}/s",
            row.state,
            if row.takeover { ", has taken over" } else { "" },
            known(row.queue_bytes, bytes),
            known(row.queue_cost_time, time),
            known(row.in_flight_bytes, bytes),
            known(row.rate_bytes, bytes),
        )),
        Line::from(format!(
            "{device}   mean commit {}   {} deadlines missed",
            known(row.commit_mean_time, time),
            row.deadlines_missed,
        )),
    ];
    frame.render_widget(Paragraph::new(lines), area);
}

const WORKERS: [Column<Worker>; 6] = [
    Column::word("worker", |r| r.name.clone()),
    Column::number("pid", |r| known(r.pid, |pid| pid.to_string())),
    Column::word("state", |r| r.state.clone()),
    Column::number("restarts", |r| r.restarts.to_string()),
    Column::word("last active", |r| known(r.last_active_at, At::clock)),
    Column::word("last error", |r| {
        r.last_error.clone().unwrap_or_else(|| UNKNOWN.to_owned())
    }),
];
