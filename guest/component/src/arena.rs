//! The allocator of the component: an arena that is empty again as soon as nothing lives in it, which is after every call
//! that leaves nothing for the next one.
//!
//! Blocks come in powers of two. What is freed while a call goes on waits in a list of its size and is taken from there
//! first, so that memory grows with what lives at once and not with what was ever asked for. When the last block is freed
//! the lists are forgotten and the arena starts at its beginning: nothing of one call lies in the way of the next, and the
//! same call finds the same addresses.
//!
//! The component has one thread.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::null_mut;

/// The smallest block, and what every block is aligned to.
const LEAST: usize = 16;
/// One list for each power of two that an address can have.
const SIZES: usize = usize::BITS as usize;
/// How much memory is asked for at once, at least.
const STEP: usize = 1 << 20;

/// Where the memory comes from.
pub(crate) trait Memory {
    /// The first address that may be used.
    fn start(&self) -> usize;
    /// The end of what is there.
    fn end(&self) -> usize;
    /// Adds `bytes` or more behind the end, where that is possible; the new end.
    fn grow(&self, bytes: usize) -> Option<usize>;
}

/// The allocator.
pub(crate) struct Arena<M> {
    memory: M,
    state: UnsafeCell<State>,
}

struct State {
    /// Where the next block is cut off, 0 before the first, and where the memory ends.
    next: usize,
    end: usize,
    /// Blocks that live.
    live: usize,
    /// The freed blocks of each size: each holds the address of the next one.
    lists: [usize; SIZES],
    /// A bit for each list that is not empty.
    listed: usize,
}

// SAFETY: the component has one thread, and no method is called from within another.
unsafe impl<M> Sync for Arena<M> {}

impl<M: Memory> Arena<M> {
    /// With nothing in it.
    pub(crate) const fn new(memory: M) -> Self {
        let state = State { next: 0, end: 0, live: 0, lists: [0; SIZES], listed: 0 };
        Self { memory, state: UnsafeCell::new(state) }
    }

    /// Cuts a block of `size` off, a power of two, at a multiple of `align`.
    fn cut(&self, state: &mut State, size: usize, align: usize) -> Option<usize> {
        if state.end == 0 {
            (state.next, state.end) = (self.memory.start(), self.memory.end());
        }
        let at = state.next.checked_add(align - 1)? & !(align - 1);
        let next = at.checked_add(size)?;
        if next > state.end {
            state.end = self.memory.grow((next - state.end).max(STEP))?;
        }
        state.next = next;
        Some(at)
    }
}

/// The size of the block for a layout: the power of two that holds it.
fn size_of(layout: Layout) -> Option<usize> {
    layout.size().max(layout.align()).max(LEAST).checked_next_power_of_two()
}

// SAFETY: a block is cut off behind all others or taken from the list of its size, into which only `dealloc` puts blocks
// that nobody uses; so no two that live overlap. Blocks are as large and as aligned as was asked for.
unsafe impl<M: Memory> GlobalAlloc for Arena<M> {
    // Not at every place that allocates: the component would be a third larger.
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: one thread, and no reference to the state outlives a method.
        let state = unsafe { &mut *self.state.get() };
        let Some(size) = size_of(layout) else { return null_mut() };
        let list = size.trailing_zeros() as usize;
        let at = if state.listed & size == 0 {
            match self.cut(state, size, layout.align().max(LEAST)) {
                Some(at) => at,
                None => return null_mut(),
            }
        } else {
            let at = state.lists[list];
            // SAFETY: a listed block holds the address of the next one.
            state.lists[list] = unsafe { *(at as *const usize) };
            if state.lists[list] == 0 {
                state.listed &= !size;
            }
            at
        };
        state.live += 1;
        at as *mut u8
    }

    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        let state = unsafe { &mut *self.state.get() };
        state.live -= 1;
        if state.live == 0 {
            (state.next, state.listed) = (self.memory.start(), 0);
            state.lists = [0; SIZES];
            return;
        }
        let Some(size) = size_of(layout) else { return };
        let at = block as usize;
        if at + size == state.next {
            state.next = at;
            return;
        }
        let list = size.trailing_zeros() as usize;
        // SAFETY: nobody uses the block any more, and it holds an address: it is no smaller than LEAST.
        unsafe { *(at as *mut usize) = state.lists[list] };
        state.lists[list] = at;
        state.listed |= size;
    }

    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return null_mut() };
        let (Some(has), Some(needs)) = (size_of(layout), size_of(wanted)) else { return null_mut() };
        if has == needs {
            return block;
        }
        {
            // SAFETY: as in `alloc`.
            let state = unsafe { &mut *self.state.get() };
            let at = block as usize;
            if at + has == state.next && at + needs <= state.end {
                state.next = at + needs;
                return block;
            }
        }
        // SAFETY: the new block is another one, and both are as large as what is copied.
        unsafe {
            let new = self.alloc(wanted);
            if !new.is_null() {
                core::ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// The linear memory of the component, behind its stack and its constants.
#[cfg(target_arch = "wasm32")]
pub(crate) struct Linear;

#[cfg(target_arch = "wasm32")]
impl Memory for Linear {
    fn start(&self) -> usize {
        unsafe extern "C" {
            static __heap_base: u8;
        }
        &raw const __heap_base as usize
    }

    fn end(&self) -> usize {
        core::arch::wasm32::memory_size(0) * PAGE
    }

    #[cold]
    fn grow(&self, bytes: usize) -> Option<usize> {
        let pages = bytes.div_ceil(PAGE);
        let before = core::arch::wasm32::memory_grow(0, pages);
        (before != usize::MAX).then(|| (before + pages) * PAGE)
    }
}

#[cfg(target_arch = "wasm32")]
const PAGE: usize = 65_536;

#[cfg(test)]
mod tests;
