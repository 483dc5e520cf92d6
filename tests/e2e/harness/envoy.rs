//! Envoy's own configuration, written as JSON: a bootstrap that reads its listeners from a file, and that file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::network::Network;
use super::stats_tags::stats_tags;
use super::wasm_filter::wasm_filter;

/// What a test may choose about the listener in front of Weir.
#[derive(Clone)]
pub struct Front {
    /// `false`: the last X-Forwarded-For entry is the client, so that a test can be anybody. `true`: the TCP peer is.
    pub use_remote_address: bool,
    pub trusted_hops: u32,
    /// Named routes by path prefix, read in this order, before the route `default`.
    pub routes: Vec<(String, String)>,
    /// What happens to a connection before HTTP.
    pub network: Network,
    /// A word on the listener, for what only one story needs, before `network` adds its part.
    pub edit: fn(&mut Value),
}

/// The files that a listener names.
pub struct Files {
    pub wasm: PathBuf,
    /// One line per request.
    pub access_log: PathBuf,
    /// One line per connection.
    pub connection_log: PathBuf,
    /// Numbers of networks.
    pub numbers: PathBuf,
}

impl Default for Front {
    fn default() -> Self {
        Front {
            use_remote_address: false,
            trusted_hops: 0,
            routes: Vec::new(),
            network: Network::default(),
            edit: |_| {},
        }
    }
}

pub fn bootstrap(listeners: &Path, upstream: SocketAddr) -> Value {
    json!({
        "node": { "id": "e2e", "cluster": "e2e" },
        "admin": { "address": address("127.0.0.1", 0) },
        "dynamic_resources": {
            "lds_config": { "resource_api_version": "V3", "path_config_source": { "path": listeners } },
        },
        "static_resources": { "clusters": [cluster("upstream", upstream), cluster("dead", DEAD)] },
        "stats_config": { "stats_tags": stats_tags() },
    })
}

/// Nobody listens on port 1.
const DEAD: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

/// Speaks to the upstream as the client speaks to Envoy, so that gRPC arrives as HTTP/2.
fn cluster(name: &str, upstream: SocketAddr) -> Value {
    json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "5s",
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "use_downstream_protocol_config": { "http_protocol_options": {}, "http2_protocol_options": {} },
            },
        },
        "circuit_breakers": { "thresholds": [
            { "max_connections": 10_000, "max_pending_requests": 10_000, "max_requests": 10_000 },
        ] },
        "load_assignment": { "cluster_name": name, "endpoints": [{ "lb_endpoints": [
            { "endpoint": { "address": address(&upstream.ip().to_string(), upstream.port()) } },
        ] }] },
    })
}

/// The content of the listeners' file.
pub fn listeners(version: u64, listeners: Vec<Value>) -> Value {
    json!({ "version_info": version.to_string(), "resources": listeners })
}

/// One listener with Weir, under the listener's name, as its only HTTP filter before the router.
pub fn listener(name: &str, port: u16, front: &Front, weir: &str, files: &Files) -> Value {
    let routes = front.routes.iter().map(|(route, prefix)| (route.as_str(), prefix.as_str()));
    let routes: Vec<Value> = routes
        .chain([("default", "/")])
        .map(|(route, prefix)| json!({ "name": route, "match": { "prefix": prefix }, "route": { "cluster": "upstream" } }))
        .collect();
    let mut listener = json!({
        "@type": "type.googleapis.com/envoy.config.listener.v3.Listener",
        "name": name,
        "address": address("127.0.0.1", port),
        "access_log": [connection_log_to(&files.connection_log)],
        "filter_chains": [{ "filters": [{
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                "stat_prefix": name,
                "codec_type": "AUTO",
                "use_remote_address": front.use_remote_address,
                "xff_num_trusted_hops": front.trusted_hops,
                "generate_request_id": false,
                "http_filters": [wasm_filter(name, "weir", &files.wasm, weir), {
                    "name": "envoy.filters.http.router",
                    "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
                }],
                "access_log": [access_log_to(&files.access_log)],
                "route_config": { "name": name, "virtual_hosts": [
                    { "name": "everything", "domains": ["*"], "routes": routes },
                ] },
            },
        }] }],
    });
    (front.edit)(&mut listener);
    front.network.extend(&mut listener, name, files);
    listener
}

fn access_log_to(path: &Path) -> Value {
    json_log(
        path,
        json!({
            "status": "%RESPONSE_CODE%",
            "details": "%RESPONSE_CODE_DETAILS%",
            "decision": "%FILTER_STATE(wasm.weir.decision:PLAIN)%",
            "reason": "%FILTER_STATE(wasm.weir.reason:PLAIN)%",
            "client": "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
            "method": "%REQ(:METHOD)%",
            "path": "%REQ(:PATH)%",
            "connection": "%CONNECTION_ID%",
            "ja3": "%FILTER_STATE(weir.ja3:PLAIN)%",
            "ja4": "%FILTER_STATE(weir.ja4:PLAIN)%",
            "asn": "%FILTER_STATE(envoy.geoip:FIELD:x-asn)%",
            "flags": "%RESPONSE_FLAGS%",
        }),
    )
}

fn connection_log_to(path: &Path) -> Value {
    json_log(
        path,
        json!({
            "connection": "%CONNECTION_ID%",
            "peer": "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
            "ja3": "%FILTER_STATE(weir.ja3:PLAIN)%",
            "ja4": "%FILTER_STATE(weir.ja4:PLAIN)%",
            "flags": "%RESPONSE_FLAGS%",
            "failure": "%DOWNSTREAM_TRANSPORT_FAILURE_REASON%",
            "details": "%CONNECTION_TERMINATION_DETAILS%",
        }),
    )
}

/// One JSON object per line; what is absent is null.
fn json_log(path: &Path, format: Value) -> Value {
    json!({
        "name": "envoy.access_loggers.file",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
            "path": path,
            "log_format": { "json_format": format },
        },
    })
}

fn address(ip: &str, port: u16) -> Value {
    json!({ "socket_address": { "address": ip, "port_value": port } })
}
