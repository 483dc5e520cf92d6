//! What is neither judged nor counted nor learned: health checks and what else the operator names.

use super::prefixes::Prefixes;
use core::net::IpAddr;

/// One exemption. Its conditions hold together.
#[derive(Clone, Debug, PartialEq)]
pub struct Exemption {
    /// Which paths, in normal form.
    pub path: PathPattern,
    /// From which addresses; `None`: from all.
    pub source: Option<Prefixes>,
}

/// A pattern over normalised paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPattern {
    /// This path and no other.
    Exactly(Box<[u8]>),
    /// Every path that begins so.
    Prefix(Box<[u8]>),
}

impl PathPattern {
    /// Does the pattern fit a normalised path?
    pub fn fits(&self, path: &[u8]) -> bool {
        match self {
            PathPattern::Exactly(exact) => path == &**exact,
            PathPattern::Prefix(prefix) => path.starts_with(prefix),
        }
    }
}

impl Exemption {
    /// Is a request for `path` (in normal form) from `address` exempt? An address that is not known is in no list.
    /// A path that some servers read as another one is never exempt: `/static/..%2Fsearch` may be `/search`.
    pub fn covers(&self, path: &[u8], address: Option<IpAddr>) -> bool {
        self.path.fits(path)
            && !is_ambiguous(path)
            && self.source.as_ref().is_none_or(|list| address.is_some_and(|address| list.contains(address)))
    }
}

/// Does a path in normal form hold an encoded slash, backslash or percent sign, which decode to another path?
fn is_ambiguous(path: &[u8]) -> bool {
    path.windows(3).any(|triplet| matches!(triplet, b"%2F" | b"%5C" | b"%25"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exemption_with_sources_needs_path_and_source() {
        let probe = Exemption {
            path: PathPattern::Prefix((*b"/internal/").into()),
            source: Some(Prefixes::of(["10.0.0.0/8"])),
        };
        let inside = Some("10.0.0.1".parse().unwrap());
        assert!(probe.covers(b"/internal/x", inside));
        assert!(!probe.covers(b"/internal", inside));
        assert!(!probe.covers(b"/internal/x", Some("11.0.0.1".parse().unwrap())));
        assert!(!probe.covers(b"/internal/x", None));
    }

    #[test]
    fn a_path_that_may_be_read_as_another_is_not_exempt() {
        let open = Exemption { path: PathPattern::Prefix((*b"/static/").into()), source: None };
        assert!(open.covers(b"/static/a%20b.css", None));
        for path in [&b"/static/..%2Fsearch"[..], b"/static/..%5Csearch", b"/static/%252e%252e/search"] {
            assert!(!open.covers(path, None), "{}", String::from_utf8_lossy(path));
        }
    }

    #[test]
    fn an_exact_path_is_no_prefix() {
        let health = Exemption { path: PathPattern::Exactly((*b"/healthz").into()), source: None };
        assert!(health.covers(b"/healthz", None));
        assert!(!health.covers(b"/healthz/x", None));
    }
}
