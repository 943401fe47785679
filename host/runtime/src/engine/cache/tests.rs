use super::*;
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

/// A component with nothing in it: compiling it costs nothing.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

fn origin(cache: &Path) -> Origin {
    component(&Engine::default(), EMPTY, "sha256:of-the-empty-one", &Cache::At(cache.into())).unwrap().1
}

fn the_file(dir: &Path) -> PathBuf {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "one file and no drafts: {files:?}");
    files.pop().unwrap()
}

#[test]
fn compiled_code_is_kept_and_loaded_if_whole() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("a/b");
    assert_eq!(origin(&cache), Origin::Compiled);
    let file = the_file(&cache);
    let modes = [&cache, &file].map(|path| fs::metadata(path).unwrap().permissions().mode() & 0o777);
    assert_eq!(modes, [0o700, 0o600]);
    assert_eq!(origin(&cache), Origin::Loaded);

    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for content in [&damaged[..], &whole[..whole.len() - 1], b""] {
        fs::write(&file, content).unwrap();
        assert_eq!(origin(&cache), Origin::Compiled, "a damaged file is made again");
        assert_eq!(origin(&cache), Origin::Loaded);
    }
}

#[test]
fn code_for_others_is_not_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::At(dir.path().join("cache"));
    let mut config = wasmtime::Config::new();
    config.epoch_interruption(true);
    let engines = [Engine::default(), Engine::new(&config).unwrap()];
    for (engine, digest) in [(0, "a"), (1, "a"), (0, "b")] {
        assert_eq!(component(&engines[engine], EMPTY, digest, &cache).unwrap().1, Origin::Compiled);
    }
    for (engine, digest) in [(0, "a"), (1, "a"), (0, "b")] {
        assert_eq!(component(&engines[engine], EMPTY, digest, &cache).unwrap().1, Origin::Loaded);
    }
}

#[test]
fn foreign_places_are_not_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    origin(&cache);
    let file = the_file(&cache);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(origin(&cache), Origin::Compiled, "a file that others can read is not ours");
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert_eq!(origin(&cache), Origin::Compiled, "links are not followed");
    assert_eq!(origin(&cache), Origin::Loaded, "and are replaced");
    fs::hard_link(&file, dir.path().join("other")).unwrap();
    assert_eq!(origin(&cache), Origin::Compiled, "nor is a file that has another name");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o707)).unwrap();
    assert!(matches!(origin(&cache), Origin::NotKept(_)), "a directory that others can use");
    symlink(&cache, dir.path().join("link")).unwrap();
    assert!(matches!(origin(&dir.path().join("link")), Origin::NotKept(_)), "a directory that is a link");
    let off = component(&Engine::default(), EMPTY, "", &Cache::Off).unwrap().1;
    assert!(matches!(off, Origin::NotKept(_)));
}

#[test]
fn few_files_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::At(dir.path().join("cache"));
    for number in 0..FILES_MAX + 3 {
        component(&Engine::default(), EMPTY, &number.to_string(), &cache).unwrap();
    }
    assert_eq!(fs::read_dir(dir.path().join("cache")).unwrap().count(), FILES_MAX);
}
