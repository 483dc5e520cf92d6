//! The facts of one request, borrowed from the host's bytes. Nothing is copied and nothing is trusted: a fact
//! that is absent or malformed is `None`, and who needs it gives no verdict.

pub mod address;
pub mod fault;
pub mod fingerprint;
pub mod headers;
pub mod outcome;
pub mod path;

use fingerprint::Fingerprints;
use headers::Headers;

/// One request as the proxy saw it. Of a connection it has what is known before the first request: no headers and no route.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Envoy's `source.address`: `203.0.113.7:4711`, `[2001:db8::1]:4711`.
    pub source: Option<&'a [u8]>,
    /// Envoy's route name, else virtual host and cluster. Fetched only where the plan needs it.
    pub route: Option<&'a [u8]>,
    /// The number of the client's network, as the operator's Envoy looked it up. Fetched only where the plan needs it.
    pub network: Option<&'a [u8]>,
    /// What is known of the caller's software. Fetched only where the plan needs it.
    pub fingerprints: &'a Fingerprints,
    /// The second since 1970, by the host's clock. Fetched only where the plan needs it.
    pub unix: Option<u32>,
    /// Request headers with the pseudo-headers of HTTP/2.
    pub headers: Headers<'a>,
}

impl<'a> Request<'a> {
    /// The method, as sent.
    pub fn method(&self) -> Option<&'a [u8]> {
        self.headers.get(":method")
    }

    /// Path and query, as sent.
    pub fn path(&self) -> Option<&'a [u8]> {
        self.headers.get(":path")
    }

    /// The host asked for, as sent, maybe with a port.
    pub fn authority(&self) -> Option<&'a [u8]> {
        self.headers.get(":authority")
    }

    /// Has it another address than its connection's peer? Envoy gives one that it took from a header no port.
    pub fn is_handed_on(&self) -> bool {
        self.source.is_some_and(|source| !address::has_port(source))
    }

    /// A CORS preflight: a browser's question, which no script can fake away from the user and no handler serves.
    pub fn is_preflight(&self) -> bool {
        self.method() == Some(b"OPTIONS")
            && self.headers.get("origin").is_some()
            && self.headers.get("access-control-request-method").is_some()
    }

    /// A gRPC call, as Envoy tells one (`application/grpc`, `application/grpc+proto`, …; not gRPC-Web, which browsers read as
    /// HTTP): it makes the trailers of our answers.
    pub fn is_grpc(&self) -> bool {
        const GRPC: &[u8] = b"application/grpc";
        let content_type = self.headers.get("content-type").unwrap_or_default();
        match content_type.get(..GRPC.len()) {
            Some(head) if head.eq_ignore_ascii_case(GRPC) => {
                matches!(content_type.get(GRPC.len()), None | Some(b'+'))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::headers::Pairs;
    use super::*;

    fn with<T>(pairs: &[(&str, &str)], check: impl Fn(Request) -> T) -> T {
        let mut blob = Pairs::default();
        for (name, value) in pairs {
            blob.push(name, value.as_bytes());
        }
        check(Request { headers: Headers::parse(blob.encode()), ..Request::default() })
    }

    #[test]
    fn a_preflight_has_a_method_an_origin_and_asks_for_a_method() {
        let full =
            [(":method", "OPTIONS"), ("origin", "https://a"), ("access-control-request-method", "PUT")];
        assert!(with(&full, |r| r.is_preflight()));
        for missing in 0..full.len() {
            let mut some = full.to_vec();
            some.remove(missing);
            assert!(!with(&some, |r| r.is_preflight()), "without {:?}", full[missing]);
        }
    }

    #[test]
    fn grpc_is_told_by_its_content_type_alone() {
        let grpc = |value| with(&[("content-type", value)], |r| r.is_grpc());
        assert!(grpc("application/grpc") && grpc("application/grpc+proto"));
        assert!(
            !grpc("application/grpc;x=1")
                && !grpc("application/grpc-web")
                && !grpc("application/json")
                && !grpc("")
        );
        assert!(!with(&[], |r| r.is_grpc()));
    }
}
