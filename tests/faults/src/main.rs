//! The processes of the fault tests: `worker JSON`, `writer JSON`, `rival JSON`, `ledger FOLDER ANSWER`. See the library.

use threadmesh_faults::{ledger, rival, worker, writer};

fn main() {
    threadmesh_adapters::carrier::intercept();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match *words.as_slice() {
        ["worker", orders] => worker::main(orders),
        ["writer", orders] => writer::main(orders),
        ["rival", orders] => rival::main(orders),
        ["ledger", folder, answer] => ledger::main(folder.as_ref(), answer),
        _ => Err("usage: threadmesh-faults worker JSON | writer JSON | rival JSON | ledger FOLDER ANSWER".into()),
    };
    if let Err(error) = ended {
        eprintln!("threadmesh-faults: {error}");
        std::process::exit(1);
    }
}
