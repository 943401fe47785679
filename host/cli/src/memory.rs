//! How the system's allocator keeps memory for this program.
//!
//! glibc gives threads heaps of their own, up to eight for each processor, and keeps in each most of what was freed there.
//! This program has many threads that mostly wait, any of which may hold a large document for a moment: a server that held
//! 4 MB was measured to have taken 59 MB for it, and to take more with time. With few heaps, and with large blocks given back
//! as soon as they are free, what it takes follows what it holds.

/// Sets the allocator up, where it is glibc's. To be called before there is a second thread: heaps that there are stay.
pub fn set_up() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in PARAMETERS {
        #[allow(unsafe_code)]
        // SAFETY: mallopt takes two numbers and touches nothing but the allocator's own settings. No other thread is there to
        // allocate meanwhile: this is called first in `main`. A setting that is refused stays as it was.
        unsafe {
            libc::mallopt(parameter, value);
        }
    }
}

/// What is set, each number in bytes but for the first one.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PARAMETERS: [(libc::c_int, libc::c_int); 3] = [
    // Heaps: two, since commits come one after the other and most else waits for them.
    (libc::M_ARENA_MAX, 2),
    // A block from this size on is a mapping of its own. Unset, the bound grows up to 32 MB with what is freed.
    (libc::M_MMAP_THRESHOLD, 256 << 10),
    // How much free memory a heap keeps at its end.
    (libc::M_TRIM_THRESHOLD, 1 << 20),
];
