//! Writes events to Envoy's log and for the webhook, and warnings.

use super::abi::{self, Level};
use super::shared::HostStore;
use super::{Worker, clock};
use crate::engine::InstanceId;
use crate::shared::once::first_to_say;
use crate::telemetry::events::Event;
use crate::telemetry::metrics::EventOutcome;
use core::net::IpAddr;

impl Worker {
    /// Writes one event to the log, and hands it to the webhook, where either is asked for.
    pub fn write(&mut self, instance: InstanceId, event: &Event) {
        let line = event.to_json(clock::unix_ms());
        if self.engine.plan(instance).is_some_and(|plan| plan.events.log) {
            let written = abi::log(Level::Info, &line);
            let outcome = if written.is_ok() { EventOutcome::Sent } else { EventOutcome::Dropped };
            self.engine.metrics.count_event(outcome);
        }
        self.engine.offer(instance, &line);
    }
}

/// Warns that nothing says how to judge connections.
pub fn warn_of_no_judge() {
    warn_once(
        "the network filter weir_l4 judges nothing: no HTTP filter with root_id weir has the same vm_id, code and \
         vm_config, and its configuration is the one that counts",
    );
}

/// Warns that nothing tells of connections, of which rules count some.
pub fn warn_of_no_companion() {
    warn_once(
        "max_conn_rate counts nothing: no network filter tells of connections. Add envoy.filters.network.wasm with \
         root_id weir_l4 and the same vm_config before the HTTP connection manager",
    );
}

/// Warns that nothing has told of a connection that is to end.
pub fn warn_that_close_fails() {
    warn_once(
        "the action close acts as deny: no network filter has told of the connection. Add envoy.filters.network.wasm \
         with root_id weir_l4 and the same vm_config before the HTTP connection manager",
    );
}

/// Warns that events don't get to their webhook.
pub fn warn_of_webhook(cluster: &str) {
    warn_once(&format!(
        "events.webhook: Envoy makes no call to the cluster {cluster}: is there one of this name, and has it a host that is up? \
         weir_webhook_events_total counts what is lost"
    ));
}

/// Warns of what one warning per process is enough for.
fn warn_once(text: &str) {
    if first_to_say(&mut HostStore, text) {
        let _ = abi::log(Level::Warn, text);
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
