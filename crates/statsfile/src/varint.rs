//! Numbers in as many bytes as they need: seven bits to a byte, the lowest first; the highest bit of
//! a byte says that another one follows.
//!
//! *Runs in:* any process; pure.
//! *Reads and writes:* its arguments.
//! *Never:* bears a number that is longer than it need be: of two ways to write one, one is not ours.
//!
//! A struct has some twenty of these, of lengths that no branch predictor guesses. So numbers of up
//! to 56 bits, which all but a few are, are read and written as one word of 64 bits without a
//! branch on their length.

use crate::cursor::{ENDS_EARLY, Parsed};

/// Bytes of a number at most.
pub(crate) const MAX: usize = 10;

const TOP_BITS: u64 = 0x8080_8080_8080_8080;
const TOO_LONG: &str = "a number is longer than it need be";

/// Writes a number into a room of [`MAX`] bytes at least, and gives the bytes it needs. Those that
/// follow may be written over, too.
#[inline]
pub(crate) fn write(to: &mut [u8], number: u64) -> usize {
    let bits = 64 - (number | 1).leading_zeros() as usize;
    let length = bits.div_ceil(7);
    match to.first_chunk_mut() {
        Some(word) if length <= 8 => {
            // All bytes but the last have their top bit.
            let follow = TOP_BITS & !(u64::MAX << (8 * (length - 1)));
            *word = (spread(number) | follow).to_le_bytes();
            length
        }
        _ => write_bytes(to, number),
    }
}

/// The same by bytes.
fn write_bytes(to: &mut [u8], mut number: u64) -> usize {
    let mut length = 0;
    for byte in to.iter_mut() {
        length += 1;
        if number < 0x80 {
            *byte = number as u8;
            break;
        }
        *byte = number as u8 | 0x80;
        number >>= 7;
    }
    length
}

/// Reads the number at the start, and gives its length.
#[inline]
pub(crate) fn read(bytes: &[u8]) -> Parsed<(u64, usize)> {
    if let Some(word) = bytes.first_chunk() {
        let word = u64::from_le_bytes(*word);
        let last = !word & TOP_BITS;
        if last != 0 {
            let bits = last.trailing_zeros() + 1;
            let number = word & (u64::MAX >> (64 - bits));
            if number >> (bits - 8) == 0 && bits > 8 {
                return Err(TOO_LONG);
            }
            return Ok((gather(number & !TOP_BITS), bits as usize / 8));
        }
    }
    read_bytes(bytes)
}

/// The same by bytes.
fn read_bytes(bytes: &[u8]) -> Parsed<(u64, usize)> {
    let mut number = 0;
    for (i, byte) in bytes.iter().enumerate() {
        if i == MAX - 1 && *byte > 1 {
            return Err("a number has more than 64 bits");
        }
        number |= u64::from(byte & 0x7F) << (7 * i);
        if *byte < 0x80 {
            if *byte == 0 && i > 0 {
                return Err(TOO_LONG);
            }
            return Ok((number, i + 1));
        }
    }
    Err(ENDS_EARLY)
}

/// The lowest 56 bits, seven to a byte.
#[inline]
fn spread(x: u64) -> u64 {
    let x = (x & 0x0FFF_FFFF) | ((x << 4) & 0x0FFF_FFFF_0000_0000);
    let x = (x & 0x0000_3FFF_0000_3FFF) | ((x << 2) & 0x3FFF_0000_3FFF_0000);
    (x & 0x007F_007F_007F_007F) | ((x << 1) & 0x7F00_7F00_7F00_7F00)
}

/// Undoes [`spread`].
#[inline]
fn gather(x: u64) -> u64 {
    let x = (x & 0x007F_007F_007F_007F) | ((x & 0x7F00_7F00_7F00_7F00) >> 1);
    let x = (x & 0x0000_3FFF_0000_3FFF) | ((x & 0x3FFF_0000_3FFF_0000) >> 2);
    (x & 0x0FFF_FFFF) | ((x & 0x0FFF_FFFF_0000_0000) >> 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around every border of length.
    fn numbers() -> impl Iterator<Item = u64> {
        let powers = (0..64).map(|bit| 1u64 << bit);
        powers.flat_map(|power| [power - 1, power, power + 1, power.wrapping_neg()])
    }

    #[test]
    fn words_and_bytes_are_one_format() {
        for number in numbers() {
            let (mut fast, mut slow) = ([0; MAX], [0; MAX]);
            let length = write(&mut fast, number);
            assert_eq!(length, write_bytes(&mut slow, number), "{number:x}");
            assert_eq!(fast[..length], slow[..length], "{number:x}");
            // With something behind it and without.
            for bytes in [&fast[..], &fast[..length]] {
                assert_eq!(read(bytes), Ok((number, length)), "{number:x}");
                assert_eq!(read_bytes(bytes), Ok((number, length)), "{number:x}");
            }
            for short in 0..length {
                assert_eq!(read(&fast[..short]), Err(ENDS_EARLY), "{number:x}");
            }
        }
    }

    #[test]
    fn a_number_has_one_form() {
        for zeros in 1..MAX {
            let mut bytes = [0x80; MAX];
            bytes[zeros] = 0;
            assert_eq!(read(&bytes), Err(TOO_LONG));
            assert_eq!(read(&bytes[..=zeros]), Err(TOO_LONG));
        }
        let mut bytes = [0xFF; MAX];
        bytes[MAX - 1] = 2;
        assert_eq!(read(&bytes), Err("a number has more than 64 bits"));
        bytes[MAX - 1] = 1;
        assert_eq!(read(&bytes), Ok((u64::MAX, MAX)));
        assert_eq!(read(&[0xFF; 20]), Err("a number has more than 64 bits"));
    }
}
