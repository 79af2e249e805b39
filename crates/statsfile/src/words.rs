//! One struct as bytes of a file: a bitmap of its words that are not zero, those words as zigzag
//! varints, and the bytes after its last whole word.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* its arguments.
//! *Never:* takes two ways of writing one struct: what is read is what would be written.
//!
//! Most fields of most structs are zero, and cost a bit. A counter costs what its size needs, and a
//! struct that has grown by a new field in a later major costs no more until it is used. Zigzag,
//! because what PostgreSQL measures may be below zero for a while.

use crate::cursor::{Cursor, Parsed};
use crate::output::Output;
use crate::varint;

const ZERO: &str = "a word that is marked as not zero is zero";
const BITMAP: &str = "the bitmap of an entry is longer than its struct";

fn zigzag(word: u64) -> u64 {
    (word << 1) ^ (word >> 63).wrapping_neg()
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Appends a struct.
#[inline]
pub(crate) fn put_struct(output: &mut Output, bytes: &[u8]) {
    let (words, tail) = bytes.as_chunks();
    let map_bytes = words.len().div_ceil(8);
    let room = output.room(map_bytes + varint::MAX * words.len() + tail.len());
    let (map, values) = room.split_at_mut(map_bytes);
    let mut at = 0;
    for (bits, words) in map.iter_mut().zip(words.chunks(8)) {
        // First which are not zero, then only these: whether the next one is nobody predicts.
        let used = |(bit, word): (usize, &[u8; 8])| u8::from(u64::from_ne_bytes(*word) != 0) << bit;
        *bits = words
            .iter()
            .enumerate()
            .map(used)
            .fold(0, |all, one| all | one);
        let mut left = *bits;
        while left != 0 {
            let word = words.get(left.trailing_zeros() as usize);
            let word = word.map_or(0, |word| u64::from_ne_bytes(*word));
            at += varint::write(&mut values[at..], zigzag(word));
            left &= left - 1;
        }
    }
    values[at..at + tail.len()].copy_from_slice(tail);
    output.advance(map_bytes + at + tail.len());
}

/// The bitmap of a struct of so many bytes.
#[inline]
fn bitmap<'a>(cursor: &mut Cursor<'a>, struct_len: usize) -> Parsed<&'a [u8]> {
    let words = struct_len / 8;
    let map = cursor.take(words.div_ceil(8))?;
    let unused = map.last().filter(|_| !words.is_multiple_of(8));
    if unused.is_some_and(|bits| bits >> (words % 8) != 0) {
        return Err(BITMAP);
    }
    Ok(map)
}

/// Reads past a struct of so many bytes.
#[inline]
pub(crate) fn check_struct(cursor: &mut Cursor<'_>, struct_len: usize) -> Parsed<()> {
    let map = bitmap(cursor, struct_len)?;
    let values: u32 = map.iter().map(|bits| bits.count_ones()).sum();
    for _ in 0..values {
        take_word(cursor)?;
    }
    cursor.take(struct_len % 8).map(|_| ())
}

/// Reads a struct of the length of `to`.
#[inline]
pub(crate) fn take_struct(cursor: &mut Cursor<'_>, to: &mut [u8]) -> Parsed<()> {
    let map = bitmap(cursor, to.len())?;
    let (words, tail) = to.as_chunks_mut();
    words.fill([0; 8]);
    for (bits, words) in map.iter().zip(words.chunks_mut(8)) {
        let mut left = *bits;
        while left != 0 {
            let value = take_word(cursor)?;
            if let Some(word) = words.get_mut(left.trailing_zeros() as usize) {
                *word = value.to_ne_bytes();
            }
            left &= left - 1;
        }
    }
    let rest = cursor.take(tail.len())?;
    tail.copy_from_slice(rest);
    Ok(())
}

#[inline]
fn take_word(cursor: &mut Cursor<'_>) -> Parsed<u64> {
    match cursor.varint()? {
        0 => Err(ZERO),
        number => Ok(unzigzag(number)),
    }
}
