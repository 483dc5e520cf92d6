//! A register: values by id, in a fixed room. Exact: what is entered is found until it is struck out, nothing is evicted,
//! and what finds no room is not entered.
//!
//! One slab of entries, chained from `2^k >= room` heads: to enter, find and strike out takes one step per entry of the
//! same chain, one on average. Ids that a client can choose must be hashed by the caller; ids that the host counts up are
//! spread by [`mix`].

use crate::hash::mix;

/// The end of a chain, and of the free ones.
const END: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Entry<T> {
    id: u64,
    next: u32,
    value: T,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Register<T> {
    heads: Box<[u32]>,
    entries: Box<[Entry<T>]>,
    free: u32,
    len: usize,
}

impl<T: Clone + Default> Register<T> {
    /// Room for so many.
    pub fn new(room: u32) -> Register<T> {
        let next = |at: u32| if at + 1 < room { at + 1 } else { END };
        Register {
            heads: vec![END; heads(room)].into(),
            entries: (0..room).map(|at| Entry { id: 0, next: next(at), value: T::default() }).collect(),
            free: if room > 0 { 0 } else { END },
            len: 0,
        }
    }

    /// Bytes that [`Register::new`] allocates, exactly.
    pub const fn memory_bytes(room: u32) -> u64 {
        heads(room) as u64 * size_of::<u32>() as u64 + room as u64 * size_of::<Entry<T>>() as u64
    }

    /// How many are entered.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is none entered?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of an id.
    pub fn get(&self, id: u64) -> Option<&T> {
        self.entries.get(self.find(id)?.at as usize).map(|entry| &entry.value)
    }

    /// The value of an id, to be changed.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        let place = self.find(id)?;
        self.entries.get_mut(place.at as usize).map(|entry| &mut entry.value)
    }

    /// Enters a value, in place of the one that the id has. `false`: there is no room.
    pub fn enter(&mut self, id: u64, value: T) -> bool {
        if let Some(there) = self.get_mut(id) {
            *there = value;
            return true;
        }
        let (at, head) = (self.free, self.head(id));
        let Some(entry) = self.entries.get_mut(at as usize) else { return false };
        let Some(first) = self.heads.get_mut(head) else { return false };
        self.free = entry.next;
        *entry = Entry { id, next: core::mem::replace(first, at), value };
        self.len += 1;
        true
    }

    /// Strikes an id out, and gives back its value.
    pub fn strike(&mut self, id: u64) -> Option<T> {
        let Place { at, before } = self.find(id)?;
        let head = self.head(id);
        let entry = self.entries.get_mut(at as usize)?;
        let value = core::mem::take(&mut entry.value);
        let next = core::mem::replace(&mut entry.next, self.free);
        self.free = at;
        self.len -= 1;
        match self.entries.get_mut(before as usize) {
            Some(entry) => entry.next = next,
            None => *self.heads.get_mut(head)? = next,
        }
        Some(value)
    }

    fn find(&self, id: u64) -> Option<Place> {
        let (mut before, mut at) = (END, *self.heads.get(self.head(id))?);
        while let Some(entry) = self.entries.get(at as usize) {
            if entry.id == id {
                return Some(Place { at, before });
            }
            (before, at) = (at, entry.next);
        }
        None
    }

    fn head(&self, id: u64) -> usize {
        mix(id) as usize & (self.heads.len() - 1)
    }
}

/// Where an entry is, and the one before it in its chain.
#[derive(Clone, Copy)]
struct Place {
    at: u32,
    before: u32,
}

const fn heads(room: u32) -> usize {
    let room = if room == 0 { 1 } else { room };
    room.next_power_of_two() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_finds_no_room_is_not_entered_and_finds_it_when_another_is_gone() {
        let mut register = Register::new(2);
        assert!(register.enter(1, 'a') && register.enter(2, 'b'));
        assert!(!register.enter(3, 'c'));
        assert!(register.enter(2, 'd'), "who is there already has its room");
        assert_eq!(register.strike(1), Some('a'));
        assert!(register.enter(3, 'c'));
        assert_eq!([1, 2, 3].map(|id| register.get(id).copied()), [None, Some('d'), Some('c')]);
    }

    #[test]
    fn a_register_without_room_is_empty() {
        let mut register = Register::new(0);
        assert!(!register.enter(1, 1u8) && register.strike(1).is_none() && register.is_empty());
    }

    proptest! {
        #[test]
        fn it_is_a_map_with_an_end(acts in proptest::collection::vec((0u8..3, 0u64..20, any::<u16>()), 0..300)) {
            let (mut register, mut model) = (Register::new(8), [None; 20]);
            for (act, id, value) in acts {
                match act {
                    0 => {
                        let fits = model.iter().flatten().count() < 8 || model[id as usize].is_some();
                        prop_assert_eq!(register.enter(id, value), fits);
                        if fits {
                            model[id as usize] = Some(value);
                        }
                    }
                    1 => prop_assert_eq!(register.strike(id), model[id as usize].take()),
                    _ => prop_assert_eq!(register.get(id), model[id as usize].as_ref()),
                }
                prop_assert_eq!(register.len(), model.iter().flatten().count());
            }
        }
    }
}
