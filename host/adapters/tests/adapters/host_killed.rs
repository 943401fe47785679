//! The host dies in the middle of a call. The carrier keeps the bound without it.

use super::{processes::alive, *};
use std::process::{Command, Stdio};

/// A host that makes one call, started by the test below and killed by it. As a test of its own it does nothing.
#[test]
fn host_entry() {
    if std::env::args().any(|argument| argument == "host_killed::host_entry") {
        let script = fs::read_to_string("script.sh").unwrap();
        let place = Place::new();
        fs::write(place.path("script.sh"), script).unwrap();
        let here = std::env::current_dir().unwrap();
        let profile = profile(&format!(
            "kind = \"command\"\nprogram = \"/bin/sh\"\nargs = [\"script.sh\"]\ncwd = {here:?}\ngrace_ms = 100"
        ));
        drop(adapter(&profile).submit(&submission("1"), Instant::now() + Duration::from_secs(8)));
    }
}

#[test]
fn no_process_outlives_the_deadline_of_a_host_that_was_killed() {
    let place = Place::new();
    let script = "echo $$ >> pids\nsetsid sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 1; done' &\n\
                  while [ $(wc -l < pids) -lt 2 ]; do sleep 0.01; done\necho ready > ready\nsleep 1000\n";
    fs::write(place.path("script.sh"), script).unwrap();
    let mut host = Command::new(std::env::current_exe().unwrap());
    host.args(["host_killed::host_entry", "--exact", "--nocapture"]).current_dir(place.0.path());
    let mut host = host.stdout(Stdio::null()).spawn().unwrap();
    wait_until("the call is under way", || place.lines("ready") == ["ready"]);
    host.kill().unwrap();
    host.wait().unwrap();
    let pids: Vec<i32> = place.lines("pids").iter().map(|line| line.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| alive(&place, *pid)), "they outlive the host");
    wait_until("the carrier has ended them", || !pids.iter().any(|pid| alive(&place, *pid)));
}
