//! Writes events to Envoy's log.

use super::abi::{self, Level};
use super::clock;
use crate::telemetry::events::Event;
use crate::telemetry::metrics::EventOutcome;
use core::net::IpAddr;

/// Writes one event.
pub fn tell(event: &Event) -> EventOutcome {
    match abi::log(Level::Info, &event.to_json(clock::unix_ms())) {
        Ok(()) => EventOutcome::Sent,
        Err(_) => EventOutcome::Dropped,
    }
}

/// Warns that clients can't be told apart.
pub fn warn_of_suspect(proxy: IpAddr) {
    let _ = abi::log(
        Level::Warn,
        &format!(
            "the client address is {proxy}, which client.proxies names as a proxy: its users are not limited by \
             client. Let Envoy see their addresses (use_remote_address, xff_num_trusted_hops, PROXY protocol)"
        ),
    );
}
