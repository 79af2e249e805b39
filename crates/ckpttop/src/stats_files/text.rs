//! A file as plain text: header, sections, and a table for each of them.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* writes to what it is given.
//! *Never:* keeps a table in memory: its entries are read twice, for their widths and to be
//! printed.

use super::Document;
use super::entries::Rows;
use super::summary::Section;
use crate::text::{cell, line, table, upright};
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Writes a file and an empty line.
pub(super) fn write(document: &Document<'_>, to: &mut dyn Write) -> io::Result<()> {
    let mut summary = object(&document.summary)?;
    // One list of both.
    summary.remove("header");
    if let Some(header) = &document.summary.header {
        summary.extend(object(header)?);
    }
    upright("stats_file", &summary, to)?;
    if let Some(file) = document.sections.file {
        let sections: Vec<_> = file.sections().collect();
        let rows = sections
            .iter()
            .map(|section| object(&Section::new(section)));
        let rows = rows.map(|row| row.map(Value::Object));
        writeln!(to)?;
        table("sections", &rows.collect::<io::Result<Vec<_>>>()?, to)?;
        if document.sections.with_rows {
            for section in sections {
                entries(&Rows(section), to)?;
            }
        }
    }
    if let Some(databases) = document.databases.as_ref().filter(|rows| !rows.is_empty()) {
        let rows = databases.iter().map(|row| object(row).map(Value::Object));
        writeln!(to)?;
        table("databases", &rows.collect::<io::Result<Vec<_>>>()?, to)?;
    }
    writeln!(to)
}

/// The columns and values of a row.
fn object(of: &impl Serialize) -> io::Result<Map<String, Value>> {
    let Value::Object(mut object) = serde_json::to_value(of)? else {
        return Ok(Map::new());
    };
    for value in object.values_mut() {
        if let Value::String(text) = value {
            *text = printable(text);
        }
    }
    Ok(object)
}

/// The table of the entries of a section.
fn entries(rows: &Rows<'_>, to: &mut dyn Write) -> io::Result<()> {
    writeln!(to)?;
    if rows.0.count == 0 {
        return writeln!(to, "{}: no row", printable(rows.0.name));
    }
    let heads: Vec<String> = rows.heads().into_iter().map(printable).collect();
    let mut widths: Vec<usize> = heads.iter().map(|head| head.chars().count()).collect();
    let mut right = vec![false; heads.len()];
    rows.each(|values| {
        for ((value, width), right) in values.iter().zip(&mut widths).zip(&mut right) {
            *width = shown(value).chars().count().max(*width);
            *right |= value.is_number();
        }
        Ok::<_, io::Error>(())
    })?;
    writeln!(to, "{}:", printable(rows.0.name))?;
    let heads = heads.iter().map(String::as_str);
    writeln!(to, "{}", line(heads, &widths, &right))?;
    rows.each(|values| {
        let cells: Vec<_> = values.iter().map(shown).collect();
        let cells = cells.iter().map(String::as_str);
        writeln!(to, "{}", line(cells, &widths, &right))
    })
}

fn shown(value: &Value) -> String {
    printable(&cell(value))
}

/// Text that does nothing to a terminal.
fn printable(text: &str) -> String {
    let shown = |character: char| {
        let escaped = character
            .is_control()
            .then(|| character.escape_default().collect());
        escaped.unwrap_or_else(|| character.to_string())
    };
    text.chars().map(shown).collect()
}
