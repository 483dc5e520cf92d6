//! To what a rule applies: conditions on a request and on fingerprints. A condition on a fact that is absent does not hold.

use crate::request::Request;
use crate::request::fingerprint::Fingerprints;
use crate::request::path::Paths;

/// Which requests a rule applies to. Conditions hold together; an absent one always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// The host asked for.
    pub host: Option<Host>,
    /// Beginning of the path, in normal form.
    pub path_prefix: Option<Box<[u8]>>,
    /// Methods, as sent; empty: all.
    pub methods: Box<[Box<str>]>,
    /// Envoy's route name.
    pub route: Option<Box<str>>,
}

/// A host pattern, lower case and without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// This host.
    Exactly(Box<str>),
    /// Every host that ends so: `.example.com`.
    Under(Box<str>),
}

impl Host {
    /// Does the pattern fit an `:authority`, whatever its case, port or trailing dot?
    pub fn fits(&self, authority: &[u8]) -> bool {
        let host = without_port(authority);
        let host = host.strip_suffix(b".").unwrap_or(host);
        match self {
            Host::Exactly(name) => host.eq_ignore_ascii_case(name.as_bytes()),
            Host::Under(suffix) => {
                let cut = host.len().checked_sub(suffix.len());
                cut.filter(|&cut| cut > 0)
                    .and_then(|cut| host.get(cut..))
                    .is_some_and(|end| end.eq_ignore_ascii_case(suffix.as_bytes()))
            }
        }
    }
}

fn without_port(authority: &[u8]) -> &[u8] {
    match authority.iter().rposition(|&b| b == b':') {
        Some(colon) if !authority.ends_with(b"]") => authority.get(..colon).unwrap_or(authority),
        _ => authority,
    }
}

impl Match {
    /// Does the rule apply? A condition on a fact that is absent does not hold.
    pub fn fits(&self, request: &Request, paths: &Paths) -> bool {
        self.host.as_ref().is_none_or(|host| request.authority().is_some_and(|a| host.fits(a)))
            && self.path_prefix.as_ref().is_none_or(|prefix| paths.any(|path| path.starts_with(prefix)))
            && (self.methods.is_empty() || request.method().is_some_and(|m| self.has_method(m)))
            && self.route.as_ref().is_none_or(|route| request.route == Some(route.as_bytes()))
    }

    fn has_method(&self, method: &[u8]) -> bool {
        self.methods.iter().any(|m| m.as_bytes() == method)
    }
}

/// Fingerprints that a rule is for: any value of any method. None at all: it is for everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prints(pub Box<[Listed]>);

/// The values of one method, in normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where [`Fingerprints`] have the method.
    pub place: usize,
    /// The values, sorted.
    pub values: Box<[Box<[u8]>]>,
}

impl Prints {
    /// Is the rule for everybody?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Is the rule for who has these? An absent one is no listed one.
    pub fn fit(&self, fingerprints: &Fingerprints) -> bool {
        self.is_empty() || self.0.iter().any(|listed| listed.has(fingerprints))
    }
}

impl Listed {
    /// Is one of these among the caller's?
    pub fn has(&self, fingerprints: &Fingerprints) -> bool {
        let value = fingerprints.get(self.place);
        value.is_some_and(|value| self.values.binary_search_by(|listed| (**listed).cmp(value)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::fingerprint::Layout;

    #[test]
    fn one_listed_value_of_one_method_is_enough_and_an_absent_one_is_none() {
        let listed =
            |place, values: &[&[u8]]| Listed { place, values: values.iter().map(|v| (*v).into()).collect() };
        let prints = Prints(Box::new([listed(0, &[b"a", b"c"]), listed(1, &[b"x"])]));
        let with = |place, value: &[u8]| {
            let mut fingerprints = Fingerprints::NONE;
            fingerprints.set(place, Layout::Opaque, value);
            prints.fit(&fingerprints)
        };
        assert!(with(0, b"a") && with(0, b"c") && with(1, b"x"));
        assert!(!with(0, b"b") && !with(0, b"x") && !with(1, b"a") && !with(2, b"a"));
        assert!(!prints.fit(&Fingerprints::NONE));
        assert!(Prints::default().fit(&Fingerprints::NONE));
    }

    #[test]
    fn a_host_is_told_without_port_case_or_trailing_dot() {
        let exact = Host::Exactly("shop.example".into());
        for authority in ["shop.example", "SHOP.example:8080", "shop.example.", "shop.example.:1"] {
            assert!(exact.fits(authority.as_bytes()), "{authority}");
        }
        assert!(!exact.fits(b"a.shop.example") && !exact.fits(b"") && !exact.fits(b"\xff"));
        let under = Host::Under(".shop.example".into());
        assert!(
            under.fits(b"a.shop.example:1") && !under.fits(b"shop.example") && !under.fits(b".shop.example")
        );
        assert!(Host::Exactly("[2001:db8::1]".into()).fits(b"[2001:db8::1]:80"));
        assert!(Host::Exactly("[2001:db8::1]".into()).fits(b"[2001:db8::1]"));
    }
}
