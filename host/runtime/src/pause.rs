//! Named points at which a test can hold a process and kill it. Nothing in release builds.
//!
//! `THREADMESH_PAUSE=NAME[:N]` holds the process for good at the N-th passage of the point NAME (the first without N),
//! after a line `paused NAME` on standard error.

/// Passes the point `name`.
#[cfg(not(debug_assertions))]
pub fn point(_name: &'static str) {}

/// Passes the point `name`.
#[cfg(debug_assertions)]
pub fn point(name: &'static str) {
    use std::sync::atomic::{AtomicU64, Ordering};
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let Some((wanted, count)) = armed() else { return };
    if wanted == name && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *count {
        eprintln!("paused {name}");
        loop {
            std::thread::park();
        }
    }
}

#[cfg(debug_assertions)]
fn armed() -> Option<&'static (String, u64)> {
    static ARMED: std::sync::OnceLock<Option<(String, u64)>> = std::sync::OnceLock::new();
    let read = || {
        let text = std::env::var("THREADMESH_PAUSE").ok()?;
        let (name, count) = text.split_once(':').unwrap_or((&text, "1"));
        Some((name.to_owned(), count.parse().ok()?))
    };
    ARMED.get_or_init(read).as_ref()
}
