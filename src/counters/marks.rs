//! Which slots of a table are marked: one bit per slot, walked in slot order.
//!
//! ```text
//! slot s = bit s mod 64 of word ⌊s / 64⌋
//! ```
//!
//! Exact, and never full. One bit per slot; marking is one word, finding the next mark reads 64 slots at a time (50,000 slots
//! without a mark: 800 words). Not a list through the slots: evicting a marked slot would break its chain.

use super::table::Slot;
use core::iter::successors;
use core::ops::Range;

/// A set of slots.
pub struct Marks {
    words: Box<[u64]>,
}

impl Marks {
    /// No marks, for slots below `slots`.
    pub fn new(slots: usize) -> Marks {
        Marks { words: vec![0; slots.div_ceil(64)].into_boxed_slice() }
    }

    /// Bytes that [`Marks::new`] allocates.
    pub fn memory_bytes(slots: u64) -> u64 {
        slots.div_ceil(64) * size_of::<u64>() as u64
    }

    /// Marks or unmarks a slot.
    pub fn set(&mut self, slot: Slot, marked: bool) {
        let bit = 1 << (slot.index() % 64);
        if let Some(word) = self.words.get_mut(slot.index() / 64) {
            *word = if marked { *word | bit } else { *word & !bit };
        }
    }

    /// Removes all marks.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The marked slots of a range.
    pub fn within(&self, slots: Range<usize>) -> impl Iterator<Item = Slot> {
        let marked = successors(self.next(slots.start), |slot| self.next(slot.index() + 1));
        marked.take_while(move |slot| slot.index() < slots.end)
    }

    /// The first marked slot at or after `from`.
    pub fn next(&self, from: usize) -> Option<Slot> {
        let mut word = self.words.get(from / 64)? & (u64::MAX << (from % 64));
        let mut at = from / 64;
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(Slot::at(at * 64 + word.trailing_zeros() as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(marks: &Marks) -> Vec<usize> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(slot) = marks.next(from) {
            found.push(slot.index());
            from = slot.index() + 1;
        }
        found
    }

    #[test]
    fn marks_are_walked_in_order_and_only_once() {
        let mut marks = Marks::new(300);
        for slot in [299, 0, 63, 64, 65, 128, 64] {
            marks.set(Slot::at(slot), true);
        }
        assert_eq!(walk(&marks), [0, 63, 64, 65, 128, 299]);
        marks.set(Slot::at(64), false);
        assert_eq!(walk(&marks), [0, 63, 65, 128, 299]);
        assert_eq!(marks.within(63..128).map(Slot::index).collect::<Vec<_>>(), [63, 65]);
        marks.clear();
        assert!(walk(&marks).is_empty());
    }

    #[test]
    fn slots_beyond_the_table_are_ignored() {
        let mut marks = Marks::new(64);
        marks.set(Slot::at(64), true);
        assert!(walk(&marks).is_empty());
        assert_eq!(marks.next(1 << 30), None);
    }
}
