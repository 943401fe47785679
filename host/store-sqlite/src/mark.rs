//! How many commits were acknowledged, as said beside the file: in the first line of the lock file.
//!
//! A log that is removed or cut short while nobody has the file open leaves a file that looks whole and is older than what
//! callers were told. So every commit, once it is on the disk, leaves its number here. The line is written and not flushed,
//! so that it costs no wait: the death of a process does not harm it, and a loss of power leaves an earlier line or none,
//! which says less and never too much. A line that cannot be read says nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::sum::Sum;

/// Bytes of the line. What the lock file says otherwise comes behind it.
pub(crate) const LENGTH: u64 = 34;

/// The number in the lock file at `path`; 0 where it says none.
pub(crate) fn read(path: &Path) -> io::Result<i64> {
    match File::open(path) {
        Ok(file) => Ok(load(&file).unwrap_or(0)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Says that `commits` were acknowledged, unless more were already: another process may have been faster. Two that write
/// at the same moment may leave the smaller of their numbers.
pub(crate) fn raise(file: &File, commits: i64) -> io::Result<()> {
    if load(file).is_some_and(|known| known >= commits) {
        return Ok(());
    }
    file.write_all_at(line(commits).as_bytes(), 0)
}

fn load(file: &File) -> Option<i64> {
    let mut bytes = [0; LENGTH as usize];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let commits = text.get(8..24)?.parse().ok()?;
    (text == line(commits)).then_some(commits)
}

fn line(commits: i64) -> String {
    let sum = Sum::new().number(commits).value();
    format!("commits {commits:016} {sum:08x}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_only_grows_and_a_torn_line_says_nothing() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("lock");
        assert_eq!(read(&path).unwrap(), 0);
        let file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
        for (said, read_back) in [(7, 7), (5, 7), (1 << 40, 1 << 40)] {
            raise(&file, said).unwrap();
            assert_eq!(read(&path).unwrap(), read_back);
        }
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len() as u64, LENGTH);
        for at in 0..whole.len() {
            let mut torn = whole.clone();
            torn[at] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            assert_eq!(read(&path).unwrap(), 0, "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(read(&path).unwrap(), 0, "cut at {at}");
        }
        raise(&file, 1).unwrap();
        assert_eq!(read(&path).unwrap(), 1);
    }
}
