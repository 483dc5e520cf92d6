//! After warm-up nothing allocates: memory does not grow with traffic.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing)] // a test fails by panicking

mod bans;
mod counters;
mod engine;
mod exchange;
#[path = "../support/mod.rs"]
mod support;
mod surge;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread asks of it.
struct Counting;

#[allow(unsafe_code, reason = "an allocator is unsafe by its interface; this one passes every call on")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        HELD.with(|held| held.set(held.get().wrapping_add(layout.size() as u64)));
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.with(|held| held.set(held.get().wrapping_sub(layout.size() as u64)));
        // SAFETY: as the caller's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        HELD.with(|held| held.set(held.get().wrapping_add(size as u64).wrapping_sub(layout.size() as u64)));
        // SAFETY: as the caller's.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread during `act`.
fn allocations(act: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    act();
    ALLOCATIONS.with(Cell::get) - before
}

/// Bytes that this thread holds after `act` and did not before.
fn bytes(act: impl FnOnce()) -> u64 {
    let before = HELD.with(Cell::get);
    act();
    HELD.with(Cell::get).wrapping_sub(before)
}
