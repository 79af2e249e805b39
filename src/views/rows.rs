//! Rows of a set-returning function, from Rust values to a tuple store.
//!
//! *Runs in:* the backend that queries a view.
//! *Reads and writes:* the query's own tuple store.
//! *Never:* reads the segment: that is each view's job.

use pgrx::pg_sys;
use pgrx::prelude::*;
use statseg::Text;

use crate::error::Message;
use crate::process;

/// A value of a row: a datum, or NULL. Types as in STYLE: counts and bytes `bigint`, times
/// `double precision` in milliseconds, moments `timestamptz`.
pub(super) struct Field(Option<pg_sys::Datum>);

impl Field {
    /// For what later work fills, or what is not known.
    pub(super) const NULL: Self = Self(None);

    /// A count or a size; SQL has no unsigned numbers, and no count of ours comes near 2^63.
    pub(super) fn count(number: impl Into<Option<u64>>) -> Self {
        Self::from(number.into().map(|n| i64::try_from(n).unwrap_or(i64::MAX)))
    }

    /// A length of time, from nanoseconds.
    pub(super) fn time(ns: impl Into<Option<u64>>) -> Self {
        Self::from(ns.into().map(|ns| ns as f64 / 1e6))
    }

    /// A moment, from the segment's microseconds.
    pub(super) fn at(us: impl Into<Option<i64>>) -> Self {
        let at = us.into().map(process::timestamp);
        Self(at.map(pg_sys::Datum::from))
    }

    /// A WAL position.
    pub(super) fn lsn(position: impl Into<Option<u64>>) -> Self {
        Self(position.into().map(pg_sys::Datum::from))
    }

    /// An object identifier; 0 is none.
    pub(super) fn oid(oid: u32) -> Self {
        Self((oid != 0).then(|| pg_sys::Datum::from(oid)))
    }

    /// An object identifier that may be 0.
    pub(super) fn any_oid(oid: u32) -> Self {
        Self(Some(pg_sys::Datum::from(oid)))
    }

    pub(super) fn text(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().into_datum())
    }

    pub(super) fn file<const N: usize>(text: Option<Text<N>>) -> Self {
        text.map_or(Self::NULL, |text| Self::text(text.as_str()))
    }

    /// A word of one of the segment's code lists.
    pub(super) fn word(word: Option<&'static str>) -> Self {
        word.map_or(Self::NULL, Self::text)
    }
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl From<$type> for Field {
            fn from(value: $type) -> Self {
                Self(value.into_datum())
            }
        }
        impl From<Option<$type>> for Field {
            fn from(value: Option<$type>) -> Self {
                Self(value.and_then(IntoDatum::into_datum))
            }
        }
    )*};
}
plain!(bool, i32, i64, f64, pgrx::datum::Interval);

/// The library was replaced, the SQL objects are of another version, or the other way round.
fn other_version() {
    Message {
        code: PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        primary: "extension \"ckptflush\" is of another version than its loaded library".to_owned(),
        detail: None,
        hint: Some(
            "Run ALTER EXTENSION ckptflush UPDATE, or restart the server to load the new library."
                .to_owned(),
        ),
    }
    .report(PgLogLevel::ERROR);
}

/// The rows that a call returns.
pub(super) struct Rows {
    info: *mut pg_sys::ReturnSetInfo,
}

impl Rows {
    /// Set up materialize mode (funcapi.c:InitMaterializedSRF), which checks the caller.
    ///
    /// # Safety
    /// `call` is the argument of a C function that returns a set of records.
    pub(super) unsafe fn begin(call: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: by this function's contract.
        unsafe { pg_sys::InitMaterializedSRF(call, 0) };
        // SAFETY: as above.
        let node = unsafe { (*call).resultinfo };
        // InitMaterializedSRF has made sure that it is a ReturnSetInfo.
        Self { info: node.cast() }
    }

    /// Add a row; the fields are the function's columns, in order.
    pub(super) fn push<const N: usize>(&mut self, fields: [Field; N]) {
        // SAFETY: set up by InitMaterializedSRF, lives as long as the call.
        let info = unsafe { &*self.info };
        let (store, description) = (info.setResult, info.setDesc);
        // SAFETY: as above.
        let columns = unsafe { (*description).natts };
        if usize::try_from(columns) != Ok(N) {
            other_version();
        }
        let mut nulls = fields.each_ref().map(|field| field.0.is_none());
        let mut values = fields.map(|field| field.0.unwrap_or(pg_sys::Datum::from(0)));
        // SAFETY: both arrays have as many elements as the description has columns.
        unsafe {
            pg_sys::tuplestore_putvalues(
                store,
                description,
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            );
        }
    }
}
