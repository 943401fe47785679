//! Files below one folder.
//!
//! A path is walked one name at a time from the open folder, so that nothing but the folder itself is ever looked up by
//! its whole name: no link is followed, nothing above the folder is reached, and whatever is renamed meanwhile, the walk
//! stays in what was opened. Every folder on the way and the file must be closed to the writing of others: what anybody
//! can change is nobody's evidence.

use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2},
    io::Errno,
    process::geteuid,
};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    time::Instant,
};
use threadmesh_runtime::{
    adapter::Reason,
    resolver::{Canonical, Fact, Question, Resolver},
};

/// How much is read between two looks at the clock.
const CHUNK: u64 = 64 * 1024;

/// Looks at files below a folder.
pub struct FileResolver {
    root: PathBuf,
    canonical: Canonical,
}

impl FileResolver {
    /// A resolver for what is below `root`. The error says why nobody's word could be taken for that folder.
    pub fn new(root: PathBuf, canonical: Canonical) -> Result<Self, String> {
        let resolver = Self { root, canonical };
        match resolver.open_root() {
            Ok(_) => Ok(resolver),
            Err(Fact::Absent) => Err(format!("there is no folder {}", resolver.root.display())),
            Err(fact) => Err(fact.reason().map_or_else(|| fact.word().to_owned(), Reason::to_string)),
        }
    }

    fn open_root(&self) -> Result<OwnedFd, Fact> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = openat(CWD, &self.root, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOENT => Fact::Absent,
            Errno::NOTDIR | Errno::LOOP => Fact::refused("link", "the root is no folder, or a link to one"),
            errno => failed(errno),
        })?;
        closed_to_others(&stat(&root)?, &self.root.display().to_string())?;
        Ok(root)
    }

    fn read(&self, question: &Question, deadline: Instant) -> Result<Vec<u8>, Fact> {
        let names = names(&question.address)?;
        let mut at = self.open_root()?;
        let Some((last, folders)) = names.split_last() else { return Err(outside()) };
        for name in folders {
            at = step(&at, name)?;
            let stat = stat(&at)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                return Err(Fact::Absent);
            }
            closed_to_others(&stat, name)?;
        }
        // First only a handle on the name: opening a device or a pipe in earnest may already do something.
        let handle = step(&at, last)?;
        let seen = stat(&handle)?;
        regular(&seen, last)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = beneath(&at, last, flags).map_err(|errno| self.why(&at, last, errno))?;
        let opened = stat(&file)?;
        if (opened.st_dev, opened.st_ino) != (seen.st_dev, seen.st_ino) {
            return Err(Fact::unreachable("changed", "the file was replaced while it was being opened"));
        }
        contents(file, &opened, question.bytes_max, deadline)
    }

    /// Why a name that was there a moment ago cannot be opened.
    fn why(&self, at: &OwnedFd, name: &str, errno: Errno) -> Fact {
        match step(at, name) {
            Ok(_) => failed(errno),
            Err(fact) => fact,
        }
    }
}

impl Resolver for FileResolver {
    fn look(&self, question: &Question, deadline: Instant) -> Fact {
        match self.read(question, deadline) {
            Ok(bytes) => Fact::of(&bytes, question.pointer.as_deref(), &self.canonical),
            Err(fact) => fact,
        }
    }
}

/// The names of a path, each one a step down.
fn names(address: &str) -> Result<Vec<&str>, Fact> {
    if !address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return Err(Fact::refused("address-malformed", "a path is graphic ASCII without a backslash"));
    }
    let names: Vec<&str> = address.split('/').collect();
    // A path from the top begins with an empty name.
    if names.iter().any(|name| matches!(*name, "" | "." | "..")) {
        return Err(outside());
    }
    Ok(names)
}

fn outside() -> Fact {
    Fact::refused("outside-root", "a path leads down from the root, without empty names, '.' and '..'")
}

/// A handle on what `name` means in `at`, a link refused.
fn step(at: &OwnedFd, name: &str) -> Result<OwnedFd, Fact> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = beneath(at, name, flags).map_err(|errno| match errno {
        Errno::NOENT | Errno::NAMETOOLONG => Fact::Absent,
        Errno::LOOP => link(name),
        Errno::XDEV => outside(),
        errno => failed(errno),
    })?;
    // Without `openat2`, and for a handle also with it, the link itself is opened.
    if FileType::from_raw_mode(stat(&handle)?.st_mode) == FileType::Symlink {
        return Err(link(name));
    }
    Ok(handle)
}

/// Opens one name. The kernel's own guard where it has one; the name holds no '/', so that `NOFOLLOW` says the same.
fn beneath(at: &OwnedFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(at.as_fd(), name, flags, Mode::empty(), resolve) {
        // Old kernels, and sandboxes that know no such call.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => openat(at.as_fd(), name, flags, Mode::empty()),
        opened => opened,
    }
}

fn link(name: &str) -> Fact {
    Fact::refused("link", format!("{name:?} is a link"))
}

fn failed(errno: Errno) -> Fact {
    match errno {
        Errno::ACCESS | Errno::PERM => Fact::refused("no-access", "the host may not read it"),
        errno => Fact::unreachable("input-output", std::io::Error::from(errno).to_string()),
    }
}

fn stat(fd: &OwnedFd) -> Result<Stat, Fact> {
    fstat(fd).map_err(failed)
}

/// Whether the file is one, with a single name, and closed to the writing of others.
fn regular(stat: &Stat, name: &str) -> Result<(), Fact> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Fact::refused("not-regular", format!("{name:?} is no regular file")));
    }
    if stat.st_nlink > 1 {
        return Err(Fact::refused("link", format!("{name:?} has a second name, which may be anywhere")));
    }
    closed_to_others(stat, name)
}

fn closed_to_others(stat: &Stat, name: &str) -> Result<(), Fact> {
    if stat.st_mode & 0o022 != 0 {
        return Err(Fact::refused("writable-by-others", format!("{name:?} can be written by others (chmod go-w)")));
    }
    if stat.st_uid != geteuid().as_raw() && stat.st_uid != 0 {
        return Err(Fact::refused("foreign-owner", format!("{name:?} belongs to another user")));
    }
    Ok(())
}

fn contents(file: OwnedFd, stat_before: &Stat, bytes_max: u64, deadline: Instant) -> Result<Vec<u8>, Fact> {
    if u64::try_from(stat_before.st_size).unwrap_or(u64::MAX) > bytes_max {
        return Err(Fact::TooLarge);
    }
    let mut file = File::from(file);
    let mut bytes = Vec::new();
    loop {
        if Instant::now() >= deadline {
            return Err(Fact::unreachable("deadline", "reading took too long"));
        }
        match file.by_ref().take(CHUNK).read_to_end(&mut bytes) {
            Ok(0) => break,
            Ok(_) if bytes.len() as u64 > bytes_max => return Err(Fact::TooLarge),
            Ok(_) => {}
            Err(error) => return Err(Fact::unreachable("input-output", error.to_string())),
        }
    }
    let after = stat(&OwnedFd::from(file))?;
    let version = |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
    if version(&after) != version(stat_before) || bytes.len() as i64 != after.st_size {
        return Err(Fact::unreachable("changed", "the file changed while it was being read"));
    }
    Ok(bytes)
}

/// Whether a path can be a root, before anything is opened.
pub(super) fn check_root(root: &Path) -> Result<(), String> {
    if root.is_absolute() { Ok(()) } else { Err(format!("root: {} is not an absolute path", root.display())) }
}
