//! The list of a row's own keys, as kept in the row: sorted, each once, without the one by id.
//!
//! Each key is the number of its index and the length of its text, both as variable-length integers (seven bits a byte,
//! low ones first), and the text.

use threadmesh_runtime::store::StoreError;

/// The number of an index, and a key.
pub(crate) type Key<'a> = (i64, &'a str);

/// Sorts `keys`, drops doubles, and writes them down.
pub(crate) fn encode(keys: &mut Vec<Key<'_>>) -> Vec<u8> {
    keys.sort_unstable();
    keys.dedup();
    let mut bytes = Vec::with_capacity(keys.iter().map(|(_, key)| key.len() + 4).sum());
    for (name, key) in keys {
        put_number(&mut bytes, name.cast_unsigned());
        put_number(&mut bytes, key.len() as u64);
        bytes.extend_from_slice(key.as_bytes());
    }
    bytes
}

/// Reads what [`encode`] wrote; [`StoreError::Damaged`] for anything else.
pub(crate) fn decode(mut bytes: &[u8]) -> Result<Vec<Key<'_>>, StoreError> {
    let mut keys = Vec::new();
    while !bytes.is_empty() {
        let key = take_key(&mut bytes).ok_or_else(|| StoreError::damaged("the list of a row's keys is malformed"))?;
        keys.push(key);
    }
    Ok(keys)
}

/// Calls `gone` for each key of `old` that is not in `new`, and `added` for the others' opposite. Both are sorted.
pub(crate) fn compare<E>(
    old: &[Key<'_>],
    new: &[Key<'_>],
    mut gone: impl FnMut(Key<'_>) -> Result<(), E>,
    mut added: impl FnMut(Key<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut old, mut new) = (old.iter().copied().peekable(), new.iter().copied().peekable());
    loop {
        match (old.peek().copied(), new.peek().copied()) {
            (None, None) => return Ok(()),
            (Some(left), right) if right.is_none_or(|right| left < right) => {
                old.next();
                gone(left)?;
            }
            (left, Some(right)) => {
                new.next();
                if left == Some(right) {
                    old.next();
                } else {
                    added(right)?;
                }
            }
            // Without a right side, every left one is gone.
            (Some(_), None) => {
                old.next();
            }
        }
    }
}

fn take_key<'a>(bytes: &mut &'a [u8]) -> Option<Key<'a>> {
    let name = take_number(bytes)?.cast_signed();
    let length = usize::try_from(take_number(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some((name, std::str::from_utf8(text).ok()?))
}

fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
