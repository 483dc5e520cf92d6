//! Posts events to the cluster that collects them. Calls belong to a root context, which makes them with its tick and hears
//! their answers; with its end those that have none are cancelled.

use super::{abi, events, with_worker};
use crate::engine::InstanceId;
use crate::telemetry::webhook::{Batch, Settings, TIMEOUT, Token};
use core::time::Duration;
use proxy_wasm::hostcalls::dispatch_http_call;

/// Makes the calls that are due.
pub fn post(instance: InstanceId) {
    while let Some((settings, batch)) = with_worker(|worker| worker.engine.next_post(instance)).flatten() {
        let token = call(&settings, &batch);
        with_worker(|worker| worker.engine.posted(instance, batch.events, token));
        if token.is_none() {
            events::warn_of_webhook(&settings.cluster);
            return; // the others would fare no better
        }
    }
}

/// By the SDK, which must know of the call to hear its answer. `None`: Envoy has no such cluster, or no host in it.
fn call(settings: &Settings, batch: &Batch) -> Option<Token> {
    let headers = vec![
        (":method", "POST"),
        (":path", &*settings.path),
        (":authority", &*settings.authority),
        ("content-type", "application/x-ndjson"),
    ];
    let timeout = Duration::from_nanos(TIMEOUT.0);
    dispatch_http_call(&settings.cluster, headers, Some(&batch.lines), vec![], timeout).ok().map(Token)
}

/// Hears an answer; one without headers is a failure of Envoy's.
pub fn hear(instance: InstanceId, token: u32, headers: usize) {
    let taken = headers > 0 && abi::call_status().is_ok_and(|status| status.starts_with(b"2"));
    with_worker(|worker| worker.engine.answered(instance, Token(token), taken));
}
