//! Cache lines of eight 64-bit words by key: what [`sketch`](super::sketch) and [`arrears`](super::arrears) are
//! made of. A key belongs to one line, so that whatever is asked about it is one memory access.
//!
//! ```text
//! line = top bits of the key       tag = its bits 12 to 43
//! ```
//!
//! The top bits of the key choose the line, 32 others make the [`tag`] by which a word is recognised, so lines
//! and tags are independent of each other. Exact but for keys of one line and one tag; what happens in a full line is for those
//! to say who keep something there. 8 bytes per word; lines are a power of two, at most 2^20 (64 MiB).

use crate::hash::Key;

/// Words per line: 64 bytes.
pub const WORDS: usize = 8;

/// Lines that there may be: 20 bits of the key, which the tag does not use.
pub const MAX_LINES: u32 = 1 << 20;

/// Lines of words.
pub struct Lines {
    words: Box<[u64]>,
    /// Where the first whole cache line begins in `words`.
    first: usize,
    bits: u32,
    /// The line that was visited last.
    visited: usize,
}

impl Lines {
    /// Empty lines: `lines` of them, rounded up to a power of two between 2 and [`MAX_LINES`].
    pub fn new(lines: u32) -> Lines {
        let bits = bits(lines);
        // Plain words that are all zero are had from the system without touching them; an aligned type is not.
        let words = vec![0_u64; (WORDS << bits) + WORDS - 1].into_boxed_slice();
        let first = words.as_ptr().align_offset(WORDS * size_of::<u64>()).min(WORDS - 1);
        Lines { words, first, bits, visited: 0 }
    }

    /// Bytes that [`Lines::new`] allocates.
    pub fn memory_bytes(lines: u32) -> u64 {
        ((WORDS as u64) << bits(lines)) * 8 + (WORDS as u64 - 1) * 8
    }

    /// Lines that [`Lines::new`] makes of `lines`.
    pub fn rounded(lines: u32) -> u32 {
        1 << bits(lines)
    }

    /// How many lines there are.
    pub fn count(&self) -> usize {
        1 << self.bits
    }

    /// The number of a key's line.
    #[inline]
    pub fn of(&self, key: Key) -> usize {
        (key.0 >> (64 - self.bits)) as usize
    }

    /// A line, for reading.
    #[inline]
    pub fn get(&self, line: usize) -> [u64; WORDS] {
        let words = self.words.get(self.first + line * WORDS..).and_then(<[u64]>::first_chunk);
        words.copied().unwrap_or_default()
    }

    /// A line, for change.
    #[inline]
    pub fn get_mut(&mut self, line: usize) -> Option<&mut [u64; WORDS]> {
        self.words.get_mut(self.first + line * WORDS..)?.first_chunk_mut()
    }

    /// Visits the words of the next `lines` lines, around and around.
    pub fn visit(&mut self, lines: usize, mut each: impl FnMut(&mut u64)) {
        for _ in 0..lines {
            self.visited = (self.visited + 1) % self.count();
            self.get_mut(self.visited).into_iter().flatten().for_each(&mut each);
        }
    }

    /// Empties every line.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }
}

/// Which word of a line has the least rank (below 2^29): the first of those that are equal. Without a branch, as is
/// [`position`]: a guess of the processor that fails would have to wait for the line, and the next event with it.
#[inline]
pub fn least(line: &[u64; WORDS], rank: impl Fn(u64) -> u32) -> usize {
    let ranks = line.iter().zip(0..).map(|(&word, at)| rank(word) << 3 | at);
    ranks.fold(u32::MAX, u32::min) as usize % WORDS
}

/// Which word of a line is the wanted one, if any is. At most one is.
#[inline]
pub fn position(line: &[u64; WORDS], wanted: impl Fn(u64) -> bool) -> Option<usize> {
    let found = line.iter().zip(0..).fold(WORDS, |found, (&word, at)| if wanted(word) { at } else { found });
    (found < WORDS).then_some(found)
}

/// By what a key is recognised in its line: uniform, and never 0, so that an empty word is nobody's. The key's
/// lowest 12 bits name the family, which its other bits depend on already.
#[inline]
pub fn tag(key: Key) -> u32 {
    ((key.0 >> 12) as u32).max(1)
}

fn bits(lines: u32) -> u32 {
    lines.clamp(2, MAX_LINES).next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_cache_line() {
        for lines in [2, 3, 512, 65_536] {
            let all = Lines::new(lines);
            assert_eq!(all.count(), lines.next_power_of_two() as usize);
            let at = all.words.as_ptr().wrapping_add(all.first);
            assert_eq!(at.align_offset(64), 0);
            assert_eq!(all.words.len() as u64 * 8, Lines::memory_bytes(lines));
        }
        assert_eq!(Lines::new(0).count(), 2);
        assert_eq!(Lines::memory_bytes(u32::MAX), Lines::memory_bytes(MAX_LINES));
    }

    #[test]
    fn every_line_can_be_written_and_none_beyond() {
        let mut lines = Lines::new(4);
        for line in 0..4 {
            lines.get_mut(line).unwrap().fill(line as u64 + 1);
        }
        for line in 0..4 {
            assert_eq!(lines.get(line), [line as u64 + 1; WORDS]);
        }
        assert_eq!(lines.get(4), [0; WORDS]);
        assert!(lines.get_mut(usize::MAX / 16).is_none());
    }

    #[test]
    fn visits_go_around_all_lines() {
        let mut lines = Lines::new(8);
        for _ in 0..4 {
            lines.visit(6, |word| *word += 1);
        }
        assert!((0..8).all(|line| lines.get(line) == [3; WORDS]));
    }

    #[test]
    fn words_are_found_by_what_they_are_and_by_their_rank() {
        let line = [9, 3, 7, 3, 8, 1 << 28, 0, 4];
        assert_eq!((position(&line, |word| word == 7), position(&line, |word| word == 5)), (Some(2), None));
        assert_eq!(
            (least(&line, |word| word as u32), least(&line, |word| word.max(3) as u32), least(&line, |_| 5)),
            (6, 1, 0)
        );
    }

    #[test]
    fn a_key_belongs_to_one_line_and_has_a_tag() {
        let lines = Lines::new(512);
        assert_eq!(lines.of(Key(u64::MAX)), 511);
        assert_eq!(lines.of(Key(0)), 0);
        assert_eq!((tag(Key(0)), tag(Key(0xfff)), tag(Key(7 << 12))), (1, 1, 7));
    }
}
