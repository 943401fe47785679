//! `deployments FILE [ADDRESS]`: the service as a process of its own. Prints its origin, and ends with its standard input.

use std::{
    io::{self, Read, Write},
    path::Path,
    process::ExitCode,
};
use threadmesh_services::Deployments;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, rest @ ..] = arguments.as_slice() else {
        eprintln!("deployments FILE [ADDRESS]");
        return ExitCode::from(2);
    };
    match serve(Path::new(file), rest.first().map_or("127.0.0.1:0", String::as_str)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("deployments: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(file: &Path, address: &str) -> io::Result<()> {
    let service = Deployments::start(file, address)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", service.origin())?;
    out.flush()?;
    io::stdin().lock().read_to_end(&mut Vec::new()).map(drop)
}
