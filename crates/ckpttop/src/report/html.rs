//! Text that goes into HTML, and tables made of it.
//!
//! *Runs in:* the viewer. *Reads and writes:* nothing but its arguments.
//! *Never:* lets a name from the server become markup.

use std::fmt::Write as _;

/// Text as it stands in HTML, in an attribute too. What XML does not allow becomes a space.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A column of a table.
pub(super) struct Column<T> {
    pub(super) head: &'static str,
    pub(super) show: fn(&T) -> String,
    /// Numbers stand at the right.
    pub(super) number: bool,
}

/// A column of words.
pub(super) const fn word<T>(head: &'static str, show: fn(&T) -> String) -> Column<T> {
    Column {
        head,
        show,
        number: false,
    }
}

/// A column of numbers.
pub(super) const fn number<T>(head: &'static str, show: fn(&T) -> String) -> Column<T> {
    Column {
        head,
        show,
        number: true,
    }
}

/// A table, in a box that scrolls by itself when it is wide.
pub(super) fn table<T>(rows: &[T], columns: &[Column<T>]) -> String {
    let class = |column: &Column<T>| if column.number { " class=\"n\"" } else { "" };
    let mut out = String::from("<div class=\"wide\"><table>\n<thead><tr>");
    for column in columns {
        // Writing to a String cannot fail.
        let _ = write!(out, "<th{}>{}</th>", class(column), escape(column.head));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for column in columns {
            let cell = escape(&(column.show)(row));
            let _ = write!(out, "<td{}>{cell}</td>", class(column));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_become_markup() {
        assert_eq!(
            escape("a<b> & \"c\"\u{0}\u{1b}"),
            "a&lt;b&gt; &amp; &quot;c&quot;  "
        );
        let columns = [word::<&str>("<", |text| (*text).to_owned())];
        let table = table(&["</td>"], &columns);
        assert!(table.contains("<th>&lt;</th>") && table.contains("<td>&lt;/td&gt;</td>"));
    }
}
