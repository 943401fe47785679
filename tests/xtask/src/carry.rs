//! Compiled code for a program to carry, so that it starts without a compiler and without a cache.
//!
//! `cargo xtask carry target/release/threadmesh`: the program is run once with an empty cache, and what it keeps there is put
//! behind the end of its own file. `host/runtime/src/engine/carried.rs` reads it. A program that carries some already gets
//! other code in its place.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What stands at the end of a file that carries code, behind the length of the code in eight bytes.
const MARK: &[u8; 16] = b"threadmesh code\n";

/// Puts code behind the end of `program`.
///
/// # Errors
/// Where the program does not run, keeps no code, or its file cannot be written.
pub fn run(program: &Path) -> Result<()> {
    let program = program.canonicalize().with_context(|| program.display().to_string())?;
    let content = fs::read(&program)?;
    let bare = without(&content);
    let next = program.with_extension("carrying");
    // The program itself may be running; a file that carries nothing is what compiles.
    fs::write(&next, bare)?;
    fs::set_permissions(&next, fs::metadata(&program)?.permissions())?;
    let code = compiled(&next).inspect_err(|_| drop(fs::remove_file(&next)))?;
    let carrying = [bare, &code, &(code.len() as u64).to_le_bytes(), MARK].concat();
    fs::write(&next, &carrying)?;
    fs::rename(&next, &program)?;
    println!("{}: {} bytes, {} of them compiled code", program.display(), carrying.len(), code.len());
    Ok(())
}

/// What a program keeps in an empty cache.
fn compiled(program: &Path) -> Result<Vec<u8>> {
    let cache = program.with_extension("cache");
    let _ = fs::remove_dir_all(&cache);
    let run = Command::new(program).args(["digest", "-"]).env("THREADMESH_CACHE_DIR", &cache).stdin(text()?).output();
    let run = run.with_context(|| program.display().to_string())?;
    ensure!(run.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&run.stderr));
    let kept: Vec<_> = fs::read_dir(&cache)?.flatten().map(|file| file.path()).collect();
    let [kept] = kept.as_slice() else { bail!("{} keeps {} files of compiled code", program.display(), kept.len()) };
    let code = fs::read(kept)?;
    fs::remove_dir_all(&cache)?;
    Ok(code)
}

/// A document to work on.
fn text() -> Result<fs::File> {
    Ok(fs::File::open(crate::root().join("spec/limits.json"))?)
}

/// A program without what it carries.
fn without(content: &[u8]) -> &[u8] {
    let bare = || {
        let (rest, mark) = content.split_last_chunk::<16>()?;
        let (rest, length) = rest.split_last_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        (mark == MARK).then(|| rest.get(..rest.len().checked_sub(length)?)).flatten()
    };
    bare().unwrap_or(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_carries_is_taken_off() {
        let carrying = [b"program".as_slice(), b"code", &4_u64.to_le_bytes(), MARK].concat();
        assert_eq!(without(&carrying), b"program");
        assert_eq!(without(b"program"), b"program");
        let wrong = [b"program".as_slice(), &40_u64.to_le_bytes(), MARK].concat();
        assert_eq!(without(&wrong), wrong);
    }
}
