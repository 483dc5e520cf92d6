//! What one caller is under each key that a configuration counts by: rules, detectors and bans ask for the same few
//! subjects, and each is hashed at most once per request.

use super::key::{Caller, KeySpec, Part};
use crate::hash::{Seed, SubjectHash};

/// The distinct keys of a configuration. The first four are those that Weir counts by unasked.
#[derive(Clone, Debug, PartialEq)]
pub struct Keys(Vec<KeySpec>);

/// A place in [`Keys`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyIndex(u16);

impl Default for Keys {
    fn default() -> Keys {
        let single = |part| KeySpec(Box::new([part]));
        Keys([Part::Client, Part::Consumer, Part::Network, Part::Route].map(single).into())
    }
}

impl Keys {
    /// The client, by its address.
    pub const CLIENT: KeyIndex = KeyIndex(0);
    /// The consumer, by its credential.
    pub const CONSUMER: KeyIndex = KeyIndex(1);
    /// The client's network.
    pub const NETWORK: KeyIndex = KeyIndex(2);
    /// The route.
    pub const ROUTE: KeyIndex = KeyIndex(3);

    /// Adds a key, unless it is there.
    pub fn index(&mut self, key: KeySpec) -> KeyIndex {
        let place = self.0.iter().position(|other| *other == key).unwrap_or_else(|| {
            self.0.push(key);
            self.0.len() - 1
        });
        KeyIndex(place as u16) // a configuration has at most 256 rules, each with one key
    }

    /// The key at a place.
    pub fn get(&self, index: KeyIndex) -> Option<&KeySpec> {
        self.0.get(usize::from(index.0))
    }

    /// The parts of the key at a place; none for a place of another configuration.
    pub fn parts(&self, index: KeyIndex) -> &[Part] {
        self.get(index).map_or(&[], |key| &key.0)
    }
}

/// A subject that was asked for, or not yet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Memo {
    NotAsked,
    Asked(Option<SubjectHash>),
}

/// Room for the subjects of one request after the other. Allocated with the configuration.
#[derive(Debug, Default)]
pub struct Memos(Box<[Memo]>);

impl Memos {
    /// Room for the subjects of these keys.
    pub fn new(keys: &Keys) -> Memos {
        Memos(keys.0.iter().map(|_| Memo::NotAsked).collect())
    }
}

/// The subjects of one request.
pub struct Subjects<'a> {
    keys: &'a Keys,
    seed: Seed,
    memos: &'a mut Memos,
    /// Whose they are.
    pub caller: Caller<'a>,
}

impl<'a> Subjects<'a> {
    /// Of this caller, none of which is known yet.
    pub fn of(caller: Caller<'a>, keys: &'a Keys, seed: Seed, memos: &'a mut Memos) -> Subjects<'a> {
        memos.0.fill(Memo::NotAsked);
        Subjects { keys, seed, memos, caller }
    }

    /// Under which subjects are hashed.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The subject under a key; `None` where the request lacks a part of it.
    pub fn get(&mut self, index: KeyIndex) -> Option<SubjectHash> {
        let memo = self.memos.0.get_mut(usize::from(index.0))?;
        if let Memo::Asked(subject) = *memo {
            return subject;
        }
        let subject = self.caller.subject(self.keys.get(index)?, &self.seed);
        *memo = Memo::Asked(subject);
        subject
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Settings;
    use crate::request::Request;

    #[test]
    fn keys_that_rules_have_in_common_have_one_place_beside_the_four_that_are_always_there() {
        let mut keys = Keys::default();
        assert_eq!(keys.index(KeySpec::client()), Keys::CLIENT);
        let both = || KeySpec(Box::new([Part::Client, Part::Route]));
        assert_eq!(keys.index(both()), KeyIndex(4));
        assert_eq!(keys.index(both()), KeyIndex(4));
        assert_eq!(keys.parts(Keys::NETWORK), [Part::Network]);
        assert_eq!(keys.parts(KeyIndex(9)), []);
    }

    #[test]
    fn a_subject_is_that_of_the_caller_and_not_of_the_one_before() {
        let (settings, keys, seed) = (Settings::default(), Keys::default(), Seed([1; 16]));
        let mut memos = Memos::new(&keys);
        let mut subject = |source: &str| {
            let request = Request { source: Some(source.as_bytes()), ..Request::default() };
            let mut subjects = Subjects::of(Caller::of(&settings, &request), &keys, seed, &mut memos);
            let first = subjects.get(Keys::CLIENT);
            assert_eq!(subjects.get(Keys::CLIENT), first);
            assert_eq!(subjects.get(Keys::NETWORK), None);
            first
        };
        assert_ne!(subject("192.0.2.1:1"), subject("192.0.2.2:1"));
        assert_eq!(subject("192.0.2.1:1"), subject("192.0.2.1:2"));
        assert_eq!(subject("nonsense"), None);
    }
}
