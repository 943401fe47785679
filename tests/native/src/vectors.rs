//! The conformance vectors of the repository, for tests.

use serde_json::Value;
use std::{fs, path::Path, path::PathBuf};

/// All vectors in the order of their files, each with its file below `spec/conformance/`.
///
/// # Panics
/// Where a file cannot be read.
#[must_use]
pub fn all() -> Vec<(String, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/conformance");
    let mut all = Vec::new();
    for path in sorted(&root).iter().filter(|path| path.is_dir()).flat_map(|group| sorted(group)) {
        let file: Value = serde_json::from_str(&fs::read_to_string(&path).expect("a vector file")).expect("JSON");
        let name = path.strip_prefix(&root).expect("below the root").display().to_string();
        all.extend(file["vectors"].as_array().expect("vectors").iter().map(|vector| (name.clone(), vector.clone())));
    }
    all
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}
