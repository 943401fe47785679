//! No process outlives its call.

use super::{command::RECEIPT, *};

/// Starts every kind of process that might get away, and writes their ids into `pids`.
const FAMILY: &str = r#"
note() { echo "$1" >> pids; }
sleep 1000 & note $!
sh -c 'trap "" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' &
setsid sh -c 'echo $$ >> pids; exec sleep 1000' &
env -i /bin/sh -c 'setsid sh -c "echo \$\$ >> pids; exec sleep 1000" & exit' &
(setsid sh -c '(echo $(exec sh -c "echo \$PPID") >> pids; exec sleep 1000) & exit' &)
while [ "$(wc -l < pids)" -lt 5 ]; do sleep 0.01; done
"#;

/// The processes of the family: they are all still named by their pids while `alive` says so.
fn pids(place: &Place) -> Vec<i32> {
    let pids: Vec<i32> = place.lines("pids").iter().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(pids.len(), 5, "the whole family was there: {:?}", place.lines("pids"));
    pids
}

/// Whether a process runs in the folder of this test: a pid alone may have been given away again.
pub fn alive(place: &Place, pid: i32) -> bool {
    let cwd = fs::read_link(format!("/proc/{pid}/cwd"));
    cwd.is_ok_and(|cwd| cwd == fs::canonicalize(place.0.path()).unwrap())
}

fn assert_nobody_left(place: &Place) {
    for pid in pids(place) {
        assert!(!alive(place, pid), "process {pid} is left");
    }
}

#[test]
fn a_timeout_kills_the_whole_family() {
    let place = Place::new();
    let script = format!("{FAMILY}\necho ready > ready; sleep 1000");
    let profile = place.script(&script, "grace_ms = 100");
    let Outcome::Unknown(reason) = submit_within(&profile, &submission("1"), Duration::from_secs(8)) else {
        panic!("known");
    };
    assert_eq!(place.lines("ready"), ["ready"], "the family had time to start");
    assert_eq!(reason.code, "timeout");
    assert!(reason.detail.contains("was killed"), "emptiness is proven: {}", reason.detail);
    assert_nobody_left(&place);
}

#[test]
fn what_a_program_leaves_behind_is_ended_and_its_receipt_stands() {
    let place = Place::new();
    let profile = place.script(&format!("{FAMILY}\n{RECEIPT}"), "grace_ms = 100");
    assert_eq!(word(&submit(&profile, &submission("1"))), "submitted");
    assert_nobody_left(&place);
}

#[test]
fn too_much_output_kills_the_whole_family() {
    let place = Place::new();
    let profile = place.script(&format!("{FAMILY}\nexec cat /dev/zero"), "grace_ms = 0");
    assert_eq!(word(&submit(&profile, &submission("1"))), "unknown output-too-long");
    assert_nobody_left(&place);
}

#[test]
fn a_program_that_kills_its_carrier_wins_nothing() {
    let place = Place::new();
    let script = "echo $$ >> pids; sleep 1000 & echo $! >> pids; kill -9 $PPID; sleep 1000";
    let profile = place.script(script, "");
    assert_eq!(word(&submit(&profile, &submission("1"))), "unknown carrier-lost");
    for pid in place.lines("pids") {
        let pid: i32 = pid.parse().unwrap();
        assert!(!alive(&place, pid), "process {pid} is left");
    }
}

#[test]
fn a_signal_to_its_own_group_does_not_reach_the_carrier() {
    let place = Place::new();
    let profile = place.script("kill -9 0", "");
    assert_eq!(word(&submit(&profile, &submission("1"))), "unknown killed");
}

/// Settled point 3: absent-final needs a dead carrier, also when another host process asks.
#[test]
fn an_absence_is_not_final_while_a_process_of_the_call_lives() {
    let place = Place::new();
    let script = r#"echo '{"result":"absent-final","idempotencyKey":"adp_alive"}'"#;
    let profile = place.script(script, "can_query = true\nabsent_final = true");
    let mut straggler = std::process::Command::new("sleep");
    let mut straggler = straggler.arg("1000").env("THREADMESH_SUBMISSION", "sub_alive").spawn().unwrap();
    assert_eq!(answer(&query(&profile, &submission("alive"))), "absent-now carrier-alive");
    straggler.kill().unwrap();
    straggler.wait().unwrap();
    assert_eq!(answer(&query(&profile, &submission("alive"))), "absent-final");
}
