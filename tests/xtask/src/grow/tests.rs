use super::*;

/// The data is read, names files that are there or are made, and takes no more places than it may; whether the tests pass
/// then is what `cargo xtask grow` shows.
#[test]
fn what_is_to_be_grown_is_written_in_few_places() {
    let root = crate::root();
    let all = grown(&root).unwrap();
    for kind in ["operation", "record", "rule", "code", "state", "document kind", "adapter"] {
        assert!(all.iter().any(|grown| grown.kind == kind), "nothing shows what {kind} takes");
    }
    for grown in &all {
        let places: BTreeSet<&str> = grown.edits.iter().map(|edit| edit.file.as_str()).collect();
        assert!(places.len() <= grown.most, "{}: {places:?}", grown.kind);
    }
}
