//! Writes the list of the conformance vectors, so that the program holds them.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/conformance");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    for group in fs::read_dir(&root)? {
        let group = group?.path();
        if group.is_dir() {
            println!("cargo::rerun-if-changed={}", group.display());
            let inside = fs::read_dir(&group)?.map(|file| Ok(file?.path())).collect::<io::Result<Vec<_>>>()?;
            files.extend(inside.into_iter().filter(|file| file.extension().is_some_and(|end| end == "json")));
        }
    }
    files.sort();
    let mut text = String::from("&[\n");
    for file in files {
        let file = file.canonicalize()?;
        let name = file.strip_prefix(root.canonicalize()?).map_err(io::Error::other)?;
        text.push_str(&format!(
            "    ({:?}, include_str!({:?})),\n",
            name.display().to_string(),
            file.display().to_string()
        ));
    }
    text.push(']');
    fs::write(PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?).join("vectors.rs"), text)
}
