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
