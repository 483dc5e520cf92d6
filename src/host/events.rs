//! Writes events to Envoy's log.

use super::abi::{self, Level};
use super::clock;
use super::shared::HostStore;
use crate::shared::once::first_to_say;
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

/// Warns, once per process, that nothing says how to judge connections.
pub fn warn_of_no_judge() {
    if first_to_say(&mut HostStore, "weir_l4 without weir") {
        let _ = abi::log(
            Level::Warn,
            "the network filter weir_l4 judges nothing: no HTTP filter with root_id weir has the same vm_id, code and \
             vm_config, and its configuration is the one that counts",
        );
    }
}

/// Warns, once per process, that nothing tells of connections.
pub fn warn_of_no_companion() {
    if first_to_say(&mut HostStore, "max_conn_rate without weir_l4") {
        let _ = abi::log(
            Level::Warn,
            "max_conn_rate counts nothing: no network filter tells of connections. Add envoy.filters.network.wasm with \
             root_id weir_l4 and the same vm_config before the HTTP connection manager",
        );
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
