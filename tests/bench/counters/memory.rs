//! How many bytes are allocated: what a structure takes, whatever the system makes of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::contenders::Contender;

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Bytes allocated now.
pub fn live() -> usize {
    LIVE.load(Relaxed)
}

/// Bytes in MiB.
pub fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Bytes of a contender that was made when so many were allocated.
pub fn taken_by(contender: &dyn Contender, before: usize) -> usize {
    contender.own_bytes().map_or(live() - before, |bytes| bytes as usize)
}

/// The system's allocator, keeping count.
pub struct Counting;

#[allow(unsafe_code, reason = "an allocator is unsafe by its interface; this one passes every call on")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size, Relaxed);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.realloc(at, layout, size) }
    }
}
