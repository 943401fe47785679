//! Compiled code behind the end of the running program's own file, so that a fresh installation needs no compiler to start.
//!
//! `cargo xtask carry PROGRAM` puts it there: the code, its length in eight bytes, and sixteen bytes by which it is found.
//! It says of what component and for which engine it is, as the code in the cache does; where that is another one, or a tool
//! has cut it off, the program starts as it would without it.

use std::{
    env,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

/// What stands at the end of a file that carries code.
const MARK: &[u8; 16] = b"threadmesh code\n";

/// The code that this program carries, if it carries some; at most `most` bytes.
pub(super) fn read(most: u64) -> Option<Vec<u8>> {
    read_from(&env::current_exe().ok()?, most)
}

fn read_from(program: &Path, most: u64) -> Option<Vec<u8>> {
    let mut file = File::open(program).ok()?;
    let mut tail = [0; 24];
    let end = file.seek(SeekFrom::End(-24)).ok()?;
    file.read_exact(&mut tail).ok()?;
    let (length, mark) = tail.split_first_chunk::<8>()?;
    let length = u64::from_le_bytes(*length);
    if mark != MARK || length > most {
        return None;
    }
    file.seek(SeekFrom::Start(end.checked_sub(length)?)).ok()?;
    let mut code = vec![0; usize::try_from(length).ok()?];
    file.read_exact(&mut code).ok()?;
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_behind_a_program_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        let read = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            read_from(&path, 100)
        };
        let whole = [b"program".as_slice(), b"code", &4_u64.to_le_bytes(), MARK].concat();
        assert_eq!(read(&whole).as_deref(), Some(b"code".as_slice()));
        assert_eq!(read(&whole[..whole.len() - 1]), None, "cut short");
        assert_eq!(read(b"program"), None);
        for length in [12, 101, u64::MAX] {
            let other = [b"program".as_slice(), b"code", &length.to_le_bytes(), MARK].concat();
            assert_eq!(read(&other), None, "{length}");
        }
        assert_eq!(read_from(&dir.path().join("none"), 100), None);
    }
}
