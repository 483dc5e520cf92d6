//! Envoy's configuration: one listener behind a load balancer, four routes, one service.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::kind::Kind;
use super::stats_tags::stats_tags;

/// What differs from one Envoy to the next.
pub struct Front {
    pub upstream: SocketAddr,
    /// Before the router.
    pub filter: Option<Value>,
}

impl Front {
    /// All that Envoy is started with.
    pub fn bootstrap(&self) -> Value {
        json!({
            "node": { "id": "bench", "cluster": "bench" },
            "admin": { "address": on_loopback() },
            "stats_config": { "stats_tags": stats_tags() },
            "static_resources": {
                "listeners": [{
                    "name": "bench",
                    "address": on_loopback(),
                    "filter_chains": [{ "filters": [self.http_manager()] }],
                }],
                "clusters": [self.cluster()],
            },
        })
    }

    fn http_manager(&self) -> Value {
        let router = json!({
            "name": "envoy.filters.http.router",
            "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
        });
        let filters: Vec<&Value> = self.filter.iter().chain([&router]).collect();
        json!({
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                "stat_prefix": "bench",
                "codec_type": "HTTP2",
                "use_remote_address": true,
                // One connection is many clients.
                "xff_num_trusted_hops": 1,
                "generate_request_id": false,
                "http_filters": filters,
                "route_config": { "name": "bench", "virtual_hosts": [{
                    "name": "all",
                    "domains": ["*"],
                    "routes": Kind::ALL.map(route),
                }] },
            },
        })
    }

    fn cluster(&self) -> Value {
        let (ip, port) = (self.upstream.ip().to_string(), self.upstream.port());
        let endpoint = json!({ "address": { "socket_address": { "address": ip, "port_value": port } } });
        // Nothing of Envoy's own may stand in for what is compared.
        let no_limit = json!({
            "max_connections": 1_000_000, "max_pending_requests": 1_000_000, "max_requests": 1_000_000,
        });
        json!({
            "name": "shop",
            "type": "STATIC",
            "connect_timeout": "5s",
            "typed_extension_protocol_options": {
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                    "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                    "explicit_http_config": { "http2_protocol_options": {} },
                },
            },
            "circuit_breakers": { "thresholds": [no_limit] },
            "load_assignment":
                { "cluster_name": "shop", "endpoints": [{ "lb_endpoints": [{ "endpoint": endpoint }] }] },
        })
    }
}

fn route(kind: Kind) -> Value {
    let path = format!("/{}", kind.name());
    json!({ "name": kind.name(), "match": { "path": path }, "route": { "cluster": "shop" } })
}

fn on_loopback() -> Value {
    json!({ "socket_address": { "address": "127.0.0.1", "port_value": 0 } })
}
