//! Signed bytes as text: what a browser carries and can't change.
//!
//! ```text
//! text = base64url(body | MAC)      MAC = first 16 bytes of HMAC-SHA256(secret, kind | body)
//! ```
//!
//! The first byte of a body is the version of its form. The MAC is compared in constant time; of the length alone a
//! stranger learns something. A kind of token is never taken for another. 2^128 to forge.

use super::secret::{Secret, Secrets};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac;

/// Bytes of a MAC.
pub const MAC_BYTES: usize = 16;

/// Signs a body.
pub fn seal(secret: &Secret, kind: &[u8], body: &[u8], out: &mut String) {
    let mut bytes = [0u8; 64];
    let length = body.len() + MAC_BYTES;
    let mac = secret.mac(&[kind, body]).map(|mac| mac.finalize().into_bytes());
    let (Some(place), Some(mac)) = (bytes.get_mut(..length), mac) else { return };
    place.iter_mut().zip(body.iter().chain(mac.iter().take(MAC_BYTES))).for_each(|(to, from)| *to = *from);
    URL_SAFE_NO_PAD.encode_string(place, out);
}

/// The body of a token of `N` bytes that one of the secrets signed.
pub fn open<const N: usize>(secrets: &Secrets, kind: &[u8], text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0u8; 96];
    let expected = (N + MAC_BYTES).div_ceil(3) * 4;
    if text.len() > expected {
        return None; // nothing that long is ours
    }
    let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
    let (body, mac) = bytes.get(..length)?.split_first_chunk::<N>()?;
    let signed = |secret: &Secret| {
        let expected = secret.mac(&[kind, body])?;
        (mac.len() == MAC_BYTES).then(|| expected.verify_truncated_left(mac).ok()).flatten()
    };
    secrets.iter().find_map(signed).map(|()| *body)
}
