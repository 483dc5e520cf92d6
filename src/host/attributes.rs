//! What is read of a request, or of a connection. A host call that returns bytes costs most of a microsecond, so all
//! headers come with one, and everything else only where the plan needs it.

use super::abi::{self, Bytes};
use super::{clock, with_worker};
use crate::config::plan::{Needs, Origin, Plan};
use crate::connections::ConnectionId;
use crate::engine::InstanceId;
use crate::request::Request;
use crate::request::fault::Fault;
use crate::request::fingerprint::Fingerprints;
use crate::request::headers::Headers;
use crate::request::outcome::Outcome;

/// The bytes that a [`Request`] borrows.
pub struct Facts {
    source: Option<Bytes>,
    route: Option<Bytes>,
    network: Option<Bytes>,
    headers: Option<Bytes>,
    unix: Option<u32>,
    fingerprints: Fingerprints,
    /// Fingerprints in filter states were looked for here, not remembered.
    looked: bool,
}

impl Facts {
    /// Asks the host for what the plan needs. A preflight is told by a header that nothing else has: to ask for one that
    /// is absent is cheap, since nothing is returned.
    pub fn read(instance: InstanceId, needs: Needs, plan: &Plan) -> Facts {
        let mut facts = Facts::of_connection(needs, plan);
        facts.route = if needs.route { route() } else { None };
        facts.unix = needs.time.then(|| u32::try_from(clock::unix_ms() / 1000).unwrap_or(u32::MAX));
        if needs.headers || abi::has_request_header("access-control-request-method") {
            facts.complete();
        }
        if needs.fingerprints {
            facts.find_fingerprints(instance, plan);
        }
        facts
    }

    /// Asks for what is known of a connection before its first request, but for fingerprints.
    pub fn of_connection(needs: Needs, plan: &Plan) -> Facts {
        Facts {
            source: present("source\0address"),
            route: None,
            network: plan.network.as_deref().filter(|_| needs.network).and_then(present),
            headers: None,
            unix: None,
            fingerprints: Fingerprints::NONE,
            looked: false,
        }
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
            fingerprints: &self.fingerprints,
            unix: self.unix,
            headers: self.headers.as_deref().map_or(Headers::default(), Headers::parse),
        }
    }

    /// Asks for a connection's own fingerprints.
    pub fn look_for_fingerprints(&mut self, plan: &Plan) {
        self.fingerprints = of_states(plan);
        self.looked = true;
    }

    /// Which of the fingerprints were looked for here: those of a connection are counted with it.
    pub fn looked_for(&self, from: &Origin) -> bool {
        match from {
            Origin::State(_) => self.looked,
            Origin::Header(_) => self.headers.is_some(),
        }
    }

    /// Finds those of the connection, by the network filter where it knows them, and those in a request's headers.
    pub fn find_fingerprints(&mut self, instance: InstanceId, plan: &Plan) {
        let known = with_worker(|worker| worker.engine.has_companion()).unwrap_or_default();
        match if known { remembered(instance) } else { None } {
            Some(fingerprints) => self.fingerprints = fingerprints,
            None => self.look_for_fingerprints(plan),
        }
        let headers = self.headers.as_deref().map_or(Headers::default(), Headers::parse);
        for supply in &plan.fingerprints {
            if let Origin::Header(name) = &supply.from {
                let value = headers.get(name).unwrap_or_default();
                self.fingerprints.set(supply.method.place, supply.method.layout, value);
            }
        }
    }
}

/// Those of this connection, as the network filter found them.
fn remembered(instance: InstanceId) -> Option<Fingerprints> {
    let id = connection_id()?;
    with_worker(|worker| worker.engine.fingerprints(instance, id)).flatten()
}

/// Those that Envoy keeps in filter states.
fn of_states(plan: &Plan) -> Fingerprints {
    let mut fingerprints = Fingerprints::NONE;
    for supply in &plan.fingerprints {
        if let Origin::State(path) = &supply.from {
            let value = present(path).unwrap_or_default();
            fingerprints.set(supply.method.place, supply.method.layout, &value);
        }
    }
    fingerprints
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

/// The number of the connection that is called about.
pub fn connection_id() -> Option<ConnectionId> {
    number("connection\0id").map(ConnectionId)
}

/// What the caller did wrong, as the stream or connection that has ended tells. `answered`: a response has begun.
pub fn fault(answered: bool) -> Option<Fault> {
    let flags = number("response\0flags")?;
    Fault::of_flags(flags).or_else(|| (flags == 0 && !answered && vanished()).then_some(Fault::Reset))
}

/// A stream that ended without an answer, and Envoy has no word for why: its caller reset it with the code NO_ERROR.
fn vanished() -> bool {
    present("response\0code_details").is_none()
        && number("response\0code").is_none()
        && present("request\0protocol").is_some_and(|protocol| !protocol.starts_with(b"HTTP/1"))
}

/// Is a breach of the protocol the stream's alone? One that ends the connection has another word.
pub fn is_streams() -> bool {
    !present("response\0code_details").is_some_and(|word| word.starts_with(b"codec_error"))
}

/// Is the stream one of HTTP/1? That has no streams to reset, and what is malformed in it is no error of HTTP/2. A request
/// that could not be read has no protocol, but Envoy's word for what was wrong with it.
pub fn speaks_http1() -> bool {
    let begins = |path, with: &[u8]| present(path).is_some_and(|value| value.starts_with(with));
    begins("request\0protocol", b"HTTP/1") || begins("response\0code_details", b"http1.")
}

/// What is read of a request's end.
#[derive(Default)]
pub struct Ending {
    status: Option<u16>,
    grpc_status: Option<u64>,
    details: Option<Bytes>,
    flags: u64,
}

impl Ending {
    /// Asks for the status, and for the rest where that is a failure.
    pub fn read(is_grpc: bool) -> Ending {
        let status = number("response\0code").and_then(|code| u16::try_from(code).ok());
        let grpc_status = if is_grpc { grpc_status() } else { None };
        let ending = Ending { status, grpc_status, ..Ending::default() };
        if grpc_status.is_none() && status.is_none_or(|status| status < 500) {
            return ending;
        }
        let flags = number("response\0flags").unwrap_or_default();
        Ending { details: present("response\0code_details"), flags, ..ending }
    }

    /// The facts.
    pub fn outcome(&self) -> Outcome<'_> {
        let details = self.details.as_deref().unwrap_or_default();
        Outcome { status: self.status, grpc_status: self.grpc_status, details, flags: self.flags }
    }
}

/// The gRPC status that the upstream sent, in the trailers or instead of an answer. `response.grpc_status` would not do: where
/// there is none Envoy makes one of the HTTP status, and a 200 is UNKNOWN.
fn grpc_status() -> Option<u64> {
    let sent =
        present("response\0trailers\0grpc-status").or_else(|| present("response\0headers\0grpc-status"))?;
    core::str::from_utf8(&sent).ok()?.trim().parse().ok().filter(|status| *status > 0)
}

fn number(path: &str) -> Option<u64> {
    abi::property(path).ok()?.try_into().ok().map(u64::from_le_bytes)
}

/// A property that exists and is not empty.
pub fn present(path: &str) -> Option<Bytes> {
    abi::property(path).ok().filter(|value| !value.is_empty())
}
