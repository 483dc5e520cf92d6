//! Header maps in the encoding that proxy-wasm hosts pass: `u32 n`, `n × (u32 name length, u32 value length)`,
//! then each name and value, NUL-terminated; little-endian. Read in place: one host call brings all headers of a
//! request, and looking one up allocates nothing. Values are any bytes.

use percent_encoding::percent_decode;
use std::borrow::Cow;

/// A view on an encoded header map. What is malformed reads as absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a> {
    sizes: &'a [u8],
    data: &'a [u8],
}

const SIZE_PAIR: usize = 8;

impl<'a> Headers<'a> {
    /// Wraps an encoded map. A blob too short for the count it claims is an empty map.
    pub fn parse(blob: &'a [u8]) -> Headers<'a> {
        Self::split(blob).unwrap_or_default()
    }

    fn split(blob: &'a [u8]) -> Option<Headers<'a>> {
        let (count, rest) = blob.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (sizes, data) = rest.split_at_checked(count.checked_mul(SIZE_PAIR)?)?;
        Some(Headers { sizes, data })
    }

    /// All pairs in order. Ends early where a length points outside of the blob.
    pub fn iter(&self) -> Iter<'a> {
        Iter { sizes: self.sizes.chunks_exact(SIZE_PAIR), data: self.data }
    }

    /// The first value of `name` (lower case, as Envoy keeps names).
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// The values of all fields of this name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |(n, _)| *n == name.as_bytes()).map(|(_, value)| value)
    }

    /// The values of all cookies of this name, as they are.
    pub fn cookies<'n>(&self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let pairs = self
            .iter()
            .filter(|(field, _)| *field == b"cookie")
            .flat_map(|(_, value)| value.split(|&b| b == b';'));
        pairs.filter_map(move |pair| pair.trim_ascii().strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    }

    /// The value of cookie `name` as applications read it: decoded, without quotes. An empty one counts only where
    /// there is no other, in whichever `cookie` field (HTTP/2 may split the field).
    pub fn cookie(&self, name: &str) -> Option<Cow<'a, [u8]>> {
        let pairs = self.all("cookie").flat_map(|field| field.split(|&b| b == b';'));
        let mut values = pairs.filter_map(|pair| {
            let equals = pair.iter().position(|&b| b == b'=')?;
            let (n, value) = (pair.get(..equals)?.trim_ascii(), pair.get(equals + 1..)?.trim_ascii());
            percent_decode(n).eq(name.bytes()).then(|| unquoted(value))
        });
        let first = values.next()?;
        Some(if first.is_empty() { values.find(|value| !value.is_empty()).unwrap_or(first) } else { first })
    }
}

fn unquoted(value: &[u8]) -> Cow<'_, [u8]> {
    let inner = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    percent_decode(inner.unwrap_or(value)).into()
}

/// Iterator over the pairs of [`Headers`].
pub struct Iter<'a> {
    sizes: core::slice::ChunksExact<'a, u8>,
    data: &'a [u8],
}

impl<'a> Iter<'a> {
    fn take(&mut self, size: &[u8]) -> Option<&'a [u8]> {
        let size = u32::from_le_bytes(*size.first_chunk()?) as usize;
        let (bytes, rest) = self.data.split_at_checked(size)?;
        self.data = rest.get(1..)?; // the NUL
        Some(bytes)
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.sizes.next()?.split_at_checked(4)?;
        Some((self.take(name)?, self.take(value)?))
    }
}

/// Builds an encoded map: what a reply carries, and what tests and replays feed. Keeps its buffers between uses.
#[derive(Debug, Default)]
pub struct Pairs {
    count: u32,
    sizes: Vec<u8>,
    data: Vec<u8>,
    encoded: Vec<u8>,
}

impl Pairs {
    /// Forgets the pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.count = 0;
        self.sizes.clear();
        self.data.clear();
    }

    /// Adds a pair.
    pub fn push(&mut self, name: &str, value: &[u8]) {
        self.push_with(name, |data| data.extend_from_slice(value));
    }

    /// Adds a pair whose value `write` appends.
    pub fn push_with(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.data.extend_from_slice(name.as_bytes());
        self.data.push(0);
        let start = self.data.len();
        write(&mut self.data);
        let value_length = self.data.len().saturating_sub(start);
        self.data.push(0);
        self.sizes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        self.sizes.extend_from_slice(&(value_length as u32).to_le_bytes());
        self.count = self.count.saturating_add(1);
    }

    /// The encoded map.
    pub fn encode(&mut self) -> &[u8] {
        self.encoded.clear();
        self.encoded.extend_from_slice(&self.count.to_le_bytes());
        self.encoded.extend_from_slice(&self.sizes);
        self.encoded.extend_from_slice(&self.data);
        &self.encoded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blob(pairs: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = Pairs::default();
        for (name, value) in pairs {
            out.push(name, value);
        }
        out.encode().to_vec()
    }

    #[test]
    fn values_may_be_any_bytes() {
        let bytes = blob(&[(":path", b"/"), ("x", b"\xff\xfe\0\x01"), ("empty", b"")]);
        let headers = Headers::parse(&bytes);
        assert_eq!(headers.get("x"), Some(&b"\xff\xfe\0\x01"[..]));
        assert_eq!(headers.get("empty"), Some(&b""[..]));
        assert_eq!(headers.get("absent"), None);
        assert_eq!(headers.iter().count(), 3);
    }

    #[test]
    fn a_cookie_is_found_in_any_of_several_fields() {
        let bytes = blob(&[("cookie", b"a=1; session=x=y"), ("cookie", b" b = 2;token=t;;=")]);
        let headers = Headers::parse(&bytes);
        assert_eq!(headers.cookie("session").as_deref(), Some(&b"x=y"[..]));
        assert_eq!(headers.cookie("token").as_deref(), Some(&b"t"[..]));
        assert_eq!(headers.cookie("sess"), None);
    }

    #[test]
    fn a_map_that_claims_more_than_it_holds_is_read_up_to_its_end() {
        let mut bytes = blob(&[("a", b"1"), ("b", b"2")]);
        bytes.truncate(bytes.len() - 2);
        assert_eq!(Headers::parse(&bytes).iter().count(), 1);
        assert_eq!(Headers::parse(&[0xff; 7]).iter().count(), 0);
        assert_eq!(Headers::parse(&[]).iter().count(), 0);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let headers = Headers::parse(&bytes);
            let _ = headers.iter().count();
            let _ = (headers.get("a"), headers.cookie("a"));
        }
    }
}
