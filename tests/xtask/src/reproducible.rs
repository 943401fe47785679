//! Builds the guest here, and from another path with another CARGO_HOME, and compares the components' digests.

use crate::copy;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{env, fs, path::Path, path::PathBuf, process::Command};

/// The package whose build script builds the components.
const PACKAGE: &str = "threadmesh-artifact";

/// The digests of both components as built of the tree at `source`; `settle` says where and with what.
fn digests(source: &Path, settle: impl FnOnce(&mut Command)) -> Result<String> {
    let mut cargo = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--package", PACKAGE, "--message-format=json"]).current_dir(source);
    settle(&mut cargo);
    let output = cargo.output()?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "building in {} failed:\n{}", source.display(), said());
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let folder = told.lines().find_map(folder_of).context("cargo tells where the components are")?;
    let text = fs::read_to_string(folder.join("artifact.rs"))?;
    let digests: Vec<&str> = text.lines().filter(|line| line.contains("_DIGEST")).collect();
    ensure!(digests.len() == 2, "there are two components, and these digests: {digests:?}");
    Ok(digests.join("\n"))
}

/// Where the build script wrote, if this line of cargo's says so.
fn folder_of(line: &str) -> Option<PathBuf> {
    let told: Value = serde_json::from_str(line).ok()?;
    let ours = told["reason"] == "build-script-executed" && told["package_id"].as_str()?.contains(PACKAGE);
    told["out_dir"].as_str().filter(|_| ours).map(PathBuf::from)
}

fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME").map(Into::into).or_else(|| env::home_dir().map(|home| home.join(".cargo")))
}

/// The digests as built from a copy of `root` at another path, with nothing of what was built or downloaded here.
fn elsewhere(root: &Path, place: &Path) -> Result<String> {
    let (source, home) = (place.join("a-longer-name-of-the-source"), place.join("home"));
    fs::create_dir_all(&home)?;
    copy::tree(root, &source, |_, bytes| Ok(bytes))?;
    if let Some(config) = cargo_home().map(|home| home.join("config.toml")).filter(|config| config.is_file()) {
        fs::copy(config, home.join("config.toml"))?;
    }
    digests(&source, |cargo| {
        cargo.env("CARGO_HOME", &home).env("CARGO_TARGET_DIR", place.join("target"));
    })
}

/// Fails if the digests differ.
pub fn check(root: &Path) -> Result<()> {
    let place = env::temp_dir().join(format!("threadmesh-reproducible-{}", std::process::id()));
    let result = (|| {
        let (here, there) = (digests(root, |_| {})?, elsewhere(root, &place)?);
        ensure!(here == there, "the components differ:\n{here}\n{there}");
        println!("{here}");
        Ok(())
    })();
    fs::remove_dir_all(&place).ok();
    result
}
