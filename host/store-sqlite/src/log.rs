//! Damage in the middle of the log. SQLite takes the first frame whose checksum is wrong for the end, as after a crash in
//! the middle of a write; what was committed behind it would be gone without a word.
//!
//! A crash leaves at most one commit unfinished at the end: the next one begins when the flush before it has returned. So
//! where a wrong frame is followed by a commit and then by the beginning of the next one, the wrong frame had been
//! flushed, and is damage. Of the last commit nobody can tell.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// Of the files that this store makes.
const PAGE: usize = 4_096;

/// The pair of sums that runs through all frames.
type Sums = (u32, u32);

/// A log, read as a file: SQLite holds no locks on it.
struct Log {
    file: File,
    page: usize,
    frames: u64,
    /// Whether the sums are over big-endian words.
    big: bool,
    salts: [u8; 8],
    sums: Sums,
    begin: [u8; HEADER],
}

/// The header of a frame.
struct Frame {
    page: u32,
    commits: bool,
    salts: [u8; 8],
    sums: Sums,
    begin: [u8; 8],
}

/// How long a log with so many frames is at least; 0 for one that is not in use.
pub(crate) fn length(frames: u64) -> u64 {
    if frames == 0 { 0 } else { HEADER as u64 + frames * (PAGE + FRAME_HEADER) as u64 }
}

/// Whether the log at `path` is damaged in front of something that was committed. `valid` is how many of its frames
/// SQLite uses.
pub(crate) fn is_damaged(path: &Path, valid: u64) -> io::Result<bool> {
    match look(path, valid) {
        // Somebody has emptied it meanwhile.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        other => other,
    }
}

fn look(path: &Path, valid: u64) -> io::Result<bool> {
    let Some(log) = Log::open(path)? else { return Ok(false) };
    // Mostly nothing of this turn of the log is behind the frames in use, and reading their headers is enough.
    if log.first(valid, |frame| frame.commits)?.is_none() {
        return Ok(false);
    }
    let Some(wrong) = log.first_wrong()? else { return Ok(false) };
    let Some(commit) = log.commit_that_goes_on(wrong)? else { return Ok(false) };
    // Somebody may have written what was wrong a moment ago; whatever is in front of that commit is complete by now, unless
    // a new turn of the log has begun, whose header is written first.
    let still = log.first_wrong()?.is_some_and(|wrong| wrong <= commit);
    Ok(still && log.header()? == log.begin)
}

impl Log {
    /// Nothing where there is no log, or one that SQLite does not use.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let mut header = [0; HEADER];
        if length < HEADER as u64 {
            return Ok(None);
        }
        file.read_exact_at(&mut header, 0)?;
        let magic = number(&header, 0);
        let page = number(&header, 8) as usize;
        let big = magic == 0x377f_0683;
        let sums = add(big, (0, 0), &header[..24]);
        if magic & !1 != 0x377f_0682 || !page.is_power_of_two() || sums != pair(&header, 24) {
            return Ok(None);
        }
        let frames = (length - HEADER as u64) / (page + FRAME_HEADER) as u64;
        Ok(Some(Self { file, page, frames, big, salts: eight(&header, 16), sums, begin: header }))
    }

    /// The header as it is now.
    fn header(&self) -> io::Result<[u8; HEADER]> {
        let mut header = [0; HEADER];
        self.file.read_exact_at(&mut header, 0)?;
        Ok(header)
    }

    fn place(&self, number: u64) -> u64 {
        HEADER as u64 + number * (self.page + FRAME_HEADER) as u64
    }

    /// The header of the frame with this number, counting from 0.
    fn frame(&self, number: u64) -> io::Result<Frame> {
        let mut bytes = [0; FRAME_HEADER];
        self.file.read_exact_at(&mut bytes, self.place(number))?;
        Ok(Frame {
            page: self::number(&bytes, 0),
            commits: self::number(&bytes, 4) != 0,
            salts: eight(&bytes, 8),
            sums: pair(&bytes, 16),
            begin: eight(&bytes, 0),
        })
    }

    /// The first frame of this turn of the log, from `from` on, that is as `wanted`.
    fn first(&self, from: u64, wanted: impl Fn(&Frame) -> bool) -> io::Result<Option<(u64, Frame)>> {
        for number in from..self.frames {
            let frame = self.frame(number)?;
            if frame.salts == self.salts && wanted(&frame) {
                return Ok(Some((number, frame)));
            }
        }
        Ok(None)
    }

    /// The sums behind a frame whose predecessor has left `sums`.
    fn behind(&self, number: u64, frame: &Frame, sums: Sums) -> io::Result<Sums> {
        let mut content = vec![0; self.page];
        self.file.read_exact_at(&mut content, self.place(number) + FRAME_HEADER as u64)?;
        Ok(add(self.big, add(self.big, sums, &frame.begin), &content))
    }

    /// The first frame that does not fit its predecessors.
    fn first_wrong(&self) -> io::Result<Option<u64>> {
        let mut sums = self.sums;
        for number in 0..self.frames {
            let frame = self.frame(number)?;
            sums = self.behind(number, &frame, sums)?;
            if frame.salts != self.salts || frame.page == 0 || frame.sums != sums {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// The first commit from `from` on that is followed by a frame that fits it.
    fn commit_that_goes_on(&self, from: u64) -> io::Result<Option<u64>> {
        let mut from = from;
        while let Some((number, commit)) = self.first(from, |frame| frame.commits)? {
            from = number + 1;
            if from >= self.frames {
                break;
            }
            let next = self.frame(from)?;
            // A commit can be repeated to fill a sector, before it is flushed.
            let repeated = next.commits && next.page == commit.page;
            if next.salts == self.salts && !repeated && self.behind(from, &next, commit.sums)? == next.sums {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }
}

fn add(big: bool, sums: Sums, bytes: &[u8]) -> Sums {
    let word = if big { u32::from_be_bytes } else { u32::from_le_bytes };
    let (words, _) = bytes.as_chunks::<4>();
    let (pairs, _) = words.as_chunks::<2>();
    pairs.iter().fold(sums, |(first, second), [left, right]| {
        let first = first.wrapping_add(word(*left)).wrapping_add(second);
        (first, second.wrapping_add(word(*right)).wrapping_add(first))
    })
}

fn eight(bytes: &[u8], at: usize) -> [u8; 8] {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    eight
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn pair(bytes: &[u8], at: usize) -> Sums {
    (number(bytes, at), number(bytes, at + 4))
}
