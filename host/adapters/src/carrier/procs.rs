//! Finding and signalling processes without hitting a stranger. Reads `/proc`; without one, nothing is found.
//!
//! A process is named by its pid *and* its start time, and is signalled through a pidfd that was compared with both after
//! it was opened: a pid that was reused in between is left alone.

use rustix::process::{Pid, Signal};
use std::{collections::HashMap, fs, path::Path};

/// A process as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proc {
    pid: i32,
    parent: i32,
    start: u64,
}

/// Every living descendant of this process, as far as the parent links go.
pub(crate) fn descendants() -> Vec<Proc> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mut by_parent: HashMap<i32, Vec<Proc>> = HashMap::new();
    for proc in all() {
        by_parent.entry(proc.parent).or_default().push(proc);
    }
    let (mut found, mut next) = (Vec::new(), vec![own]);
    while let Some(parent) = next.pop() {
        for proc in by_parent.remove(&parent).unwrap_or_default() {
            next.push(proc.pid);
            found.push(proc);
        }
    }
    found
}

/// Every living process whose initial environment has exactly this `NAME=value`. None if that cannot be looked up here.
/// Processes of other users cannot be read and are not found.
pub(crate) fn marked(variable: &str) -> Option<Vec<Proc>> {
    fs::metadata("/proc/self/environ").ok()?;
    let has = |proc: &Proc| {
        let environ = fs::read(format!("/proc/{}/environ", proc.pid)).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    };
    Some(all().into_iter().filter(has).collect())
}

/// Sends a signal to each that is still the process it was.
pub(crate) fn signal_all(procs: &[Proc], signal: Signal) {
    for proc in procs {
        signal_one(*proc, signal);
    }
}

#[cfg(target_os = "linux")]
fn signal_one(proc: Proc, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(proc.pid) else { return };
    let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // INVARIANT: the descriptor is compared after it was opened, so it cannot name a later process of the same pid.
    if read(proc.pid).is_some_and(|now| now.start == proc.start) {
        let _ = pidfd_send_signal(fd, signal);
    }
}

#[cfg(not(target_os = "linux"))]
fn signal_one(proc: Proc, signal: Signal) {
    if let Some(pid) = Pid::from_raw(proc.pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

fn all() -> Vec<Proc> {
    let Ok(entries) = fs::read_dir(Path::new("/proc")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(read).collect()
}

/// Reads `/proc/PID/stat`; none for a process that is gone or a zombie.
fn read(pid: i32) -> Option<Proc> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, also parentheses: the fields start after the last one.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let (state, parent, start) = (fields.first()?, fields.get(1)?, fields.get(19)?);
    if matches!(*state, "Z" | "X" | "x") {
        return None;
    }
    Some(Proc { pid, parent: parent.parse().ok()?, start: start.parse().ok()? })
}
