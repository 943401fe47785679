//! Builds the guest from two other paths with two other CARGO_HOMEs, and compares the components' digests.

use crate::copy;
use anyhow::{Result, bail, ensure};
use std::{env, fs, path::Path, process::Command};

/// The digests of both components, built in a copy of `root` below `place` with its own CARGO_HOME.
fn digests(root: &Path, place: &Path) -> Result<String> {
    let (source, home) = (place.join("source"), place.join("home"));
    fs::create_dir_all(&home)?;
    copy::tree(root, &source, |_, bytes| Ok(bytes))?;
    if let Some(config) = cargo_home().map(|home| home.join("config.toml")).filter(|config| config.is_file()) {
        fs::copy(config, home.join("config.toml"))?;
    }
    let status = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(["build", "--quiet", "--locked", "--package", "threadmesh-artifact", "--target-dir"])
        .arg(place.join("target"))
        .current_dir(&source)
        .env("CARGO_HOME", &home)
        .status()?;
    ensure!(status.success(), "building in {} failed", source.display());
    let build = place.join("target/debug/build");
    for entry in fs::read_dir(&build)? {
        let file = entry?.path().join("out/artifact.rs");
        if file.is_file() {
            let text = fs::read_to_string(file)?;
            return Ok(text.lines().filter(|line| line.contains("_DIGEST")).collect::<Vec<_>>().join("\n"));
        }
    }
    bail!("no artifact below {}", build.display())
}

fn cargo_home() -> Option<std::path::PathBuf> {
    env::var_os("CARGO_HOME").map(Into::into).or_else(|| env::home_dir().map(|home| home.join(".cargo")))
}

/// Fails if the digests differ.
pub fn check(root: &Path) -> Result<()> {
    let place = env::temp_dir().join(format!("threadmesh-reproducible-{}", std::process::id()));
    let result = (|| {
        let first = digests(root, &place.join("one"))?;
        let second = digests(root, &place.join("a-longer-name-for-the-second"))?;
        ensure!(first == second, "the components differ:\n{first}\n{second}");
        println!("{first}");
        Ok(())
    })();
    fs::remove_dir_all(&place).ok();
    result
}
