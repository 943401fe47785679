//! Builds the guest twice (worlds `core` and `verifier`) for `wasm32-unknown-unknown` in a nested cargo with its own
//! target directory and profile, and writes the bytes' digests as constants.
//!
//! The toolchain's own `wasm-component-ld` is the linker, so that a component comes out directly and imports nothing.
//! Paths of this machine are remapped and settings from outside are kept away: the digest must not depend on where, by
//! whom or through which registry mirror the guest was built. (Cargo leaves `--remap-path-prefix` out of what it hashes
//! into symbol names.)

use sha2::{Digest, Sha256};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const TARGET: &str = "wasm32-unknown-unknown";
const WORLDS: [&str; 2] = ["core", "verifier"];
/// What the guest is made of, from the root of the workspace.
const SOURCES: [&str; 8] = [
    "guest/protocol/src",
    "guest/protocol/Cargo.toml",
    "guest/component/src",
    "guest/component/Cargo.toml",
    "wit",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
];
/// Settings of cargo that say where things come from, not how they are built.
const KEPT: [&str; 6] =
    ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_", "CARGO_MAKEFLAGS"];

fn main() {
    let root = Path::new(&var("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    println!("cargo::rerun-if-env-changed=CARGO_HOME");
    let sysroot = sysroot();
    ensure_target(&sysroot);
    let out = PathBuf::from(var("OUT_DIR"));
    // OUT_DIR is <target>/<profile>/build/<package>/out. The directory is our own: sharing it hangs on cargo's lock.
    let target_dir = out.ancestors().nth(4).expect("OUT_DIR has the usual depth").join("guest-build");
    let mut constants = String::new();
    for world in WORLDS {
        let bytes = build(&root, &target_dir, &sysroot, world);
        fs::write(out.join(format!("{world}.wasm")), &bytes).expect("OUT_DIR is writable");
        constants += &constants_of(world, &bytes);
    }
    fs::write(out.join("artifact.rs"), constants).expect("OUT_DIR is writable");
}

fn var(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

fn sysroot() -> PathBuf {
    let output = Command::new(var("RUSTC")).args(["--print", "sysroot"]).output().expect("rustc runs");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}

/// Adds the target where rustup does not do it by itself (`RUSTUP_AUTO_INSTALL=0`).
fn ensure_target(sysroot: &Path) {
    let installed = || sysroot.join("lib/rustlib").join(TARGET).join("lib").is_dir();
    if installed() {
        return;
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    assert!(
        installed(),
        "\nThe guest needs the Rust target {TARGET}, and adding it failed ({added:?}).\n\
         Run this once, then build again:\n\n    rustup target add {TARGET}\n"
    );
}

/// Builds one world and returns the component.
fn build(root: &Path, target_dir: &Path, sysroot: &Path, world: &str) -> Vec<u8> {
    let linker = sysroot.join("lib/rustlib").join(var("HOST")).join("bin/wasm-component-ld");
    assert!(linker.is_file(), "the toolchain has no {}: use the one that rust-toolchain.toml pins", linker.display());
    let mut cargo = Command::new(var("CARGO"));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_setting) {
            cargo.env_remove(name);
        }
    }
    let status = cargo
        .current_dir(root)
        .args(["build", "--package", "threadmesh-component", "--lib", "--locked", "--quiet"])
        .args(["--profile", profile(world), "--target", TARGET, "--features", &format!("world-{world}")])
        .arg("--target-dir")
        .arg(target_dir)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", &linker)
        .env("CARGO_ENCODED_RUSTFLAGS", flags(root, sysroot, world))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "building the guest (world {world}) failed: {status}");
    let built = target_dir.join(TARGET).join(profile(world)).join("threadmesh_component.wasm");
    fs::read(built).expect("the component was built")
}

/// The core is built for speed; the verifier for size, since browsers load it.
fn profile(world: &str) -> &'static str {
    if world == "verifier" { "guest-small" } else { "guest" }
}

/// Whether a variable changes how cargo builds: flags, wrappers, profiles and what the outer cargo tells this script.
fn is_setting(name: &str) -> bool {
    let cargo = name.starts_with("CARGO") && !KEPT.iter().any(|kept| name.starts_with(kept));
    cargo || name.starts_with("RUSTC") || name == "RUSTFLAGS" || name == "RUSTDOCFLAGS"
}

/// Flags of the guest, separated as cargo wants them.
fn flags(root: &Path, sysroot: &Path, world: &str) -> String {
    let mut map = vec![(root.to_owned(), "/threadmesh"), (sysroot.to_owned(), "/rust")];
    if let Some(home) = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo"))) {
        // One directory per registry; a mirror has another name, and its packages are the same.
        let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
        map.extend(registries.map(|registry| (registry.path(), "/crates")));
        map.push((home, "/cargo"));
    }
    // The compiler takes the last prefix that fits, so the longest comes last.
    map.sort_by_key(|(path, _)| path.as_os_str().len());
    let flags = map.iter().map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()));
    // Warnings about the sources belong to the ordinary build of the library.
    let mut flags: Vec<String> = flags.chain(["-Awarnings".into()]).collect();
    if world == "verifier" {
        flags.push("--cfg=sha2_backend_soft=\"compact\"".into());
    }
    flags.join("\x1f")
}

fn constants_of(world: &str, bytes: &[u8]) -> String {
    let name = world.to_uppercase();
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "/// The `{world}` component.\n\
         pub const {name}: &[u8] = include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{world}.wasm\"));\n\
         /// `sha256:` and the hex digits of the SHA-256 of [`{name}`].\n\
         pub const {name}_DIGEST: &str = \"sha256:{hex}\";\n"
    )
}
