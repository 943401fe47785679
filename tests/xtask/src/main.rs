//! `cargo xtask`: what keeps generated files and the repository in step.

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["codegen"] => xtask::codegen::write(&xtask::root()),
        ["codegen", "--check"] => match xtask::codegen::stale(&xtask::root())?.as_slice() {
            [] => Ok(()),
            stale => bail!("not fresh: {}; run `cargo xtask codegen`", stale.join(", ")),
        },
        ["coverage"] => {
            let coverage = xtask::coverage::coverage(&xtask::root())?;
            print!("{coverage}");
            if coverage.complete() { Ok(()) } else { bail!("not every rule has an accepting and a rejecting vector") }
        }
        ["grow"] => xtask::grow::check(&xtask::root()),
        ["vectors-against", rest @ ..] => xtask::against::run(&xtask::root(), &xtask::against::Wanted::parse(rest)?),
        ["bench-pairs", rest @ ..] => xtask::pairs::run(&xtask::pairs::Wanted::parse(rest)?),
        ["carry", program] => xtask::carry::run(program.as_ref()),
        ["lines"] => xtask::lines::run(&xtask::root(), None),
        ["lines", other] => xtask::lines::run(&xtask::root(), Some(other.as_ref())),
        ["faults", rest @ ..] => xtask::faults::run(&xtask::root(), &xtask::faults::Wanted::parse(rest)?),
        ["reproducible"] => xtask::reproducible::check(&xtask::root()),
        _ => bail!(
            "usage: cargo xtask codegen [--check] | coverage | faults | grow | reproducible | vectors-against DIR | bench-pairs OLD NEW | carry PROGRAM | lines [OTHER]"
        ),
    }
}
