//! The Envoys whose connections are compared: TLS, and what may refuse a connection.

use std::path::Path;

use serde_json::{Value, json};

use super::visitors::Crowd;
use crate::front::Front;
use crate::network_filters::{companion, set_filter_state};
use crate::wasm_filter::wasm_filter;

/// What stands in the file where the fingerprint of [`Crowd::Tool`] belongs.
const SOME_JA4: &str = "t13d000000_000000000000_000000000000";

/// One kind of Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Plain,
    /// Fingerprints are computed and put where Weir would find them.
    Fingerprints,
    /// The same and Weir's HTTP filter.
    WeirHttp,
    /// The same and Weir's network filter.
    Weir,
    ChainMatch,
    RbacNetwork,
    RbacHttp,
    LocalRatelimit,
    /// The same behind fingerprints, as Weir is.
    FingerprintsRatelimit,
}

impl Edge {
    pub const ALL: [Edge; 9] = [
        Edge::Plain,
        Edge::Fingerprints,
        Edge::WeirHttp,
        Edge::Weir,
        Edge::ChainMatch,
        Edge::RbacNetwork,
        Edge::RbacHttp,
        Edge::LocalRatelimit,
        Edge::FingerprintsRatelimit,
    ];

    /// Its configuration.
    pub fn front(self, transport: Value, weir: &Path, ja4: &str) -> Front {
        let mut front = Front { transport: Some(transport), clients_are_peers: true, ..Front::default() };
        if self.computes_fingerprints() {
            front.fingerprints = true;
            front.network.push(fingerprints());
        }
        match self {
            Edge::Plain | Edge::Fingerprints => {}
            Edge::WeirHttp => front.http = Some(weir_filter(weir, ja4)),
            Edge::Weir => {
                front.network.push(companion("weir", weir, ""));
                front.http = Some(weir_filter(weir, ja4));
            }
            Edge::ChainMatch => front.turned_away = Some(Crowd::Banned.network()),
            Edge::RbacNetwork => front.network.push(rbac_network()),
            Edge::RbacHttp => front.http = Some(rbac_http()),
            Edge::LocalRatelimit | Edge::FingerprintsRatelimit => front.network.push(local_ratelimit()),
        }
        front
    }

    fn computes_fingerprints(self) -> bool {
        matches!(self, Edge::Fingerprints | Edge::WeirHttp | Edge::Weir | Edge::FingerprintsRatelimit)
    }
}

fn weir_filter(wasm: &Path, ja4: &str) -> Value {
    let configuration = include_str!("../../config/connections.json").replace(SOME_JA4, ja4);
    wasm_filter("weir", "weir", wasm, &configuration)
}

fn fingerprints() -> Value {
    let state = |name: &str, text: &str| (format!("weir.{name}"), text.to_owned());
    set_filter_state(&[state("ja3", "%TLS_JA3_FINGERPRINT%"), state("ja4", "%TLS_JA4_FINGERPRINT%")])
}

fn rbac_network() -> Value {
    json!({
        "name": "envoy.filters.network.rbac",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC",
            "stat_prefix": "bench",
            "rules": deny("direct_remote_ip"),
        },
    })
}

fn rbac_http() -> Value {
    json!({
        "name": "envoy.filters.http.rbac",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
            "rules": deny("remote_ip"),
        },
    })
}

fn deny(address: &str) -> Value {
    let network = json!({ "address_prefix": Crowd::Banned.network(), "prefix_len": 24 });
    json!({ "action": "DENY", "policies": { "banned": {
        "permissions": [{ "any": true }],
        "principals": [{ address: network }],
    } } })
}

/// One connection an hour, whosever it is: this filter knows no clients.
fn local_ratelimit() -> Value {
    json!({
        "name": "envoy.filters.network.local_ratelimit",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.local_ratelimit.v3.LocalRateLimit",
            "stat_prefix": "bench",
            "token_bucket": { "max_tokens": 1, "tokens_per_fill": 1, "fill_interval": "3600s" },
        },
    })
}
