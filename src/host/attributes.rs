//! What is read of a request. A host call that returns bytes costs most of a microsecond, so all headers come with
//! one, and everything else only where the plan needs it.

use super::abi::{self, Bytes};
use crate::request::Request;
use crate::request::headers::Headers;

/// The bytes that a [`Request`] borrows.
pub struct Facts {
    headers: Bytes,
    source: Option<Bytes>,
    route: Option<Bytes>,
}

impl Facts {
    /// Asks the host for what the plan needs.
    pub fn read(needs_route: bool) -> Facts {
        Facts {
            headers: abi::request_headers().unwrap_or_default(),
            source: present("source\0address"),
            route: if needs_route { route() } else { None },
        }
    }

    /// The request.
    pub fn request(&self) -> Request<'_> {
        Request {
            source: self.source.as_deref(),
            route: self.route.as_deref(),
            headers: Headers::parse(&self.headers),
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
