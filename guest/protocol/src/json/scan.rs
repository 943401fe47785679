//! Finding the end of a run of plain characters, eight bytes at a time.

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// Where the run of plain string bytes from `from` on ends: at a quote, a backslash, a control character or the end.
#[inline]
pub(super) fn plain_end(bytes: &[u8], from: usize) -> usize {
    let (words, tail) = bytes.get(from..).unwrap_or_default().as_chunks::<8>();
    let mut at = from;
    for word in words {
        let stops = stops(u64::from_le_bytes(*word));
        if stops != 0 {
            return at.wrapping_add((stops.trailing_zeros() >> 3) as usize);
        }
        at = at.wrapping_add(8);
    }
    let plain = |byte: &&u8| **byte >= 0x20 && !matches!(**byte, b'"' | b'\\');
    at.wrapping_add(tail.iter().take_while(plain).count())
}

/// A word whose lowest set bit lies in the first byte that is a quote, a backslash or below 0x20; 0 if none is. A
/// subtraction borrows only from the bytes after a hit, so that bits above the lowest say nothing.
#[inline]
const fn stops(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES.wrapping_mul(0x20));
    let quote = (word ^ ONES.wrapping_mul(b'"' as u64)).wrapping_sub(ONES);
    let backslash = (word ^ ONES.wrapping_mul(b'\\' as u64)).wrapping_sub(ONES);
    (control | quote | backslash) & !word & HIGHS
}
