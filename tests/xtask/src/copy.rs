//! Copies of the tree, in which something is changed and built without a trace in the tree itself.
//!
//! A copy has a build folder of its own. Cargo names what it builds by the path inside of the workspace, so that with one
//! folder for both it would take the copy's programs for those of the tree. What was built of crates of others is the same
//! in both, and is handed on ([`seed`]), so that the engine is not compiled once more.

use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How the names of the workspace's own packages start.
const OWN: [&str; 2] = ["threadmesh", "xtask"];
/// Where copies lie in the build folder of the tree.
const COPIES: &str = "copies";
/// How deep below a build folder cargo's folders of a profile lie: `guest-build/TARGET/PROFILE`.
const PROFILE_DEPTH_MAX: usize = 3;

/// A copy and its build folder, `target/copies/NAME`. Both stay, for the next run.
pub struct Copy {
    /// The root of the copy.
    pub tree: PathBuf,
    /// What is built of it.
    pub built: PathBuf,
}

impl Copy {
    /// Makes the copy `name` of the project at `root`, or brings it up to date; `change` is that of [`tree`].
    ///
    /// # Errors
    /// Those of [`tree`] and [`seed`].
    pub fn new(root: &Path, name: &str, change: impl Fn(&str, Vec<u8>) -> Result<Vec<u8>>) -> Result<Self> {
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let place = target.join(COPIES).join(name);
        let copy = Self { tree: place.join("tree"), built: place.join("target") };
        tree(root, &copy.tree, change)?;
        seed(&target, &copy.built)?;
        Ok(copy)
    }

    /// Runs cargo in the copy.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn cargo(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
        command.args(arguments).current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.built);
        command.output().context("cargo")
    }
}

/// The files that belong to the project at `root`: what git tracks and what it would, as they are in the working tree.
///
/// # Errors
/// Where git cannot list them.
pub fn names(root: &Path) -> Result<BTreeSet<String>> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output()
        .context("git lists the files")?;
    ensure!(listed.status.success(), "git cannot list the files of {}", root.display());
    let text = String::from_utf8(listed.stdout)?;
    Ok(text.split_terminator('\0').filter(|name| root.join(name).is_file()).map(Into::into).collect())
}

/// Makes `tree` a copy of what belongs to the project at `root`, each file as `change` makes it from its name and bytes.
/// A file that is as it should be keeps its time, so that a second copy builds no more than it must; everything else that
/// lies in `tree` goes.
///
/// # Errors
/// Where files cannot be listed, read or written, and those of `change`.
pub fn tree(root: &Path, tree: &Path, change: impl Fn(&str, Vec<u8>) -> Result<Vec<u8>>) -> Result<()> {
    let names = names(root)?;
    for name in &names {
        let bytes = change(name, fs::read(root.join(name))?)?;
        let to = tree.join(name);
        if fs::read(&to).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(to.parent().context("a file has a folder")?)?;
            fs::write(to, bytes)?;
        }
    }
    forget(tree, tree, &names)
}

/// Removes what the project does not have from `folder`: modules, tests and vectors of an earlier copy.
fn forget(tree: &Path, folder: &Path, names: &BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            forget(tree, &path, names)?;
            // Only an empty one goes.
            fs::remove_dir(&path).ok();
        } else if !names.contains(path.strip_prefix(tree)?.to_string_lossy().as_ref()) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Hands what the build folder `from` has of crates of others on to the build folder `to`. What is there already stays.
///
/// # Errors
/// Where files cannot be read or written.
pub fn seed(from: &Path, to: &Path) -> Result<()> {
    let mut folders = vec![(from.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        if folder.join(".fingerprint").is_dir() {
            seed_profile(&folder, &to.join(folder.strip_prefix(from)?))?;
        } else if depth < PROFILE_DEPTH_MAX && folder.is_dir() {
            let below = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
            // Copies have their own build folders, and hand nothing on.
            folders.extend(below.into_iter().filter(|path| !path.ends_with(COPIES)).map(|path| (path, depth + 1)));
        }
    }
    Ok(())
}

/// The same for one profile: fingerprints, what build scripts left, and the crates themselves, which all end with one hash.
fn seed_profile(from: &Path, to: &Path) -> Result<()> {
    let mut crates: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(from.join("deps"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hash = name.split('.').next().and_then(|stem| stem.rsplit_once('-')).map(|(_, hash)| hash.to_owned());
        crates.entry(hash.unwrap_or_default()).or_default().push(path);
    }
    fs::create_dir_all(to.join("deps"))?;
    for entry in fs::read_dir(from.join(".fingerprint"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if OWN.iter().any(|own| name.starts_with(own)) || to.join(".fingerprint").join(&name).exists() {
            continue;
        }
        let hash = name.rsplit_once('-').map_or("", |(_, hash)| hash);
        for path in crates.get(hash).into_iter().flatten() {
            let file = to.join("deps").join(path.file_name().context("a file has a name")?);
            // Compilers put a new file in the place of an old one, so that one file can stand in both folders.
            if !file.exists() && fs::hard_link(path, &file).is_err() {
                copy(path, &file)?;
            }
        }
        copy_folder(&from.join("build").join(&name), &to.join("build").join(&name))?;
        // Last: it says that the rest is there.
        copy_folder(&from.join(".fingerprint").join(&name), &to.join(".fingerprint").join(&name))?;
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let file = to.join(path.file_name().context("a file has a name")?);
        if path.is_dir() { copy_folder(&path, &file)? } else { copy(&path, &file)? }
    }
    Ok(())
}

/// Copies a file with its time, by which cargo tells what is older than what it was made from.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)?;
    let modified = fs::metadata(from)?.modified()?;
    Ok(File::options().write(true).open(to)?.set_modified(modified)?)
}

#[cfg(test)]
mod tests;
