//! What is read of a request. A host call that returns bytes costs most of a microsecond, so all headers come with
//! one, and everything else only where the plan needs it.

use super::abi::{self, Bytes};
use crate::config::plan::Needs;
use crate::request::Request;
use crate::request::headers::Headers;

/// The bytes that a [`Request`] borrows.
pub struct Facts {
    source: Option<Bytes>,
    route: Option<Bytes>,
    network: Option<Bytes>,
    headers: Option<Bytes>,
}

impl Facts {
    /// Asks the host for what the plan needs; `network` is the property that holds the number of the client's. A
    /// preflight is told by a header that nothing else has: to ask for one that is absent is cheap, since nothing is
    /// returned.
    pub fn read(needs: Needs, network: Option<&str>) -> Facts {
        let mut facts = Facts {
            source: present("source\0address"),
            route: if needs.route { route() } else { None },
            network: network.filter(|_| needs.network).and_then(present),
            headers: None,
        };
        if needs.headers || abi::has_request_header("access-control-request-method") {
            facts.complete();
        }
        facts
    }

    /// Asks for the headers too, which an answer and an event need.
    pub fn complete(&mut self) {
        self.headers.get_or_insert_with(|| abi::request_headers().unwrap_or_default());
    }

    /// The request.
    pub fn request(&self) -> Request<'_> {
        Request {
            source: self.source.as_deref(),
            route: self.route.as_deref(),
            network: self.network.as_deref(),
            headers: self.headers.as_deref().map_or(Headers::default(), Headers::parse),
        }
    }
}

/// Envoy's route name, else virtual host and cluster.
fn route() -> Option<Bytes> {
    present("xds\0route_name").or_else(|| {
        let mut name = present("xds\0virtual_host_name")?;
        name.push(b'/');
        name.extend(present("xds\0cluster_name").unwrap_or_default());
        Some(name)
    })
}

/// A property that exists and is not empty.
pub fn present(path: &str) -> Option<Bytes> {
    abi::property(path).ok().filter(|value| !value.is_empty())
}
