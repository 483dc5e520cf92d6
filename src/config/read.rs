//! Reads objects by the [`super::schema`]: reports keys that are unknown, stand twice or belong to a later version,
//! and hands out the values of the others. `null` is absence.

use super::error::{Cause, Report};
use super::json::{Member, Value};
use super::nearest::nearest;
use super::place::Place;
use super::schema::{self, Known};
use super::units::{self, Range};

/// How long a list may be that has no bound but the text's own.
pub const ANY: usize = usize::MAX;

/// One object of the document. An absent one reads as an empty one, whose fields have their defaults.
pub struct Section<'a> {
    members: &'a [Member],
    place: &'a Place<'a>,
    report: &'a Report,
    keys_are_sound: bool,
}

impl<'a> Section<'a> {
    /// Reads `value` as an object whose keys [`schema`] knows. What is no object is reported.
    pub fn open(value: &'a Value, place: &'a Place<'a>, report: &'a Report) -> Option<Section<'a>> {
        let mut section = Section::open_any(value, place, report)?;
        section.keys_are_sound = section.report_keys();
        section.report_repeated_keys();
        Some(section)
    }

    /// Reads `value` as an object that may have any keys.
    fn open_any(value: &'a Value, place: &'a Place<'a>, report: &'a Report) -> Option<Section<'a>> {
        let Value::Object(members) = value else {
            report.add(place, Cause::WrongKind { found: value.kind(), expected: "an object in braces" });
            return None;
        };
        Some(Section { members, place, report, keys_are_sound: true })
    }

    /// A section that has nothing in it.
    pub fn empty(place: &'a Place<'a>, report: &'a Report) -> Section<'a> {
        Section { members: &[], place, report, keys_are_sound: true }
    }

    /// Which element of a list it is; 0 outside of lists.
    pub fn index(&self) -> usize {
        match self.place {
            Place::Item(_, index) => *index,
            _ => 0,
        }
    }

    /// Reports that the section as a whole is wrong.
    pub fn refuse(&self, cause: Cause) {
        self.report.add(self.place, cause);
    }

    /// Reports that the field of this name is wrong.
    pub fn refuse_field(&self, name: &str, cause: Cause) {
        self.report.add(&Place::Member(self.place, name), cause);
    }

    /// Is there a value under this name, right or wrong?
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Does the section ask only for what this version has?
    pub fn keys_are_sound(&self) -> bool {
        self.keys_are_sound
    }

    /// Reports when not exactly one of the fields of these names is there.
    pub fn require_one(&self, names: &'static [&'static str]) {
        let found = names.iter().filter(|name| self.has(name)).count();
        if found > 1 || (found == 0 && self.keys_are_sound) {
            self.refuse(Cause::OneOf { names, found });
        }
    }

    /// Reports when both of two fields are there that say the same thing.
    pub fn keep_one(&self, names: [&'static str; 2]) {
        if names.iter().all(|name| self.has(name)) {
            self.refuse(Cause::Both { names });
        }
    }

    /// The value under this name as `parse` understands it. `None` when it is absent, or wrong and reported.
    pub fn read<T>(&self, name: &str, parse: impl FnOnce(&Value) -> Result<T, Cause>) -> Option<T> {
        parse(self.value(name)?).map_err(|cause| self.refuse_field(name, cause)).ok()
    }

    /// A whole number, or the default of its range.
    pub fn count(&self, name: &str, range: &Range) -> u32 {
        self.read(name, |value| units::count(value, range)).unwrap_or(range.default as u32)
    }

    /// A number, or the default of its range.
    pub fn number(&self, name: &str, range: &Range) -> f64 {
        self.read(name, |value| units::number(value, range)).unwrap_or(range.default)
    }

    /// `true` or `false`, or the default.
    pub fn switch(&self, name: &str, default: bool) -> bool {
        self.read(name, units::switch).unwrap_or(default)
    }

    /// Reports when there is no value under this name; `write` says what to write.
    pub fn need(&self, name: &str, write: &'static str) {
        if !self.has(name) {
            self.refuse_field(name, Cause::Missing { write });
        }
    }

    /// Reports when there is an empty list under this name; `write` says what to write.
    pub fn need_items(&self, name: &str, write: &'static str) {
        if matches!(self.value(name), Some(Value::List(items)) if items.is_empty()) {
            self.refuse_field(name, Cause::Empty { write });
        }
    }

    /// The section under this name. An absent one is empty.
    pub fn section<T>(&self, name: &str, read: impl FnOnce(&Section) -> T) -> T {
        let place = Place::Member(self.place, name);
        let section = self.value(name).and_then(|value| Section::open(value, &place, self.report));
        read(&section.unwrap_or(Section::empty(&place, self.report)))
    }

    /// The section under this name; `None` when it is absent, or wrong and reported.
    pub fn optional_section<T>(&self, name: &str, read: impl FnOnce(&Section) -> T) -> Option<T> {
        let place = Place::Member(self.place, name);
        Section::open(self.value(name)?, &place, self.report).map(|section| read(&section))
    }

    /// The values of a list, without those that are wrong and reported. An absent list is empty.
    pub fn list<T>(
        &self,
        name: &str,
        most: usize,
        mut parse: impl FnMut(&Value) -> Result<T, Cause>,
    ) -> Vec<T> {
        self.each(name, most, |item, place| parse(item).map_err(|cause| self.report.add(place, cause)).ok())
    }

    /// As [`Section::list`], where a single value may stand for a list of one.
    pub fn list_or_one<T>(
        &self,
        name: &str,
        most: usize,
        parse: impl FnMut(&Value) -> Result<T, Cause>,
    ) -> Vec<T> {
        match self.value(name) {
            Some(Value::List(_)) => self.list(name, most, parse),
            _ => self.read(name, parse).into_iter().collect(),
        }
    }

    /// The sections of a list, without those that are wrong and reported. An absent list is empty.
    pub fn sections<T>(
        &self,
        name: &str,
        most: usize,
        mut read: impl FnMut(&Section) -> Option<T>,
    ) -> Vec<T> {
        self.each(name, most, |item, place| {
            Section::open(item, place, self.report).and_then(|section| read(&section))
        })
    }

    /// The sections of an object whose keys are names, in the order of the text. `name_of` says which names may be.
    /// An absent object is empty.
    pub fn named<N, T>(
        &self,
        name: &str,
        most: usize,
        name_of: impl Fn(&str) -> Result<N, Cause>,
        read: impl Fn(&Section) -> T,
    ) -> Vec<(N, T)> {
        self.entries(name, most, |key, value, place| {
            let name = name_of(key).map_err(|cause| self.report.add(place, cause)).ok();
            let section = Section::open(value, place, self.report).map(|section| read(&section));
            Some((name?, section?))
        })
    }

    /// The lists of an object whose keys are names, in the order of the text: at most `most` of at most `longest` values
    /// each. An empty list says no more than an absent one, whatever its name.
    pub fn named_lists<N: Copy, T>(
        &self,
        name: &str,
        most: usize,
        longest: usize,
        name_of: impl Fn(&str) -> Result<N, Cause>,
        parse: impl Fn(N, &Value) -> Result<T, Cause>,
    ) -> Vec<(N, Vec<T>)> {
        self.entries(name, most, |key, value, place| {
            if matches!(value, Value::List(items) if items.is_empty()) {
                return None;
            }
            let name = name_of(key).map_err(|cause| self.report.add(place, cause)).ok()?;
            let read = |item: &Value, place: &Place| {
                parse(name, item).map_err(|cause| self.report.add(place, cause)).ok()
            };
            Some((name, self.items(value, place, longest, read)))
        })
    }

    /// The members of an object whose keys are names.
    fn entries<T>(
        &self,
        name: &str,
        most: usize,
        read: impl Fn(&str, &Value, &Place) -> Option<T>,
    ) -> Vec<T> {
        let place = Place::Member(self.place, name);
        let Some(value) = self.value(name) else { return Vec::new() };
        let Some(object) = Section::open_any(value, &place, self.report) else { return Vec::new() };
        object.report_repeated_keys();
        if object.members.len() > most {
            object.refuse(Cause::TooMany { found: object.members.len(), most });
        }
        let entries = object.members.iter().take(most).filter(|(_, value)| *value != Value::Null);
        entries.filter_map(|(key, value)| read(key, value, &Place::Named(&place, key))).collect()
    }

    fn each<T>(&self, name: &str, most: usize, read: impl FnMut(&Value, &Place) -> Option<T>) -> Vec<T> {
        let Some(value) = self.value(name) else { return Vec::new() };
        self.items(value, &Place::Member(self.place, name), most, read)
    }

    fn items<T>(
        &self,
        value: &Value,
        place: &Place,
        most: usize,
        mut read: impl FnMut(&Value, &Place) -> Option<T>,
    ) -> Vec<T> {
        let Value::List(items) = value else {
            self.report.add(place, Cause::WrongKind { found: value.kind(), expected: "a list in brackets" });
            return Vec::new();
        };
        if items.len() > most {
            self.report.add(place, Cause::TooMany { found: items.len(), most });
        }
        let read = |(i, item)| read(item, &Place::Item(place, i));
        items.iter().take(most).enumerate().filter_map(read).collect()
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        let value = self.members.iter().find(|(key, _)| **key == *name).map(|(_, value)| value);
        value.filter(|value| **value != Value::Null)
    }

    /// Reports the keys that this version does not have, and says whether there are none.
    fn report_keys(&self) -> bool {
        let pattern = self.place.pattern();
        let mut all_sound = true;
        for (key, value) in self.members {
            let place = Place::Member(self.place, key);
            match schema::lookup(&pattern, key) {
                Known::Built => continue,
                Known::Later(later) if *value == Value::Null || (later.asks_nothing)(value) => continue,
                Known::Later(later) => {
                    let section = matches!(value, Value::Object(_));
                    self.report.add(&place, Cause::NotBuilt { what: later.what, section });
                }
                Known::No => self.report.add_with(&place, || {
                    let known: Box<[_]> = schema::names(&pattern).collect();
                    Cause::Unknown { nearest: nearest(key, known.iter().copied()), known }
                }),
            }
            all_sound = false;
        }
        all_sound
    }

    /// Sorted first, since a hostile text may have a hundred thousand keys.
    fn report_repeated_keys(&self) {
        let mut keys: Vec<&str> = self.members.iter().map(|(key, _)| &**key).collect();
        keys.sort_unstable();
        for same in keys.chunk_by(|a, b| a == b).filter(|same| same.len() > 1) {
            same.first().into_iter().for_each(|key| self.refuse_field(key, Cause::Twice));
        }
    }
}
