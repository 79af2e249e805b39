//! Files made byte by byte, which no encoder would make.
#![allow(dead_code, unreachable_pub)]

use crate::support::database_file;

/// A file with these bytes behind its header, which is right in all but what it counts.
pub fn with_payload(payload: &[u8], sections: u32, entries: u64, raw_bytes: u64) -> Vec<u8> {
    let mut bytes = database_file().to_bytes();
    bytes.truncate(208);
    bytes.extend(payload);
    bytes[76..80].copy_from_slice(&sections.to_le_bytes());
    bytes[112..120].copy_from_slice(&entries.to_le_bytes());
    bytes[120..128].copy_from_slice(&raw_bytes.to_le_bytes());
    seal(&mut bytes);
    bytes
}

/// Sets length and checksums.
pub fn seal(bytes: &mut [u8]) {
    let payload_bytes = (bytes.len() - 208) as u64;
    let payload_crc = crc32c::crc32c(&bytes[208..]);
    bytes[128..136].copy_from_slice(&payload_bytes.to_le_bytes());
    bytes[200..204].copy_from_slice(&payload_crc.to_le_bytes());
    let header_crc = crc32c::crc32c(&bytes[..204]);
    bytes[204..208].copy_from_slice(&header_crc.to_le_bytes());
}

pub fn section(form: u32, kind: u32, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u64;
    [
        &form.to_le_bytes()[..],
        &kind.to_le_bytes(),
        &length.to_le_bytes(),
        body,
    ]
    .concat()
}
