//! Which word did the operator mean? The nearest by edit distance, if it is near enough to be worth saying.

/// The candidate that differs from `word` by at most a third of its letters, or that has it for a part; case aside.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 64 {
        return None; // the distance costs length × length, and no name is that long
    }
    let word = word.to_ascii_lowercase().replace('-', "_");
    let most = (word.len() / 3).max(1);
    let measured =
        candidates.into_iter().map(|candidate| match distance(&word, &candidate.to_ascii_lowercase()) {
            edits if edits <= most => (edits, candidate),
            _ if word.len() > 3 && candidate.contains(&word) => (most, candidate),
            _ => (usize::MAX, candidate),
        });
    let (edits, candidate) = measured.min_by_key(|&(edits, _)| edits)?;
    (edits <= most).then_some(candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that make one word the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let cell = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
    let (mut two_above, mut above) = (Vec::new(), (0..=b.len()).collect::<Vec<_>>());
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = cell(&above, j) + usize::from(x != y);
            let edited = replaced.min(cell(&above, j + 1) + 1).min(cell(&row, j) + 1);
            let is_swap = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            row.push(if is_swap { edited.min(cell(&two_above, j - 1) + 1) } else { edited });
        }
        two_above = core::mem::replace(&mut above, row);
    }
    cell(&above, b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_edits() {
        for (a, b, edits) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("mode", "mdoe", 1)] {
            assert_eq!((distance(a, b), distance(b, a)), (edits, edits), "{a} {b}");
        }
    }

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let known = ["max_req_rate", "req_burst_multiplier", "key"];
        assert_eq!(nearest("max_req_rte", known), Some("max_req_rate"));
        assert_eq!(nearest("Max-Request-Rate", known), Some("max_req_rate"));
        assert_eq!(nearest("kye", known), Some("key"));
        assert_eq!(nearest("tarpit", known), None);
        assert_eq!(nearest("rate", known), Some("max_req_rate"));
        assert_eq!(nearest(&"k".repeat(1000), known), None);
    }
}
