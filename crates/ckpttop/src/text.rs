//! A snapshot as plain text: a table for each view, with the columns of the view.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* writes to what it is given.
//! *Never:* cuts anything: what does not fit the terminal is for `less -S`.
//!
//! The tables are made from the same form as JSON, so they cannot differ from it. A view with
//! one row is shown upright, a column in each line.

use crate::snapshot::Snapshot;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Writes the snapshot and an empty line.
pub(crate) fn write(snapshot: &Snapshot, to: &mut dyn Write) -> io::Result<()> {
    let Value::Object(views) = serde_json::to_value(snapshot)? else {
        return Ok(());
    };
    for (name, rows) in &views {
        match rows {
            Value::Object(row) => upright(name, row, to)?,
            Value::Array(rows) => table(name, rows, to)?,
            _ => writeln!(to, "{name}: no row")?,
        }
        writeln!(to)?;
    }
    Ok(())
}

pub(crate) fn upright(name: &str, row: &Map<String, Value>, to: &mut dyn Write) -> io::Result<()> {
    writeln!(to, "{name}:")?;
    let width = row.keys().map(String::len).max().unwrap_or(0);
    for (column, value) in row {
        let value = cell(value);
        writeln!(to, "{}", format!("  {column:width$} | {value}").trim_end())?;
    }
    Ok(())
}

pub(crate) fn table(name: &str, rows: &[Value], to: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<_> = rows.iter().filter_map(Value::as_object).collect();
    let Some(first) = rows.first() else {
        return writeln!(to, "{name}: no row");
    };
    let heads: Vec<&str> = first.keys().map(String::as_str).collect();
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.values().map(cell).collect())
        .collect();
    let right: Vec<bool> = (0..heads.len())
        .map(|column| {
            let values = || rows.iter().filter_map(move |row| row.values().nth(column));
            values().any(Value::is_number)
        })
        .collect();
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(column, head)| {
            let values = cells.iter().filter_map(|row| row.get(column));
            values
                .map(|cell| cell.chars().count())
                .fold(head.len(), usize::max)
        })
        .collect();
    writeln!(to, "{name}:")?;
    writeln!(to, "{}", line(heads.iter().copied(), &widths, &right))?;
    for row in &cells {
        writeln!(
            to,
            "{}",
            line(row.iter().map(String::as_str), &widths, &right)
        )?;
    }
    Ok(())
}

pub(crate) fn line<'a>(
    cells: impl Iterator<Item = &'a str>,
    widths: &[usize],
    right: &[bool],
) -> String {
    let mut line = String::from(" ");
    for ((cell, width), right) in cells.zip(widths).zip(right) {
        line.push(' ');
        line += &if *right {
            format!("{cell:>width$}")
        } else {
            format!("{cell:width$}")
        };
    }
    line.truncate(line.trim_end().len());
    line
}

/// A value as psql would show it; times and other fractions with three digits.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "t".to_owned(),
        Value::Bool(false) => "f".to_owned(),
        Value::Number(number) if number.is_f64() => {
            format!("{:.3}", number.as_f64().unwrap_or(f64::NAN))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::snapshot::Views;
    use crate::views::workers::Worker;

    #[test]
    fn tables_are_aligned() {
        let worker = |name: &str, restarts| Worker {
            name: name.to_owned(),
            restarts,
            state: "running".to_owned(),
            ..Worker::default()
        };
        let snapshot = Snapshot {
            views: Some(Views {
                workers: vec![worker("a", 7), worker("ckptflush flusher", 123_456_789)],
                ..Views::default()
            }),
            ..Snapshot::default()
        };
        let mut out = Vec::new();
        write(&snapshot, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        let begin = out.find("ckpt_stats_workers:").unwrap();
        let lines: Vec<_> = out[begin..].lines().take(4).collect();
        assert_eq!(
            lines[1],
            "  name              pid state    restarts last_error last_error_at last_active_at"
        );
        assert_eq!(lines[2], "  a                     running         7");
        assert_eq!(lines[3], "  ckptflush flusher     running 123456789");
        assert!(out.contains("ckpt_stats_progress: no row\n"));
        assert!(out.contains("  write_time          | 0.000\n"), "{out}");
    }
}
