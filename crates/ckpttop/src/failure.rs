//! An error in PostgreSQL's form: message, detail, hint.
//!
//! *Runs in:* the viewer.
//! *Reads and writes:* nothing; `main` prints it.
//! *Never:* puts a detail or a hint into the message.

use statseg::AttachError;
use std::fmt;

/// The result of what may fail.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Why the viewer cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    message: String,
    detail: Option<String>,
    hint: Option<String>,
}

impl Failure {
    /// A message alone.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            detail: None,
            hint: None,
        }
    }

    /// With what else is known.
    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..self
        }
    }

    /// With what can be done.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The message without the rest, for a line on the screen.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// An error of reading or writing something.
    pub(crate) fn io(what: &str, error: &std::io::Error) -> Self {
        let text = error.raw_os_error().map_or_else(
            || error.to_string(),
            |code| statseg::OsError(code).to_string(),
        );
        Self::new(format!("could not {what}: {text}"))
    }

    /// An error as libpq words it, which may have several lines: `ERROR:  message`, `HINT:  ...`, or
    /// of a connection just text.
    pub(crate) fn of_libpq(text: &str) -> Self {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines
            .next()
            .unwrap_or("the server has closed the connection");
        let severities = ["ERROR:", "FATAL:", "PANIC:"];
        let bare = severities
            .iter()
            .find_map(|severity| first.strip_prefix(severity));
        let mut failure = Self::new(bare.unwrap_or(first).trim_start());
        let mut detail = Vec::new();
        for line in lines {
            if let Some(hint) = line.strip_prefix("HINT:") {
                failure = failure.hint(hint.trim_start());
            } else {
                detail.push(line.strip_prefix("DETAIL:").unwrap_or(line).trim_start());
            }
        }
        if detail.is_empty() {
            failure
        } else {
            failure.detail(detail.join(" "))
        }
    }
}

/// The lines as PostgreSQL's programs write them.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ckpttop: error: {}", self.message)?;
        if let Some(detail) = &self.detail {
            write!(f, "\nckpttop: detail: {detail}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nckpttop: hint: {hint}")?;
        }
        Ok(())
    }
}

impl From<AttachError> for Failure {
    fn from(error: AttachError) -> Self {
        Self {
            message: error.to_string(),
            detail: error.detail(),
            hint: error.hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_libpq_are_taken_apart() {
        let failure = Failure::of_libpq("ERROR:  permission denied for view x\nHINT:  Ask.\n");
        assert_eq!(
            failure.to_string(),
            "ckpttop: error: permission denied for view x\nckpttop: hint: Ask."
        );
        let failure = Failure::of_libpq(
            "connection to server at \"h\", port 1 failed: Connection refused\n\
             \tIs the server running on that host and accepting TCP/IP connections?\n",
        );
        assert_eq!(
            failure.to_string(),
            "ckpttop: error: connection to server at \"h\", port 1 failed: Connection refused\n\
             ckpttop: detail: Is the server running on that host and accepting TCP/IP connections?"
        );
    }
}
