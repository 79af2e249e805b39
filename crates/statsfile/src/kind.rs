//! How the structs of one kind of statistics look: length, and fields by name.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* nothing.
//! *Never:* knows PostgreSQL's structs: the collector fills this in from the compiler's offsets, and
//! a file carries it along, so that another major can read it.

/// What a field holds; also how two values of it become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// Nothing that is known: bytes.
    Opaque,
    /// Grows: two values are added.
    Counter,
    /// Is measured anew now and then, as the number of live tuples: the newer value counts.
    Gauge,
    /// Microseconds since 2000-01-01 00:00 UTC, 0 for never: the later one counts.
    Timestamp,
    /// `char[]`, filled up with zero bytes.
    Text,
}

impl FieldType {
    /// All types.
    pub const ALL: [Self; 5] = [
        Self::Opaque,
        Self::Counter,
        Self::Gauge,
        Self::Timestamp,
        Self::Text,
    ];

    /// Its name, as docs/stats-files.md has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Opaque => "opaque",
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Timestamp => "timestamp",
            Self::Text => "text",
        }
    }

    /// Its number in a file.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Opaque => 0,
            Self::Counter => 1,
            Self::Gauge => 2,
            Self::Timestamp => 3,
            Self::Text => 4,
        }
    }

    /// A number this version does not know is of a later one.
    pub(crate) fn from_code(code: u8) -> Self {
        Self::ALL
            .into_iter()
            .find(|known| known.code() == code)
            .unwrap_or(Self::Opaque)
    }

    /// Whether it is made of 64-bit integers.
    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Counter | Self::Gauge | Self::Timestamp)
    }
}

/// One field of a struct, or an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field<'a> {
    /// Its name in PostgreSQL's header file.
    pub name: &'a str,
    /// Its type.
    pub ty: FieldType,
    /// Bytes before it in the struct.
    pub offset: u32,
    /// Bytes of it: 8 for an integer, more for an array of them.
    pub bytes: u32,
}

impl<'a> Field<'a> {
    /// A field.
    #[must_use]
    pub const fn new(name: &'a str, ty: FieldType, offset: u32, bytes: u32) -> Self {
        Self {
            name,
            ty,
            offset,
            bytes,
        }
    }

    /// A counter of 64 bits.
    #[must_use]
    pub const fn counter(name: &'a str, offset: u32) -> Self {
        Self::new(name, FieldType::Counter, offset, 8)
    }

    /// A gauge of 64 bits.
    #[must_use]
    pub const fn gauge(name: &'a str, offset: u32) -> Self {
        Self::new(name, FieldType::Gauge, offset, 8)
    }

    /// A `TimestampTz`.
    #[must_use]
    pub const fn timestamp(name: &'a str, offset: u32) -> Self {
        Self::new(name, FieldType::Timestamp, offset, 8)
    }

    /// Its place in a struct; `None` if it is not in one of that length.
    #[must_use]
    pub fn of<'b>(&self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let start = usize::try_from(self.offset).ok()?;
        let length = usize::try_from(self.bytes).ok()?;
        bytes.get(start..start.checked_add(length)?)
    }

    /// Whether it can be in a struct of that length.
    pub(crate) fn fits(&self, struct_len: usize) -> bool {
        let end = u64::from(self.offset) + u64::from(self.bytes);
        let whole = !self.ty.is_integer() || self.bytes.is_multiple_of(8);
        !self.name.is_empty() && self.bytes > 0 && end <= struct_len as u64 && whole
    }

    /// Its values, if it is made of integers.
    pub fn integers<'b>(&self, bytes: &'b [u8]) -> impl Iterator<Item = i64> + use<'b> {
        let place = self.of(bytes).filter(|_| self.ty.is_integer());
        let (words, _) = place.unwrap_or_default().as_chunks();
        words.iter().map(|word| i64::from_ne_bytes(*word))
    }
}

/// One kind of statistics as a server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindLayout<'a> {
    /// Its number, which another major may have given to another kind.
    pub kind: u32,
    /// Its name, as in `pg_stat_have_stats()`: the same on every major.
    pub name: &'a str,
    /// Bytes of its struct.
    pub struct_len: usize,
    /// Its fields, none if they are not known.
    pub fields: &'a [Field<'a>],
}
