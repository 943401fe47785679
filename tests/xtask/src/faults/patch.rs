//! A deliberate fault: a patch under two lines that say what it breaks and what catches it.

use anyhow::{Context, Result, ensure};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the patches are.
const FOLDER: &str = "tests/faults/patches";

/// One fault.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The number that its file starts with.
    pub number: u32,
    /// The rest of its file's name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// What it breaks, in words.
    pub breaks: String,
    /// What catches it: each of them does.
    pub caught_by: Vec<Catch>,
}

/// Something that catches a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Catch {
    /// `vectors`: a conformance vector fails, over the rules without the sandbox.
    Vectors,
    /// `lives A..B`: a simulated life with one of these seeds violates what must hold.
    Lives(String),
    /// `test ARGUMENTS`: a test fails that `cargo test ARGUMENTS` runs.
    Test(Vec<String>),
}

impl Catch {
    fn parse(text: &str) -> Result<Self> {
        let (kind, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        match kind {
            "vectors" => Ok(Self::Vectors),
            "lives" => Ok(Self::Lives(rest.trim().to_owned())),
            "test" => Ok(Self::Test(rest.split_whitespace().map(Into::into).collect())),
            other => anyhow::bail!("{other:?} is none of vectors, lives and test"),
        }
    }
}

impl fmt::Display for Catch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vectors => write!(f, "vectors"),
            Self::Lives(seeds) => write!(f, "lives {seeds}"),
            Self::Test(arguments) => write!(f, "test {}", arguments.join(" ")),
        }
    }
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let caught_by: Vec<String> = self.caught_by.iter().map(ToString::to_string).collect();
        write!(f, "{:02} {}: {} [{}]", self.number, self.name, self.breaks, caught_by.join("; "))
    }
}

/// Reads a patch from its file.
///
/// # Errors
/// Where the file's name has no number, or its first two lines are not as they must be.
pub fn read(path: &Path) -> Result<Patch> {
    let told = || path.display().to_string();
    let stem = path.file_stem().and_then(|stem| stem.to_str()).with_context(told)?;
    let (number, name) = stem.split_once('-').with_context(told)?;
    let text = fs::read_to_string(path)?;
    let mut lines = text.lines();
    let mut header = |start: &str| {
        let line = lines.next().and_then(|line| line.strip_prefix(start));
        line.with_context(|| format!("{}: no line {start:?}", path.display()))
    };
    let (breaks, caught_by) = (header("Breaks: ")?, header("Caught by: ")?);
    Ok(Patch {
        number: number.parse().with_context(told)?,
        name: name.to_owned(),
        path: path.to_owned(),
        breaks: breaks.to_owned(),
        caught_by: caught_by.split(';').map(Catch::parse).collect::<Result<_>>()?,
    })
}

/// All patches in the order of their numbers.
///
/// # Errors
/// Where one cannot be read, or two have the same number.
pub fn all(root: &Path) -> Result<Vec<Patch>> {
    let mut patches = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "patch") {
            patches.push(read(&path)?);
        }
    }
    patches.sort_by_key(|patch| patch.number);
    let twice = patches.windows(2).find(|pair| pair[0].number == pair[1].number);
    ensure!(twice.is_none(), "two patches have one number: {twice:?}");
    Ok(patches)
}

/// Those that do not apply to the tree at `root`, each with the reason.
///
/// # Errors
/// Where git cannot be run.
pub fn unfit(root: &Path, patches: &[Patch]) -> Result<Vec<String>> {
    let mut unfit = Vec::new();
    for patch in patches {
        if let Some(why) = apply(root, patch, &["--check"])? {
            unfit.push(format!("{:02} {}: {why}", patch.number, patch.name));
        }
    }
    Ok(unfit)
}

/// Applies a patch to the tree at `root` with these options of `git apply`; the reason where it does not apply.
pub fn apply(root: &Path, patch: &Patch, options: &[&str]) -> Result<Option<String>> {
    // One line of context is enough: the lines that a fault replaces are compared as well.
    let output = Command::new("git")
        .args(["apply", "-C1", "--whitespace=nowarn"])
        .args(options)
        .arg(&patch.path)
        .current_dir(root)
        // A scratch copy inside of a checkout is no part of it.
        .env("GIT_CEILING_DIRECTORIES", root.parent().unwrap_or(root))
        .output()?;
    Ok((!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")))
}
