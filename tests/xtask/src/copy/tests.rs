use super::*;
use std::time::{Duration, SystemTime};

/// A folder of this test, empty.
fn place(name: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("threadmesh-copy-{}-{name}", std::process::id()));
    fs::remove_dir_all(&place).ok();
    fs::create_dir_all(&place).unwrap();
    place
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_second_copy_touches_only_what_changed() {
    let place = place("tree");
    let (root, copied) = (place.join("root"), place.join("copied"));
    for (name, text) in [("a.txt", "a"), ("deep/b.txt", "b"), (".gitignore", "built/\n"), ("built/c", "c")] {
        write(&root.join(name), text);
    }
    assert!(Command::new("git").args(["init", "--quiet"]).current_dir(&root).status().unwrap().success());
    let plain = |_: &str, bytes: Vec<u8>| Ok(bytes);
    tree(&root, &copied, plain).unwrap();
    assert!(!copied.join("built").exists(), "what git ignores is not copied");
    let old = SystemTime::now() - Duration::from_secs(1000);
    File::options().write(true).open(copied.join("a.txt")).unwrap().set_modified(old).unwrap();
    write(&copied.join("left/over.txt"), "from an earlier copy");
    write(&copied.join("deep/b.txt"), "changed");
    tree(&root, &copied, plain).unwrap();
    assert_eq!(fs::metadata(copied.join("a.txt")).unwrap().modified().unwrap(), old, "it is as it was");
    assert_eq!(fs::read_to_string(copied.join("deep/b.txt")).unwrap(), "b");
    assert!(!copied.join("left").exists());
    tree(&root, &copied, |name, bytes| Ok(if name == "a.txt" { b"other".to_vec() } else { bytes })).unwrap();
    assert_eq!(fs::read_to_string(copied.join("a.txt")).unwrap(), "other");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn crates_of_others_are_handed_on_and_own_ones_are_not() {
    let place = place("seed");
    let (from, to) = (place.join("target"), place.join("target/copies/mine/target"));
    for profile in ["debug", "guest-build/wasm32/guest", "copies/another"] {
        for name in ["serde-0a1b", "threadmesh-sim-2c3d"] {
            let (_, hash) = name.rsplit_once('-').unwrap();
            write(&from.join(profile).join(".fingerprint").join(name).join("lib"), "digest");
            write(&from.join(profile).join("build").join(name).join("out/made.rs"), "made");
            write(&from.join(profile).join("deps").join(format!("libx-{hash}.rlib")), "code");
        }
    }
    let old = SystemTime::now() - Duration::from_secs(1000);
    let fingerprint = "debug/.fingerprint/serde-0a1b/lib";
    File::options().write(true).open(from.join(fingerprint)).unwrap().set_modified(old).unwrap();
    for _ in 0..2 {
        seed(&from, &to).unwrap();
        for profile in ["debug", "guest-build/wasm32/guest"] {
            let is = |name: &str| to.join(profile).join(name).is_file();
            assert!(
                is("deps/libx-0a1b.rlib") && is("build/serde-0a1b/out/made.rs") && is(".fingerprint/serde-0a1b/lib")
            );
            assert!(!is("deps/libx-2c3d.rlib") && !to.join(profile).join("build/threadmesh-sim-2c3d").exists());
        }
        assert!(!to.join("copies").exists());
        assert_eq!(fs::metadata(to.join(fingerprint)).unwrap().modified().unwrap(), old);
    }
    fs::remove_dir_all(place).unwrap();
}
