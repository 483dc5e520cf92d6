//! Proof of work: a counter such that SHA-256 of `TOKEN:COUNTER` begins with so many zero bits. To find one takes 2^bits
//! hashes on average; to check it, one.

use sha2::{Digest, Sha256};

/// A counter has at most 20 digits: nobody counts further than 2^64.
const MAX_DIGITS: usize = 20;

/// Does this counter, in decimal, do the work for this token?
pub fn is_done(token: &[u8], counter: &[u8], bits: u8) -> bool {
    let is_number = (1..=MAX_DIGITS).contains(&counter.len()) && counter.iter().all(u8::is_ascii_digit);
    is_number
        && leading_zeros(
            &Sha256::new().chain_update(token).chain_update(b":").chain_update(counter).finalize(),
        ) >= u32::from(bits)
}

fn leading_zeros(hash: &[u8]) -> u32 {
    let mut zeros = 0;
    for byte in hash {
        zeros += byte.leading_zeros();
        if *byte != 0 {
            break;
        }
    }
    zeros
}

/// Does the work, as a browser would: for tests and benches.
pub fn solve(token: &str, bits: u8) -> String {
    let all = (0u64..).map(|counter| counter.to_string());
    let mut done = all.filter(|counter| is_done(token.as_bytes(), counter.as_bytes(), bits));
    done.next().unwrap_or_default()
}
