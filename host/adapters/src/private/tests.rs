use super::*;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

fn file(text: &[u8], mode: u32) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("private");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    (dir, path)
}

#[test]
fn only_files_that_are_closed_to_others_are_read() {
    for mode in [0o600, 0o400, 0o700] {
        let (_dir, path) = file(b"text", mode);
        assert_eq!(read(&path, 4).unwrap(), "text", "{mode:o}");
    }
    for mode in [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o601] {
        let (_dir, path) = file(b"text", mode);
        assert!(matches!(read(&path, 4), Err(PrivateError::Mode { .. })), "{mode:o}");
    }
}

#[test]
fn what_is_no_readable_text_file_is_refused() {
    let (dir, path) = file(b"text!", 0o600);
    assert!(matches!(read(&path, 4), Err(PrivateError::Size { .. })));
    assert!(matches!(read(dir.path(), 4), Err(PrivateError::NotAFile(_))));
    assert!(matches!(read(Path::new("/dev/null"), 4), Err(PrivateError::NotAFile(_))));
    assert!(matches!(read(&dir.path().join("missing"), 4), Err(PrivateError::Io { .. })));
    let (_dir, path) = file(&[0xff], 0o600);
    assert!(matches!(read(&path, 4), Err(PrivateError::Encoding(_))));
}

#[test]
fn a_pipe_does_not_hang_the_host() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert!(matches!(read(&path, 4), Err(PrivateError::NotAFile(_))));
}

#[test]
fn a_secret_loses_one_line_break() {
    for (text, expected) in [("s", "s"), ("s\n", "s"), ("s\r\n", "s"), ("s\n\n", "s\n"), ("", "")] {
        let (_dir, path) = file(text.as_bytes(), 0o600);
        assert_eq!(secret(&path).unwrap(), expected);
    }
}
