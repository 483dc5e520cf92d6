//! Which keys are spent? A direct-mapped memory of one worker: 1,024 places of 32 bytes, chosen by ten bits of the key.
//!
//! Of two keys of one place the later one stays; the other is asked about again. So a flood of keys costs shared calls
//! and never a wrong answer. One look per question.

use super::Charged;
use crate::hash::Key;
use crate::time::Nanos;

const PLACES: usize = 1024;

/// What is known of spent keys.
pub struct Memory {
    places: Box<[Place]>,
}

#[derive(Clone, Copy)]
struct Place {
    key: Key,
    charged: Charged,
    /// From then on it counts no more. 0 while the place is free.
    until: Nanos,
}

const FREE: Place =
    Place { key: Key(0), charged: Charged { before: 0, end: Nanos::ZERO }, until: Nanos::ZERO };

impl Memory {
    /// Bytes that [`Memory::new`] allocates.
    pub const BYTES: u64 = (PLACES * size_of::<Place>()) as u64;

    /// An empty memory.
    pub fn new() -> Memory {
        Memory { places: vec![FREE; PLACES].into_boxed_slice() }
    }

    /// What was said of a key, while that counts.
    pub fn find(&self, key: Key, now: Nanos) -> Option<Charged> {
        let place = self.places.get(index(key))?;
        (place.key == key && now < place.until).then_some(place.charged)
    }

    /// Remembers what was said of a key: until then, and not longer than the window lasts.
    pub fn put(&mut self, key: Key, charged: Charged, until: Nanos) {
        self.write(key, Place { key, charged, until: until.min(charged.end) });
    }

    /// Forgets a key.
    pub fn forget(&mut self, key: Key) {
        if self.places.get(index(key)).is_some_and(|place| place.key == key) {
            self.write(key, FREE);
        }
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.places.fill(FREE);
    }

    fn write(&mut self, key: Key, place: Place) {
        if let Some(old) = self.places.get_mut(index(key)) {
            *old = place;
        }
    }
}

/// Not the bits that are a family's tag.
fn index(key: Key) -> usize {
    (key.0 >> 32) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPENT: Charged = Charged { before: 20, end: Nanos(1_000) };

    #[test]
    fn a_spent_key_is_known_until_it_is_time_to_ask_and_no_longer_than_its_window() {
        let mut memory = Memory::new();
        assert_eq!(Memory::BYTES, 32 * 1024);
        memory.put(Key(1), SPENT, Nanos(10));
        assert_eq!(memory.find(Key(1), Nanos(9)), Some(SPENT));
        assert_eq!(memory.find(Key(1), Nanos(10)), None);
        memory.put(Key(1), SPENT, Nanos(2_000));
        assert_eq!(memory.find(Key(1), Nanos(999)), Some(SPENT));
        assert_eq!(memory.find(Key(1), Nanos(1_000)), None);
    }

    #[test]
    fn keys_of_one_place_displace_each_other_and_are_never_taken_for_each_other() {
        let mut memory = Memory::new();
        let (one, other) = (Key(7), Key(7 + (1024 << 32)));
        memory.put(one, SPENT, Nanos(10));
        assert_eq!(memory.find(other, Nanos(1)), None);
        memory.forget(other);
        assert_eq!(memory.find(one, Nanos(1)), Some(SPENT));
        memory.put(other, SPENT, Nanos(10));
        assert_eq!((memory.find(one, Nanos(1)), memory.find(other, Nanos(1))), (None, Some(SPENT)));
        memory.forget(other);
        assert_eq!(memory.find(other, Nanos(1)), None);
    }
}
