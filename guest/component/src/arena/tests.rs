use super::{Arena, Memory, STEP};
use core::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

/// Memory of a fixed size, shown piece by piece.
struct Fixed {
    words: Box<[u128]>,
    shown: Cell<usize>,
}

impl Fixed {
    fn new(bytes: usize) -> Self {
        Self { words: vec![0; bytes / 16].into_boxed_slice(), shown: Cell::new(0) }
    }
}

impl Memory for Fixed {
    fn start(&self) -> usize {
        self.words.as_ptr() as usize
    }

    fn end(&self) -> usize {
        self.start() + self.shown.get()
    }

    fn grow(&self, bytes: usize) -> Option<usize> {
        let shown = self.shown.get() + bytes;
        (shown <= self.words.len() * 16).then(|| self.shown.set(shown))?;
        Some(self.end())
    }
}

/// A block that lives, and the byte that it is filled with.
struct Block {
    at: *mut u8,
    layout: Layout,
    fill: u8,
}

fn check(block: &Block) {
    for place in 0..block.layout.size() {
        // SAFETY: the block lives.
        assert_eq!(unsafe { *block.at.add(place) }, block.fill, "a block was written over");
    }
}

fn fill(block: &Block) {
    assert!(!block.at.is_null() && (block.at as usize).is_multiple_of(block.layout.align()));
    // SAFETY: the block lives.
    unsafe { block.at.write_bytes(block.fill, block.layout.size()) };
}

/// A few numbers that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

#[test]
fn blocks_keep_what_is_in_them_and_memory_grows_with_what_lives_at_once() {
    let arena = Arena::new(Fixed::new(8 * STEP));
    let mut dice = Dice(1);
    for call in 0..20 {
        let mut blocks: Vec<Block> = Vec::new();
        for step in 0..5_000 {
            let size = 1 << dice.roll(13) | dice.roll(64);
            let layout = Layout::from_size_align(size, 1 << dice.roll(5)).unwrap();
            match dice.roll(3) {
                0 if blocks.len() > 100 => {
                    let block = blocks.swap_remove(dice.roll(blocks.len()));
                    check(&block);
                    // SAFETY: it lives, and is forgotten.
                    unsafe { arena.dealloc(block.at, block.layout) };
                }
                1 if !blocks.is_empty() => {
                    let place = dice.roll(blocks.len());
                    let block = &mut blocks[place];
                    check(block);
                    let kept = block.layout.size().min(size);
                    // SAFETY: it lives.
                    block.at = unsafe { arena.realloc(block.at, block.layout, size) };
                    let whole = Layout::from_size_align(size, block.layout.align()).unwrap();
                    block.layout = Layout::from_size_align(kept, whole.align()).unwrap();
                    check(block);
                    block.layout = whole;
                    fill(block);
                }
                _ if blocks.len() < 300 => {
                    // SAFETY: the size is not zero.
                    let block = Block { at: unsafe { arena.alloc(layout) }, layout, fill: step as u8 };
                    fill(&block);
                    blocks.push(block);
                }
                _ => {}
            }
        }
        for block in blocks {
            check(&block);
            // SAFETY: as above.
            unsafe { arena.dealloc(block.at, block.layout) };
        }
        // The same place again: nothing of the call is left.
        let layout = Layout::from_size_align(64, 8).unwrap();
        // SAFETY: as above.
        let first = unsafe { arena.alloc(layout) };
        assert_eq!(first as usize, arena.memory.start(), "after call {call}");
        // SAFETY: as above.
        unsafe { arena.dealloc(first, layout) };
    }
    assert!(arena.memory.shown.get() <= 6 * STEP, "{} bytes", arena.memory.shown.get());
}

#[test]
fn no_memory_is_no_block() {
    let arena = Arena::new(Fixed::new(STEP));
    // SAFETY: the size is not zero.
    unsafe {
        let large = Layout::from_size_align(STEP, 1).unwrap();
        let first = arena.alloc(large);
        assert!(!first.is_null() && arena.alloc(large).is_null());
        let small = Layout::from_size_align(1, 1).unwrap();
        assert!(arena.alloc(small).is_null());
        arena.dealloc(first, large);
        assert!(!arena.alloc(small).is_null());
    }
}
