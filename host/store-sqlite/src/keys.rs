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

/// How one list of keys differs from another.
pub(crate) struct Differences<'a> {
    /// In the old list only.
    pub gone: Vec<Key<'a>>,
    /// In the new list only.
    pub added: Vec<Key<'a>>,
}

/// Compares two sorted lists.
pub(crate) fn compare<'a>(old: &[Key<'a>], new: &[Key<'a>]) -> Differences<'a> {
    let only = |these: &[Key<'a>], others: &[Key<'a>]| {
        these.iter().filter(|key| others.binary_search(key).is_err()).copied().collect()
    };
    Differences { gone: only(old, new), added: only(new, old) }
}

fn take_key<'a>(bytes: &mut &'a [u8]) -> Option<Key<'a>> {
    let name = take_number(bytes)?.cast_signed();
    let length = usize::try_from(take_number(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some((name, std::str::from_utf8(text).ok()?))
}

/// Appends a variable-length number.
pub(crate) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a variable-length number from the front.
pub(crate) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
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
