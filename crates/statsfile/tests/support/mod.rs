//! What several tests need: the structs of two majors, and files as plain values.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use statsfile::{
    DatabaseRow, EncodeError, Encoder, Field, FieldType, Header, Identity, Key, KindLayout, Name,
    Refused, StatsFile, Subject,
};
use std::collections::BTreeMap;

pub fn header(subject: Subject) -> Header {
    Header {
        identity: Identity {
            pg_major: 17,
            format_id: 0x01A5_BCAC,
            catalog_version: 202_406_281,
            system_identifier: 7_123_456_789_012_345_678,
            control_device: 64_769,
            control_inode: 1_310_742,
        },
        timeline: 1,
        flush_lsn: 0x0159_2B48,
        subject,
        database_name: match subject {
            Subject::Database(0) | Subject::Common => Name::EMPTY,
            Subject::Database(_) => "shop".into(),
        },
        written_at: 780_000_000_123_456,
        generation: 42,
        signature: 0xF00D_F00D_F00D_F00D,
        material_signature: 0xCAFE_CAFE_CAFE_CAFE,
    }
}

/// Fields of 8 bytes one after the other: `+` a counter, `=` a gauge, `@` a timestamp.
pub fn fields(names: &'static str) -> Vec<Field<'static>> {
    let names = names.split_whitespace().enumerate();
    names
        .map(|(i, name)| {
            let offset = 8 * i as u32;
            match name.split_at(1) {
                ("+", name) => Field::counter(name, offset),
                ("=", name) => Field::gauge(name, offset),
                ("@", name) => Field::timestamp(name, offset),
                _ => panic!("{name}"),
            }
        })
        .collect()
}

pub fn layout<'a>(kind: u32, name: &'a str, fields: &'a [Field<'a>]) -> KindLayout<'a> {
    KindLayout {
        kind,
        name,
        struct_len: 8 * fields.len(),
        fields,
    }
}

/// `PgStat_StatTabEntry` of PostgreSQL 15.
pub const RELATION_15: &str = "+numscans +tuples_returned +tuples_fetched +tuples_inserted \
    +tuples_updated +tuples_deleted +tuples_hot_updated =n_live_tuples =n_dead_tuples \
    =changes_since_analyze =inserts_since_vacuum +blocks_fetched +blocks_hit @vacuum_timestamp \
    +vacuum_count @autovac_vacuum_timestamp +autovac_vacuum_count @analyze_timestamp \
    +analyze_count @autovac_analyze_timestamp +autovac_analyze_count";

/// The same of PostgreSQL 18.
pub const RELATION_18: &str = "+numscans @lastscan +tuples_returned +tuples_fetched \
    +tuples_inserted +tuples_updated +tuples_deleted +tuples_hot_updated +tuples_newpage_updated \
    =live_tuples =dead_tuples =mod_since_analyze =ins_since_vacuum +blocks_fetched +blocks_hit \
    @last_vacuum_time +vacuum_count @last_autovacuum_time +autovacuum_count @last_analyze_time \
    +analyze_count @last_autoanalyze_time +autoanalyze_count +total_vacuum_time \
    +total_autovacuum_time +total_analyze_time +total_autoanalyze_time";

/// `PgStat_StatDBEntry` of PostgreSQL 15.
pub const DATABASE_15: &str = "+n_xact_commit +n_xact_rollback +n_blocks_fetched +n_blocks_hit \
    +n_tuples_returned +n_tuples_fetched +n_tuples_inserted +n_tuples_updated +n_tuples_deleted \
    @last_autovac_time +n_conflict_tablespace +n_conflict_lock +n_conflict_snapshot \
    +n_conflict_bufferpin +n_conflict_startup_deadlock +n_temp_files +n_temp_bytes +n_deadlocks \
    +n_checksum_failures @last_checksum_failure +n_block_read_time +n_block_write_time \
    +n_sessions +total_session_time +total_active_time +total_idle_in_xact_time \
    +n_sessions_abandoned +n_sessions_fatal +n_sessions_killed @stat_reset_timestamp";

/// The same of PostgreSQL 18.
pub const DATABASE_18: &str = "+xact_commit +xact_rollback +blocks_fetched +blocks_hit \
    +tuples_returned +tuples_fetched +tuples_inserted +tuples_updated +tuples_deleted \
    @last_autovac_time +conflict_tablespace +conflict_lock +conflict_snapshot \
    +conflict_logicalslot +conflict_bufferpin +conflict_startup_deadlock +temp_files +temp_bytes \
    +deadlocks +checksum_failures @last_checksum_failure +blk_read_time +blk_write_time +sessions \
    +session_time +active_time +idle_in_transaction_time +sessions_abandoned +sessions_fatal \
    +sessions_killed +parallel_workers_to_launch +parallel_workers_launched @stat_reset_timestamp";

/// `PgStat_StatFuncEntry` since PostgreSQL 16.
pub const FUNCTION: &str = "+numcalls +total_time +self_time";

pub fn words(values: &[i64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect()
}

/// A struct that a server could have.
pub fn plausible(fields: &[Field<'_>], seed: u64) -> Vec<u8> {
    let value = |(i, field): (usize, &Field<'_>)| {
        let mixed = mix(seed.wrapping_mul(31).wrapping_add(i as u64));
        match field.ty {
            FieldType::Timestamp if mixed.is_multiple_of(3) => {
                780_000_000_000_000 + (mixed >> 8) as i64 % 86_400_000_000
            }
            FieldType::Timestamp => 0,
            _ if mixed % 5 < 2 => 0,
            _ => (mixed >> 8) as i64 % (1 << (mixed >> 3 & 31)),
        }
    };
    words(&fields.iter().enumerate().map(value).collect::<Vec<_>>())
}

/// A number that looks like chance, always the same (splitmix64).
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A field that owns its name.
pub type OwnedField = (String, FieldType, u32, u32);

/// A section that owns all it has.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Objects(Table<u64>),
    Named(Table<Name>),
    Databases(Vec<DatabaseRow>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Table<K> {
    pub kind: u32,
    pub name: String,
    pub struct_len: usize,
    pub fields: Vec<OwnedField>,
    pub entries: BTreeMap<K, Vec<u8>>,
}

impl<K> Table<K> {
    fn with_layout<T>(&self, what: impl FnOnce(&KindLayout<'_>) -> T) -> T {
        let fields = self.fields.iter();
        let fields: Vec<_> = fields
            .map(|(name, ty, offset, bytes)| Field::new(name, *ty, *offset, *bytes))
            .collect();
        what(&KindLayout {
            kind: self.kind,
            name: &self.name,
            struct_len: self.struct_len,
            fields: &fields,
        })
    }
}

/// All that is in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub header: Header,
    pub parts: Vec<Part>,
}

impl Model {
    pub fn encode(&self, encoder: &mut Encoder) -> Result<Vec<u8>, EncodeError> {
        encoder.begin(&self.header);
        for part in &self.parts {
            match part {
                Part::Objects(table) => table.with_layout(|layout| {
                    // In some order that is not the one of the file.
                    let mut entries: Vec<_> = table.entries.iter().collect();
                    entries.sort_by_key(|(objid, _)| mix(**objid));
                    encoder.section(layout, entries.iter().map(|(k, v)| (**k, v.as_slice())))
                })?,
                Part::Named(table) => table.with_layout(|layout| {
                    let entries = table.entries.iter().rev();
                    encoder.named_section(layout, entries.map(|(k, v)| (*k, v.as_slice())))
                })?,
                Part::Databases(rows) => encoder.databases(rows.iter().rev().copied())?,
            }
        }
        Ok(encoder.finish().to_vec())
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode(&mut Encoder::new(&self.header)).unwrap()
    }

    /// Verifies a file and reads all of it. The table of databases comes last, for a file does not
    /// tell where it stood.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refused> {
        let file = StatsFile::verify(bytes)?;
        let mut parts = Vec::new();
        for section in file.sections() {
            let fields = section.fields();
            let fields: Vec<_> = fields
                .map(|field| (field.name.to_owned(), field.ty, field.offset, field.bytes))
                .collect();
            let (mut objects, mut names) = (BTreeMap::new(), BTreeMap::new());
            let mut entries = section.entries();
            while let Some(entry) = entries.next_entry() {
                let again = match entry.key {
                    Key::Object(objid) => objects.insert(objid, entry.bytes.to_vec()),
                    Key::Name(name) => names.insert(Name::new(name), entry.bytes.to_vec()),
                };
                assert_eq!(again, None);
            }
            assert_eq!((objects.len() + names.len()) as u64, section.count);
            let (kind, name, struct_len) =
                (section.kind, section.name.to_owned(), section.struct_len);
            parts.push(if section.is_named {
                Part::Named(Table {
                    kind,
                    name,
                    struct_len,
                    fields,
                    entries: names,
                })
            } else {
                Part::Objects(Table {
                    kind,
                    name,
                    struct_len,
                    fields,
                    entries: objects,
                })
            });
        }
        let rows: Vec<_> = file.databases().collect();
        if !rows.is_empty() {
            parts.push(Part::Databases(rows));
        }
        Ok(Self {
            header: *file.header(),
            parts,
        })
    }
}

/// A section with some plausible entries.
pub fn table(kind: u32, name: &str, names: &'static str, objids: &[u64]) -> Part {
    let fields = fields(names);
    Part::Objects(Table {
        kind,
        name: name.to_owned(),
        struct_len: 8 * fields.len(),
        fields: owned(&fields),
        entries: objids
            .iter()
            .map(|objid| (*objid, plausible(&fields, *objid)))
            .collect(),
    })
}

pub fn owned(fields: &[Field<'_>]) -> Vec<OwnedField> {
    let fields = fields.iter();
    fields
        .map(|field| (field.name.to_owned(), field.ty, field.offset, field.bytes))
        .collect()
}

/// A small file of a database.
pub fn database_file() -> Model {
    Model {
        header: header(Subject::Database(16384)),
        parts: vec![
            table(2, "relation", RELATION_18, &[1259, 2619, 16385, 16390]),
            table(3, "function", FUNCTION, &[16400]),
            table(1, "database", DATABASE_18, &[0]),
        ],
    }
}

/// A small file of the cluster, with every form of a section and every type of a field.
pub fn common_file() -> Model {
    let slot = fields("+spill_txns +spill_count @stat_reset_timestamp");
    let archiver = vec![
        ("archived_count".to_owned(), FieldType::Counter, 0, 8),
        ("last_archived_wal".to_owned(), FieldType::Text, 8, 41),
        ("padding".to_owned(), FieldType::Opaque, 49, 7),
        (
            "last_archived_timestamp".to_owned(),
            FieldType::Timestamp,
            56,
            8,
        ),
        ("gauges".to_owned(), FieldType::Gauge, 64, 24),
    ];
    let mut wal = vec![0; 91];
    wal[0] = 9;
    wal[8..32].copy_from_slice(b"0000000100000000000000AB");
    wal[64..72].copy_from_slice(&(-5i64).to_ne_bytes());
    wal[88..].copy_from_slice(b"end");
    let row = |oid, name: &str| DatabaseRow {
        oid,
        name: name.into(),
        signature: mix(1),
        material_signature: mix(2),
        generation: 300,
        flush_lsn: 0x0159_2B48,
    };
    Model {
        header: header(Subject::Common),
        parts: vec![
            Part::Objects(Table {
                kind: 7,
                name: "archiver".to_owned(),
                struct_len: 91,
                fields: archiver,
                entries: [(0, wal)].into(),
            }),
            Part::Named(Table {
                kind: 4,
                name: "replslot".to_owned(),
                struct_len: 24,
                fields: owned(&slot),
                entries: [
                    ("alpha".into(), plausible(&slot, 1)),
                    ("b\u{e9}ta".into(), plausible(&slot, 2)),
                ]
                .into(),
            }),
            Part::Databases(vec![row(5, "postgres"), row(16384, "shop")]),
        ],
    }
}
