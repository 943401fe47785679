//! On which file systems a write-ahead log works.
//!
//! All processes share the log's index as mapped memory and take byte-range locks. Network file systems, and folders that
//! a virtual machine shares with its host, do one or the other only in appearance: files were seen damaged there within a
//! minute. Known ones are refused by the number that `statfs` gives. Elsewhere than on Linux there is no such number, and
//! nothing is refused.

use std::io;
use std::path::Path;

use crate::OpenError;

/// What `statfs` says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// Its number, as in statfs(2); 0 where there is none.
    pub magic: u64,
}

/// File systems that other machines can write at the same time, or that pretend to share memory.
const REFUSED: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x564c, "NCP"),
    (0x0102_1997, "9p (also WSL's drvfs)"),
    (0x5346_4846, "WSL's drvfs"),
    (0x6573_5546, "FUSE or virtiofs"),
    (0x786f_4256, "VirtualBox's shared folders"),
    (0xbacb_acbc, "VMware's shared folders"),
    (0x7c7c_6673, "Parallels' shared folders"),
    (0x00c0_ffee, "hostfs"),
    (0x00c3_6400, "Ceph"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0xaad7_aaea, "PanFS"),
    (0x2003_0528, "OrangeFS"),
    (0x1983_0326, "BeeGFS"),
];

impl FileSystem {
    /// Why a store must not be here, as the name of the file system; nothing where it may.
    pub fn refused(self) -> Option<&'static str> {
        REFUSED.iter().find(|(magic, _)| *magic == self.magic).map(|(_, name)| *name)
    }
}

/// Asks the system on what file system `path` is.
pub fn probe(path: &Path) -> io::Result<FileSystem> {
    #[cfg(target_os = "linux")]
    {
        let found = rustix::fs::statfs(path)?;
        // The field's type and sign differ between architectures; the numbers have 32 bits.
        Ok(FileSystem { magic: found.f_type as u64 & 0xffff_ffff })
    }
    #[cfg(not(target_os = "linux"))]
    {
        path.metadata().map(|_| FileSystem { magic: 0 })
    }
}

/// Refuses paths on file systems of the list; both are asked since a single file can be mounted by itself.
pub(crate) fn check(
    directory: &Path,
    file: Option<&Path>,
    probe: fn(&Path) -> io::Result<FileSystem>,
) -> Result<(), OpenError> {
    for path in [Some(directory), file].into_iter().flatten() {
        let found = probe(path).map_err(|error| OpenError::io(path, "cannot ask for its file system", &error))?;
        if let Some(name) = found.refused() {
            return Err(OpenError::FileSystem { path: path.to_owned(), name });
        }
    }
    Ok(())
}
