//! Tests of the token file.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

fn task(id: &str) -> Principal {
    Principal {
        tenant: "default".into(),
        kind: Kind::Task,
        id: id.into(),
        incarnation: Some("inc_0000001".into()),
        owner: Some("user:alice".into()),
        worker: None,
    }
}

fn create(path: &Path, name: &str) -> Result<Secret, TokenError> {
    update(path, |file| file.create(path, name, task(name)))
}

#[test]
fn a_token_is_found_by_itself_and_by_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let (one, two) = (create(&path, "one").unwrap(), create(&path, "two").unwrap());
    assert_eq!(one.text().len(), 43);
    let file = load(&path).unwrap();
    assert_eq!(file.resolve(one.text()).unwrap().name, "one");
    assert_eq!(file.resolve(two.text()).unwrap().name, "two");
    assert!(file.resolve("").is_none());
    assert!(file.resolve(&one.text()[1..]).is_none());
    assert!(file.resolve(&file.entries[0].token_digest).is_none());
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(one.text()) && !text.contains(two.text()), "the file holds digests only");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn names_are_unique_and_removal_is_final() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let token = create(&path, "one").unwrap();
    assert!(matches!(create(&path, "one"), Err(TokenError::Exists(_))));
    update(&path, |file| file.remove("one")).unwrap();
    assert!(load(&path).unwrap().resolve(token.text()).is_none());
    assert!(matches!(update(&path, |file| file.remove("one")), Err(TokenError::Unknown(_))));
}

#[test]
fn a_file_open_to_others_or_behind_a_link_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    create(&path, "one").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(load(&path), Err(TokenError::Unsafe { .. })));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let link = folder.path().join("link.json");
    symlink(&path, &link).unwrap();
    assert!(matches!(load(&link), Err(TokenError::Io { .. })));
    assert!(matches!(load(folder.path()), Err(TokenError::NoFile { .. })));
    assert!(matches!(read_secret(std::path::Path::new("/dev/null")), Err(TokenError::NoFile { .. })));
}

#[test]
fn bad_entries_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    create(&path, "one").unwrap();
    let good = fs::read_to_string(&path).unwrap();
    let replace = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        fs::write(&path, good.replace(from, to)).unwrap();
        assert!(matches!(load(&path), Err(TokenError::Invalid { .. })), "{from} → {to}");
    };
    replace("\"task\"", "\"host\"");
    replace("\"version\": 1", "\"version\": 2");
    replace("\"version\": 1", "\"version\": 1, \"version\": 1");
    replace("\"name\": \"one\"", "\"name\": \"../one\"");
    replace("\"name\": \"one\"", "\"name\": \"one\", \"token\": \"x\"");
    replace("sha256:", "sha256:0");
    replace("authn_", "auth_");
}

#[test]
fn whom_the_rules_do_not_take_is_as_good_as_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let (one, two) = (create(&path, "one").unwrap(), create(&path, "two").unwrap());
    let book = TokenBook::open(&path).unwrap().checked(Arc::new(|entry| Ok(entry.name != "one")));
    assert!(book.resolve(one.text()).unwrap().is_none());
    assert!(book.resolve(two.text()).unwrap().is_some());
    let unsaid = TokenBook::open(&path).unwrap().checked(Arc::new(|_| Err("it does not say".into())));
    assert!(unsaid.resolve(two.text()).is_err());
}

#[test]
fn a_book_follows_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    assert!(TokenBook::open(&path).is_err());
    let one = create(&path, "one").unwrap();
    let book = TokenBook::open(&path).unwrap();
    let entry = book.resolve(one.text()).unwrap().unwrap();
    let two = create(&path, "two").unwrap();
    assert_eq!(book.resolve(two.text()).unwrap().unwrap().name, "two");
    assert!(book.holds(&entry).unwrap());
    update(&path, |file| file.remove("one")).unwrap();
    assert!(!book.holds(&entry).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(book.resolve(two.text()).is_err(), "nobody is let in by an old copy");
}

#[test]
fn secrets_travel_in_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.token");
    let secret = Secret::generate();
    write_secret(&path, &secret).unwrap();
    assert!(write_secret(&path, &secret).is_err(), "a file is never replaced");
    assert_eq!(read_secret(&path).unwrap(), secret);
    assert_eq!(format!("{secret:?}"), "Secret(…)");
    fs::write(&path, "two words\n").unwrap();
    assert!(matches!(read_secret(&path), Err(TokenError::Invalid { .. })));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
    assert!(matches!(read_secret(&path), Err(TokenError::Unsafe { .. })));
}

#[test]
fn two_changes_at_once_both_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    std::thread::scope(|scope| {
        for at in 0..8 {
            let path = &path;
            scope.spawn(move || create(path, &format!("n{at}")).unwrap());
        }
    });
    assert_eq!(load(&path).unwrap().entries.len(), 8);
}
