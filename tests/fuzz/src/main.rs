//! Seeds for a fuzzer, and single inputs on the stable toolchain.

use std::{env, fs, path::Path, process::ExitCode};
use threadmesh_fuzz::{TARGETS, seeds, targets};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["seeds", folder] => write_seeds(Path::new(folder)),
        ["run", target, files @ ..] => run(target, files),
        _ => {
            eprintln!("usage: threadmesh-fuzz seeds FOLDER | run TARGET FILE…");
            ExitCode::from(2)
        }
    }
}

/// A folder of seeds for each target, and `words.dict`.
fn write_seeds(folder: &Path) -> ExitCode {
    for target in TARGETS {
        let own = folder.join(target.name);
        fs::create_dir_all(&own).expect("a folder for seeds");
        let seeds = seeds::of(target.name);
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(own.join(format!("seed-{number:05}")), seed).expect("a seed is written");
        }
        println!("{}: {} seeds", target.name, seeds.len());
    }
    let words: String = seeds::words().iter().map(|word| format!("\"{word}\"\n")).collect();
    fs::write(folder.join("words.dict"), words).expect("the words are written");
    ExitCode::SUCCESS
}

fn run(target: &str, files: &[&str]) -> ExitCode {
    let Some(target) = targets::find(target) else {
        eprintln!("there is no target {target}");
        return ExitCode::from(2);
    };
    for file in files {
        let data = fs::read(file).expect("the input is readable");
        println!("{file}: {}", if (target.run)(&data) { "accepted" } else { "refused" });
    }
    ExitCode::SUCCESS
}
