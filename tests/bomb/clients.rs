//! Whom the attack pretends to be: each request another address, all of them the same few stolen tokens.

use std::net::Ipv4Addr;

use super::wire;

/// As many as 10.0.0.0/8 has addresses: no attack is longer than that.
pub const MOST: u64 = 1 << 24;

/// Tokens that were stolen. They do not grow with the addresses.
const TOKENS: u64 = 20;

/// The address of the n-th client. Two numbers below [`MOST`] never have the same.
pub fn address(n: u64) -> Ipv4Addr {
    // An odd factor permutes the numbers below a power of two; neighbours come to lie far apart.
    let scattered = (n as u32).wrapping_mul(0x9e37_79b1) & 0x00ff_ffff;
    let [_, high, middle, low] = scattered.to_be_bytes();
    Ipv4Addr::new(10, high, middle, low)
}

/// The n-th client's request. Envoy takes the last entry of X-Forwarded-For for the client.
pub fn request(n: u64, stream: u32, out: &mut Vec<u8>) {
    let (address, token) = (address(n).to_string(), format!("stolen-{}", n % TOKENS));
    wire::post(out, stream, "/login", &[("x-forwarded-for", &address), ("x-api-key", &token)]);
}
