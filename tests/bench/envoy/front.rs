//! Envoy's configuration: one listener, whose route answers by itself.

use serde_json::{Value, json};

use super::network_filters::tls_inspector;
use super::stats_tags::stats_tags;

/// What differs from one Envoy to the next. Nothing of it: plain HTTP without a filter.
#[derive(Clone, Default)]
pub struct Front {
    /// Before the router.
    pub http: Option<Value>,
    /// Before HTTP.
    pub network: Vec<Value>,
    /// TLS.
    pub transport: Option<Value>,
    /// Whether JA3 and JA4 are computed.
    pub fingerprints: bool,
    /// Connections from this network (`127.0.2.0`, /24) get a chain without filters: Envoy closes them.
    pub turned_away: Option<String>,
    /// The client is the peer of the connection, not who X-Forwarded-For says last.
    pub clients_are_peers: bool,
}

impl Front {
    /// All that Envoy is started with.
    pub fn bootstrap(&self) -> Value {
        let mut listener = json!({
            "name": "bench",
            "address": on_loopback(),
            "filter_chains": self.chains(),
        });
        if self.fingerprints {
            listener["listener_filters"] = json!([tls_inspector()]);
        }
        json!({
            "node": { "id": "bench", "cluster": "bench" },
            "admin": { "address": on_loopback() },
            // The main thread's flush would fall into some rounds and not into others.
            "stats_flush_interval": "299s",
            "stats_config": { "stats_tags": stats_tags() },
            "static_resources": { "listeners": [listener] },
        })
    }

    fn chains(&self) -> Vec<Value> {
        let filters: Vec<Value> = self.network.iter().cloned().chain([self.http_manager()]).collect();
        let mut serving = json!({ "name": "serving", "filters": filters });
        if let Some(socket) = &self.transport {
            serving["transport_socket"] = socket.clone();
        }
        let turned_away = self.turned_away.iter().map(|network| {
            let source = json!({ "address_prefix": network, "prefix_len": 24 });
            json!({ "name": "turned_away", "filter_chain_match": { "source_prefix_ranges": [source] } })
        });
        turned_away.chain([serving]).collect()
    }

    fn http_manager(&self) -> Value {
        let router = json!({
            "name": "envoy.filters.http.router",
            "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
        });
        let filters: Vec<&Value> = self.http.iter().chain([&router]).collect();
        json!({
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                "stat_prefix": "bench",
                // Without it one connection can be many clients.
                "use_remote_address": self.clients_are_peers,
                "generate_request_id": false,
                "http_filters": filters,
                "route_config": { "name": "bench", "virtual_hosts": [{
                    "name": "all",
                    "domains": ["*"],
                    "routes": self.routes(),
                }] },
            },
        })
    }

    fn routes(&self) -> Vec<Value> {
        let answer = |text: &str| json!({ "status": 200, "body": { "inline_string": text } });
        let default =
            json!({ "name": "default", "match": { "prefix": "/" }, "direct_response": answer("ok\n") });
        // Tells callers their fingerprint.
        let mirror = self.fingerprints.then(|| {
            json!({
                "name": "mirror",
                "match": { "path": "/ja4" },
                "direct_response": answer("see x-ja4\n"),
                "response_headers_to_add":
                    [{ "header": { "key": "x-ja4", "value": "%TLS_JA4_FINGERPRINT%" } }],
            })
        });
        mirror.into_iter().chain([default]).collect()
    }
}

fn on_loopback() -> Value {
    json!({ "socket_address": { "address": "127.0.0.1", "port_value": 0 } })
}
