//! A file is verified, and then read section by section.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* the bytes of a file.
//! *Never:* hands anything out before the last byte is verified: a file is loaded as a whole or not
//! at all.

use crate::cursor::{Cursor, ENDS_EARLY, Parsed};
use crate::databases::Databases;
use crate::format::{
    END, FORM_DATABASES, FORM_NAMED, FORM_OBJECTS, SECTION_HEADER_BYTES, SECTIONS_MAX,
};
use crate::header::{Envelope, Header};
use crate::refused::Refused;
use crate::section::Section;

/// A verified file.
#[derive(Clone, Debug)]
pub struct StatsFile<'a> {
    envelope: Envelope,
    payload: &'a [u8],
    skipped: u32,
}

/// A section of whatever form.
struct Raw<'a> {
    form: u32,
    kind: u32,
    body: &'a [u8],
}

/// What the sections add up to.
#[derive(Default)]
struct Sums {
    skipped: u32,
    entries: u64,
    raw_bytes: u64,
}

/// What is wrong at which byte of the payload.
type Checked<T> = Result<T, (usize, &'static str)>;

impl<'a> StatsFile<'a> {
    /// Verifies a file: its header, both checksums, and every byte behind them.
    ///
    /// # Errors
    /// Whatever is wrong with it. Whose file it is the caller asks of the header:
    /// [`Identity::check`](crate::Identity::check), [`Header::check_subject`],
    /// [`Header::check_history`].
    pub fn verify(bytes: &'a [u8]) -> Result<Self, Refused> {
        let envelope = Envelope::read(bytes)?;
        envelope.check_length(bytes.len() as u64)?;
        let header_bytes = usize::try_from(envelope.header_bytes).unwrap_or(usize::MAX);
        let payload = bytes.get(header_bytes..).unwrap_or_default();
        let found = crc32c::crc32c(payload);
        if found != envelope.payload_crc {
            return Err(Refused::PayloadChecksum {
                found,
                expected: envelope.payload_crc,
            });
        }
        match check(&envelope, payload) {
            Ok(skipped) => Ok(Self {
                envelope,
                payload,
                skipped,
            }),
            Err((at, what)) => Err(Refused::Malformed {
                at: (header_bytes + at) as u64,
                what,
            }),
        }
    }

    /// What the writer says of the file.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.envelope.header
    }

    /// The header, and what the encoder added to it.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Number of sections of a form that only a later version knows.
    #[must_use]
    pub fn skipped(&self) -> u32 {
        self.skipped
    }

    /// The sections of entries, in the order of the file.
    pub fn sections(&self) -> impl Iterator<Item = Section<'a>> + use<'a> {
        self.raw().filter_map(|raw| match raw.form {
            FORM_OBJECTS | FORM_NAMED => {
                Section::parse(raw.form, raw.kind, &mut Cursor::new(raw.body)).ok()
            }
            _ => None,
        })
    }

    /// The table of databases; empty in all files but that of the cluster.
    #[must_use]
    pub fn databases(&self) -> Databases<'a> {
        let table = self.raw().find(|raw| raw.form == FORM_DATABASES);
        table
            .and_then(|raw| Databases::parse(raw.body).ok())
            .unwrap_or_else(Databases::none)
    }

    fn raw(&self) -> impl Iterator<Item = Raw<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.payload);
        (0..self.envelope.sections).map_while(move |_| take_raw(&mut cursor).ok())
    }
}

/// Reads past a section. An error leaves the cursor before it.
fn take_raw<'a>(cursor: &mut Cursor<'a>) -> Parsed<Raw<'a>> {
    let mut ahead = cursor.clone();
    let form = ahead.u32()?;
    if form == END {
        return Err("it has fewer sections than its header says");
    }
    let kind = ahead.u32()?;
    let length = usize::try_from(ahead.u64()?).map_err(|_| ENDS_EARLY)?;
    let body = ahead.take(length)?;
    *cursor = ahead;
    Ok(Raw { form, kind, body })
}

/// Reads everything. Gives the number of sections it does not know.
fn check(envelope: &Envelope, payload: &[u8]) -> Checked<u32> {
    let mut cursor = Cursor::new(payload);
    // Bounded by Envelope::read.
    let mut seen = [(0, 0); SECTIONS_MAX];
    let mut sums = Sums::default();
    for i in 0..usize::try_from(envelope.sections).unwrap_or(usize::MAX) {
        let at = cursor.at();
        let raw = take_raw(&mut cursor).map_err(|what| (at, what))?;
        let known = (raw.form, raw.kind);
        let (before, place) = seen.split_at_mut(i.min(SECTIONS_MAX));
        if before.contains(&known) {
            return Err((at, "a section comes twice"));
        }
        if let Some(place) = place.first_mut() {
            *place = known;
        }
        check_section(&raw, &mut sums)
            .map_err(|(inside, what)| (at + SECTION_HEADER_BYTES + inside, what))?;
    }
    let at = cursor.at();
    match cursor.u32() {
        Ok(END) if cursor.is_at_end() => {}
        Ok(END) => return Err((at, "something follows its end marker")),
        _ => return Err((at, "its end marker is missing")),
    }
    // What a later version has in its own sections nobody here can count.
    let exact = sums.skipped == 0;
    let adds_up = |sum: u64, said: u64| sum == said || (!exact && sum < said);
    if !adds_up(sums.entries, envelope.entries) || !adds_up(sums.raw_bytes, envelope.raw_bytes) {
        return Err((at, "its entries are not as many as its header says"));
    }
    Ok(sums.skipped)
}

fn check_section(raw: &Raw<'_>, sums: &mut Sums) -> Checked<()> {
    let mut cursor = Cursor::new(raw.body);
    match raw.form {
        FORM_OBJECTS | FORM_NAMED => {
            let section = Section::parse(raw.form, raw.kind, &mut cursor)
                .and_then(|section| section.check(&mut cursor).map(|()| section))
                .map_err(|what| (cursor.at(), what))?;
            // An entry has a byte at least, and a struct is bounded: this does not overflow.
            sums.entries += section.count;
            sums.raw_bytes += section.count * section.struct_len as u64;
            Ok(())
        }
        FORM_DATABASES => Databases::parse(raw.body)
            .map_err(|what| (0, what))?
            .check(),
        _ => {
            sums.skipped += 1;
            Ok(())
        }
    }
}
