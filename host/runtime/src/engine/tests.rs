use super::*;
use crate::tests_cache;

/// An object with as many members as allowed, the last one first: slow to sort, and large as a tree.
fn large() -> String {
    let members: Vec<String> = (0..65_000).rev().map(|number| format!("\"m{number:05}\":{}", number % 10)).collect();
    format!("{{{}}}", members.join(","))
}

fn core(deadline_ms: u64, memory_bytes_max: usize) -> WasmCore {
    let deadline = Duration::from_millis(deadline_ms);
    WasmCore::with(Options { deadline, memory_bytes_max, cache: tests_cache() }).unwrap()
}

#[test]
fn a_call_that_takes_too_long_is_stopped() {
    let slow = large();
    core(60_000, 64 << 20).session().unwrap().canonicalize(&slow).unwrap().unwrap();
    let core = core(1, 64 << 20);
    let stopped = (0..200).find_map(|_| {
        let mut session = core.session().unwrap();
        let error = session.canonicalize(&slow).err()?;
        Some((error, session.digest("{}")))
    });
    // Without the thread that ticks, nothing would ever be stopped.
    let (error, after) = stopped.expect("no call of more than a millisecond was stopped");
    assert_eq!(error, CoreError::Deadline { function: "canonicalize", limit_ms: 1 });
    assert!(matches!(after, Err(CoreError::Trap { function: "digest", .. })), "a stopped session answers no more");
}

#[test]
fn a_call_that_needs_too_much_memory_is_stopped() {
    let core = core(60_000, 3 << 20);
    let error = core.session().unwrap().canonicalize(&large()).unwrap_err();
    assert_eq!(error, CoreError::Memory { function: "canonicalize", limit_bytes: 3 << 20 });
    assert!(core.session().unwrap().digest("{}").unwrap().is_ok(), "the next session works");
}

#[test]
fn an_instance_that_has_grown_is_not_kept() {
    let core = core(60_000, 64 << 20);
    for (text, kept) in [("{}".to_owned(), true), (large(), false)] {
        core.session().unwrap().canonicalize(&text).unwrap().unwrap();
        assert_eq!(core.idle.take().is_some(), kept, "{} bytes", text.len());
    }
}
