//! docs/stats-files.md, table by table.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stats-files.md");
    std::fs::read_to_string(path).unwrap()
}

/// The rows of the table that begins with this row, without its head.
pub fn table(head: &str) -> Vec<Vec<String>> {
    let page = page();
    let mut lines = page.lines().skip_while(|line| *line != head);
    assert!(lines.next().is_some(), "no table \"{head}\"");
    lines
        .take_while(|line| line.starts_with('|'))
        .skip(1)
        .map(|line| {
            let line = line.strip_prefix("| ").unwrap().strip_suffix('|').unwrap();
            let cells = line.split(" | ");
            cells
                .map(|cell| cell.trim().trim_matches('`').to_owned())
                .collect()
        })
        .collect()
}
