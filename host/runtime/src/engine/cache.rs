//! Compiled code, kept between starts so that a start does not pay for the compiler.
//!
//! Loading it runs what stands in the file. So it is taken only from a directory and a file that belong to this user and
//! that nobody else can touch, and only if its digest says that it is whole. Where that cannot be had, nothing is kept.

#[cfg(test)]
mod tests;

use super::{Cache, Origin};
use crate::private::PrivateDir;
use sha2::{Digest, Sha256};
use std::{
    env,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::PathBuf,
};
use wasmtime::{Engine, component::Component};

/// Larger ones are none of ours.
const BYTES_MAX: u64 = 64 << 20;
/// How many are kept: other versions of the component or of the engine may be in use too.
const FILES_MAX: usize = 8;

/// The component `bytes`, whose digest is `digest`, compiled or loaded.
pub(super) fn component(
    engine: &Engine,
    bytes: &[u8],
    digest: &str,
    cache: &Cache,
) -> wasmtime::Result<(Component, Origin)> {
    if *cache == Cache::Standard
        && let Some(component) =
            super::carried::read(BYTES_MAX).and_then(|code| unpack(engine, &code, &header(engine, digest)))
    {
        return Ok((component, Origin::Carried));
    }
    let dir = match directory(cache).map(|path| PrivateDir::open(&path)) {
        Some(Ok(dir)) => dir,
        Some(Err(error)) => return Ok((Component::new(engine, bytes)?, Origin::NotKept(error.to_string()))),
        None => return Ok((Component::new(engine, bytes)?, Origin::NotKept("no cache directory".into()))),
    };
    let header = header(engine, digest);
    let name = format!("{}.cwasm", hex(&Sha256::digest(&header)[..16]));
    if let Some(component) = load(engine, &dir, &name, &header) {
        return Ok((component, Origin::Loaded));
    }
    let component = Component::new(engine, bytes)?;
    let kept = component
        .serialize()
        .map_err(|error| error.to_string())
        .and_then(|code| keep(&dir, &name, &header, &code).map_err(|error| error.to_string()));
    Ok((component, kept.map_or_else(Origin::NotKept, |()| Origin::Compiled)))
}

/// Where compiled code is kept.
fn directory(cache: &Cache) -> Option<PathBuf> {
    match cache {
        Cache::Off => None,
        Cache::At(path) => Some(path.clone()),
        Cache::Standard => match env::var_os("THREADMESH_CACHE_DIR") {
            Some(path) if path.is_empty() => None,
            Some(path) => Some(path.into()),
            None => {
                let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
                Some(cache.or_else(|| Some(env::home_dir()?.join(".cache")))?.join("threadmesh"))
            }
        },
    }
}

/// What the code was made of and for: the component, the engine's version and settings, the processor's features.
fn header(engine: &Engine, digest: &str) -> Vec<u8> {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("threadmesh compiled component 1\n{digest}\n{:016x}\n", hasher.finish()).into_bytes()
}

/// A kept component, if it is whole and for this engine.
fn load(engine: &Engine, dir: &PrivateDir, name: &str, header: &[u8]) -> Option<Component> {
    unpack(engine, &dir.read(name, BYTES_MAX)?, header)
}

/// The component in a file of this program or of the cache, if it is whole and for this engine.
fn unpack(engine: &Engine, content: &[u8], header: &[u8]) -> Option<Component> {
    let (sum, code) = content.strip_prefix(header)?.split_first_chunk::<32>()?;
    if Sha256::digest(code)[..] != sum[..] {
        return None;
    }
    #[allow(unsafe_code)]
    // SAFETY: the bytes must be what `Component::serialize` gave. They were read from a file that belongs to this user
    // and that no other account can write, under a directory of the same kind, reached by descriptors and without
    // following links, or from the file that this very program runs from; their SHA-256 is the one that this program wrote with them, so they are not damaged; and the
    // engine itself refuses what another version of it or other settings made. Whoever can forge all of this already
    // runs code as this user, or has changed the program.
    let component = unsafe { Component::deserialize(engine, code) };
    component.ok()
}

/// Keeps compiled code, and removes the oldest where there are too many.
fn keep(dir: &PrivateDir, name: &str, header: &[u8], code: &[u8]) -> io::Result<()> {
    dir.write(name, &[header, &Sha256::digest(code), code])?;
    let files = dir.list()?;
    for old in files.iter().rev().filter(|file| file.name != name).skip(FILES_MAX - 1) {
        dir.remove(&old.name);
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
