//! The `file` resolver against real files, links, pipes and folders.

use super::looking::{found, look, look_within, question, resolver, said, try_resolver, value};
use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    time::Duration,
};
use threadmesh_runtime::resolver::{DeclaredResolver, Question};

/// A root with a file, and a folder beside it that nobody may see from there.
struct Place {
    dir: tempfile::TempDir,
    resolver: DeclaredResolver,
}

impl Place {
    fn new() -> Self {
        Self::with("")
    }

    fn with(more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["root", "root/sub", "beside"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
            mode(&dir.path().join(folder), 0o755);
        }
        let resolver = resolver(&format!("kind = \"file\"\nroot = {:?}\n{more}", dir.path().join("root")));
        let place = Self { dir, resolver };
        place.write("root/report.json", r#"{"status":"live","n":1.0}"#);
        place.write("root/sub/deep.txt", "deep");
        place.write("beside/secret.txt", "secret");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        mode(&self.path(name), 0o644);
    }

    fn says(&self, address: &str) -> String {
        said(&look(&self.resolver, address))
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_is_found_with_its_digest_and_values() {
    let place = Place::new();
    let deep = found(look(&place.resolver, "sub/deep.txt"));
    assert_eq!(deep.digest, "sha256:74611c1d6455b534323a21f8133a6f43dc3a8188e7b946f96dcc28dde932fcb2");
    assert_eq!((deep.length, deep.value), (4, None));
    let at = |pointer: &str| found(value(&place.resolver, "report.json", pointer)).value;
    assert_eq!(at("/status").as_deref(), Some(r#""live""#));
    assert_eq!(at("/n").as_deref(), Some("1"), "in canonical form");
    assert_eq!(at("/none"), None);
    assert_eq!(place.says("none.json"), "absent");
    assert_eq!(place.says("report.json/below"), "absent");
    assert_eq!(place.says(&"x".repeat(300)), "absent");
}

#[test]
fn what_is_not_strict_json_has_no_values() {
    let place = Place::new();
    let cases =
        [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#, r#"["\ud800"]"#, "[1e400]", "{\"a\":1} x", "", "\u{feff}1"];
    for text in cases {
        place.write("root/odd.json", text);
        assert_eq!(said(&value(&place.resolver, "odd.json", "")), "refused content-not-json", "{text:?}");
        assert_eq!(place.says("odd.json"), "found", "the digest needs no JSON: {text:?}");
    }
    fs::write(place.path("root/odd.json"), [b'"', 0xff, b'"']).unwrap();
    assert_eq!(said(&value(&place.resolver, "odd.json", "")), "refused content-not-json");
    assert_eq!(said(&value(&place.resolver, "report.json", "status")), "refused pointer-malformed");
}

#[test]
fn nothing_leads_out_of_the_root() {
    let place = Place::new();
    let secret = place.path("beside/secret.txt");
    let absolute = secret.to_str().unwrap().to_owned();
    for address in
        ["../beside/secret.txt", "sub/../report.json", "./report.json", "sub//deep.txt", "sub/", absolute.as_str()]
    {
        assert_eq!(place.says(address), "refused outside-root", "{address}");
    }
    for address in ["a b", "sub\\deep.txt", "d\u{f6}ep", "a\u{0}b", "a\nb"] {
        assert_eq!(place.says(address), "refused address-malformed", "{address:?}");
    }
    symlink(&secret, place.path("root/out")).unwrap();
    symlink(place.path("beside"), place.path("root/folder")).unwrap();
    symlink("report.json", place.path("root/inside")).unwrap();
    symlink("sub", place.path("root/within")).unwrap();
    symlink("nowhere", place.path("root/dangling")).unwrap();
    for address in ["out", "folder/secret.txt", "inside", "within/deep.txt", "dangling"] {
        assert_eq!(place.says(address), "refused link", "{address}");
    }
    fs::hard_link(&secret, place.path("root/hard")).unwrap();
    assert_eq!(place.says("hard"), "refused link");
}

#[test]
fn a_root_that_became_a_link_is_none() {
    let place = Place::new();
    fs::rename(place.path("root"), place.path("moved")).unwrap();
    assert_eq!(place.says("report.json"), "absent");
    symlink(place.path("moved"), place.path("root")).unwrap();
    assert_eq!(place.says("report.json"), "refused link");
}

#[test]
fn only_regular_files_are_read() {
    let place = Place::new();
    let pipe = place.path("root/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let _socket = UnixListener::bind(place.path("root/socket")).unwrap();
    for address in ["pipe", "socket", "sub"] {
        assert_eq!(place.says(address), "refused not-regular", "{address}");
    }
    let devices = resolver("kind = \"file\"\nroot = \"/dev\"");
    assert_eq!(said(&look(&devices, "null")), "refused not-regular");
}

#[test]
fn what_others_can_write_is_nobodys_evidence() {
    let place = Place::new();
    for (name, address) in [("root/report.json", "report.json"), ("root/sub", "sub/deep.txt"), ("root", "report.json")]
    {
        let path = place.path(name);
        let before = fs::metadata(&path).unwrap().permissions().mode();
        for bit in [0o020, 0o002] {
            mode(&path, before | bit);
            assert_eq!(place.says(address), "refused writable-by-others", "{name} {bit:o}");
        }
        mode(&path, before);
        assert_eq!(place.says(address), "found", "{name}");
    }
    mode(&place.path("root"), 0o777);
    let settings = format!("kind = \"file\"\nroot = {:?}", place.path("root"));
    assert!(try_resolver(&settings).unwrap_err().contains("can be written by others"));
}

#[test]
fn large_files_are_not_read() {
    let place = Place::with("bytes_max = 10");
    place.write("root/ten", "0123456789");
    place.write("root/eleven", "0123456789+");
    assert_eq!((place.says("ten"), place.says("eleven")), ("found".into(), "too-large".into()));
    let tighter = Question { bytes_max: 9, ..question("ten") };
    assert_eq!(said(&look_within(&place.resolver, &tighter, Duration::from_secs(5))), "too-large");
    // A gibibyte that takes no room on the disk.
    fs::File::create(place.path("root/huge")).unwrap().set_len(1 << 30).unwrap();
    mode(&place.path("root/huge"), 0o644);
    assert_eq!(place.says("huge"), "too-large");
    assert_eq!(said(&look_within(&place.resolver, &question("ten"), Duration::ZERO)), "unreachable deadline");
}

#[test]
fn evidence_that_changed_has_another_digest() {
    let place = Place::new();
    let before = found(look(&place.resolver, "report.json"));
    place.write("root/report.json", r#"{"status":"dead","n":1.0}"#);
    let after = found(look(&place.resolver, "report.json"));
    assert_eq!(before.length, after.length);
    assert_ne!(before.digest, after.digest);
}
