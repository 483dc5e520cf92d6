//! What stands before HTTP in Envoy's configuration, for the end-to-end tests and the bench in Envoy.

use std::path::Path;

use serde_json::{Value, json};

use super::wasm_filter::plugin;

/// Reads the ClientHello and keeps its fingerprints.
pub fn tls_inspector() -> Value {
    json!({
        "name": "envoy.filters.listener.tls_inspector",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector",
            "enable_ja3_fingerprinting": true,
            "enable_ja4_fingerprinting": true,
        },
    })
}

/// TLS with this certificate.
pub fn tls_socket(chain_pem: &str, key_pem: &str) -> Value {
    json!({
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            "common_tls_context": {
                "alpn_protocols": ["h2", "http/1.1"],
                "tls_certificates": [{
                    "certificate_chain": { "inline_string": chain_pem },
                    "private_key": { "inline_string": key_pem },
                }],
            },
        },
    })
}

/// Before the TLS handshake, after the ClientHello was read. What has no value is not set.
pub fn set_filter_state(states: &[(String, String)]) -> Value {
    let write = |(key, text): &(String, String)| {
        json!({
            "object_key": key,
            "factory_key": "envoy.string",
            "format_string": { "text_format_source": { "inline_string": text }, "omit_empty_values": true },
            "skip_if_empty": true,
        })
    };
    json!({
        "name": "envoy.filters.network.set_filter_state",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.set_filter_state.v3.Config",
            "on_new_connection": states.iter().map(write).collect::<Vec<_>>(),
        },
    })
}

/// Without a configuration it has none: it goes by that of the HTTP filter of the same name.
pub fn companion(name: &str, wasm: &Path, configuration: &str) -> Value {
    let mut filter = json!({
        "name": "envoy.filters.network.wasm",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.wasm.v3.Wasm",
            "config": plugin(name, "weir_l4", "weir", wasm),
        },
    });
    if !configuration.is_empty() {
        filter["typed_config"]["config"]["configuration"] =
            json!({ "@type": "type.googleapis.com/google.protobuf.StringValue", "value": configuration });
    }
    filter
}
