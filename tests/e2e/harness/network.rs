//! What Envoy does with a connection before HTTP: TLS, fingerprints, the client's network, Weir's companion.

use std::path::Path;

use serde_json::{Value, json};

use super::envoy::Files;
use super::network_filters::{companion, set_filter_state, tls_inspector, tls_socket};
use super::tls;

/// What a test may choose about connections.
#[derive(Clone, Default)]
pub struct Network {
    /// TLS alone, with JA3 and JA4 in the filter states `weir.ja3` and `weir.ja4`.
    pub tls: bool,
    /// Fixed text by filter state, written when a connection comes.
    pub states: Vec<(String, String)>,
    /// Numbers by network, for Envoy's look-up in the filter state `envoy.geoip`, field `x-asn`.
    pub numbers: Option<Vec<(String, u32)>>,
    /// Weir as network filter, in the HTTP filter's VM, with this configuration.
    pub companion: Option<String>,
    /// The companion's name, if it is not the HTTP filter's.
    pub companion_name: Option<String>,
}

impl Network {
    /// Puts the chosen filters before the connection manager, in the order in which each finds what it needs.
    pub fn extend(&self, listener: &mut Value, name: &str, files: &Files) {
        let mut filters = Vec::new();
        let mut states = self.states.clone();
        if self.tls {
            listener["listener_filters"] = json!([tls_inspector()]);
            let certificate = tls::certificate();
            listener["filter_chains"][0]["transport_socket"] =
                tls_socket(&certificate.chain_pem, &certificate.key_pem);
            states.push(("weir.ja3".to_owned(), "%TLS_JA3_FINGERPRINT%".to_owned()));
            states.push(("weir.ja4".to_owned(), "%TLS_JA4_FINGERPRINT%".to_owned()));
        }
        if !states.is_empty() {
            filters.push(set_filter_state(&states));
        }
        if self.numbers.is_some() {
            filters.push(geoip(&files.numbers));
        }
        if let Some(configuration) = &self.companion {
            let name = self.companion_name.as_deref().unwrap_or(name);
            filters.push(companion(name, &files.wasm, configuration));
        }
        let all = listener["filter_chains"][0]["filters"].as_array_mut().unwrap();
        all.splice(0..0, filters);
    }
}

fn geoip(numbers: &Path) -> Value {
    json!({
        "name": "envoy.filters.network.geoip",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.geoip.v3.Geoip",
            "stat_prefix": "geoip",
            "provider": {
                "name": "envoy.geoip_providers.maxmind",
                "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.geoip_providers.maxmind.v3.MaxMindConfig",
                    "common_provider_config": { "geo_field_keys": { "asn": "x-asn" } },
                    "asn_db_path": numbers,
                },
            },
        },
    })
}
