//! Fingerprints of a caller's software: JA3 and JA4 of its ClientHello, or whatever else the operator's Envoy supplies.
//! Each by its method's place in the configuration, in normal form, in a fixed room: nothing is allocated, and what has
//! the wrong form is absent.

/// Methods that a configuration may have.
pub const MOST_METHODS: usize = 4;

/// Bytes of a value. JA4, the longest of the known layouts but for raw ones, has 36.
pub const LONGEST: usize = 64;

/// How the values of a method look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// 32 hex digits (MD5): `771,4865-…` hashed. Case doesn't matter.
    Ja3,
    /// `t13d1516h2_8daaf6152771_e5627efa2ab1`: 36 characters. Case doesn't matter.
    Ja4,
    /// Whatever it is, compared byte by byte.
    Opaque,
}

impl Layout {
    /// The layout of a method by its name, whose case doesn't matter for those that are known.
    pub fn of(method: &str) -> Layout {
        match method {
            _ if method.eq_ignore_ascii_case("JA3") => Layout::Ja3,
            _ if method.eq_ignore_ascii_case("JA4") => Layout::Ja4,
            _ => Layout::Opaque,
        }
    }

    /// Does a value have the layout? Of any case, where case doesn't matter.
    pub fn fits(self, value: &[u8]) -> bool {
        match self {
            Layout::Ja3 => value.len() == 32 && value.iter().all(u8::is_ascii_hexdigit),
            Layout::Ja4 => is_ja4(value),
            Layout::Opaque => (1..=LONGEST).contains(&value.len()),
        }
    }

    /// Does case matter?
    fn folds(self) -> bool {
        self != Layout::Opaque
    }
}

/// Transport, version, SNI, counts of ciphers and extensions, ALPN; then two hashes of 12 hex digits each.
fn is_ja4(value: &[u8]) -> bool {
    let [transport, v, w, sni, c1, c2, e1, e2, a, z, b'_', rest @ ..] = value else { return false };
    let hash = |text: &[u8]| text.len() == 12 && text.iter().all(u8::is_ascii_hexdigit);
    matches!(transport.to_ascii_lowercase(), b't' | b'q' | b'd')
        && [v, w, a, z].into_iter().all(u8::is_ascii_alphanumeric)
        && matches!(sni.to_ascii_lowercase(), b'd' | b'i')
        && [c1, c2, e1, e2].into_iter().all(u8::is_ascii_digit)
        && rest.split_at_checked(12).is_some_and(|(ciphers, extensions)| {
            hash(ciphers) && extensions.strip_prefix(b"_").is_some_and(hash)
        })
}

/// The fingerprints of one caller, by the place of their method in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprints {
    values: [[u8; LONGEST]; MOST_METHODS],
    /// 0: absent.
    lengths: [u8; MOST_METHODS],
}

/// Of a caller of whom nothing is known.
static NONE: Fingerprints = Fingerprints::NONE;

impl Default for Fingerprints {
    fn default() -> Fingerprints {
        Fingerprints::NONE
    }
}

impl Default for &Fingerprints {
    fn default() -> Self {
        &NONE
    }
}

impl Fingerprints {
    /// None at all.
    pub const NONE: Fingerprints =
        Fingerprints { values: [[0; LONGEST]; MOST_METHODS], lengths: [0; MOST_METHODS] };

    /// Takes on what the host says for the method at `place`. A value of another layout, such as the `-` of a connection
    /// without TLS, is none.
    pub fn set(&mut self, place: usize, layout: Layout, value: &[u8]) {
        let value = value.trim_ascii();
        let (Some(room), Some(length)) = (self.values.get_mut(place), self.lengths.get_mut(place)) else {
            return;
        };
        *length = 0;
        let Some(room) = room.get_mut(..value.len()).filter(|_| layout.fits(value) && value != b"-") else {
            return;
        };
        room.copy_from_slice(value);
        if layout.folds() {
            room.make_ascii_lowercase();
        }
        *length = value.len() as u8; // at most LONGEST
    }

    /// The fingerprint by the method at `place`, in normal form.
    pub fn get(&self, place: usize) -> Option<&[u8]> {
        let length = usize::from(*self.lengths.get(place)?);
        self.values.get(place)?.get(..length).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const JA4: &str = "t13i3111h2_e8f1e7e78f70_b26ce05bbdd6";

    fn read(layout: Layout, value: &[u8]) -> Option<Vec<u8>> {
        let mut fingerprints = Fingerprints::NONE;
        fingerprints.set(0, layout, value);
        fingerprints.get(0).map(<[u8]>::to_vec)
    }

    #[test]
    fn case_matters_to_none_but_opaque_methods() {
        let ja3 = "e7d705a3286e19ea42f587b344ee6865";
        for (layout, value) in [(Layout::Ja3, ja3), (Layout::Ja4, JA4)] {
            let upper = value.to_ascii_uppercase();
            assert_eq!(read(layout, upper.as_bytes()).as_deref(), Some(value.as_bytes()));
            assert_eq!(read(Layout::Opaque, upper.as_bytes()).as_deref(), Some(upper.as_bytes()));
        }
        assert_eq!(
            [Layout::of("ja3"), Layout::of("JA4"), Layout::of("JA4H")],
            [Layout::Ja3, Layout::Ja4, Layout::Opaque]
        );
    }

    #[test]
    fn what_has_another_layout_is_absent() {
        for bad in ["", "-", "e7d705a3286e19ea42f587b344ee686", "g7d705a3286e19ea42f587b344ee6865", JA4] {
            assert_eq!(read(Layout::Ja3, bad.as_bytes()), None, "{bad}");
        }
        for bad in [
            "t13i3111h2_e8f1e7e78f70_b26ce05bbdd",
            "x13i3111h2_e8f1e7e78f70_b26ce05bbdd6",
            "t13x3111h2_e8f1e7e78f70_b26ce05bbdd6",
            "t13ix111h2_e8f1e7e78f70_b26ce05bbdd6",
            "t13i3111h2-e8f1e7e78f70_b26ce05bbdd6",
            "t13i3111h2_e8f1e7e78f70-b26ce05bbdd6",
            "t13i3111h2_e8f1e7e78g70_b26ce05bbdd6",
        ] {
            assert_eq!(read(Layout::Ja4, bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(read(Layout::Opaque, &[b'a'; LONGEST + 1]), None);
        assert_eq!(read(Layout::Opaque, b"-"), None, "Envoy's word for nothing");
    }

    #[test]
    fn each_method_has_its_own_place_and_a_new_value_takes_it() {
        let mut fingerprints = Fingerprints::NONE;
        fingerprints.set(3, Layout::Opaque, b"abc");
        fingerprints.set(9, Layout::Opaque, b"nowhere");
        assert_eq!(
            [fingerprints.get(0), fingerprints.get(3), fingerprints.get(9)],
            [None, Some(&b"abc"[..]), None]
        );
        fingerprints.set(3, Layout::Opaque, b"-");
        assert_eq!(fingerprints, Fingerprints::NONE.clone_with_room_of(&fingerprints));
    }

    impl Fingerprints {
        /// What was there before may stay behind the lengths.
        fn clone_with_room_of(self, other: &Fingerprints) -> Fingerprints {
            Fingerprints { values: other.values, ..self }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_value_in_normal_form_or_none(value in proptest::collection::vec(any::<u8>(), 0..80), place in 0usize..6) {
            for layout in [Layout::Ja3, Layout::Ja4, Layout::Opaque] {
                let mut fingerprints = Fingerprints::NONE;
                fingerprints.set(place, layout, &value);
                if let Some(normal) = fingerprints.get(place) {
                    prop_assert!(layout.fits(normal));
                    prop_assert_eq!(read(layout, normal), Some(normal.to_vec()));
                }
            }
        }
    }
}
