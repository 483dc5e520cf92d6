//! A wasm module as a filter of Envoy.

use std::path::Path;

use serde_json::{Value, json};

/// The HTTP filter `name`, whose root and VM go by `id`.
pub fn wasm_filter(name: &str, id: &str, wasm: &Path, configuration: &str) -> Value {
    let mut config = plugin(name, id, id, wasm);
    config["configuration"] = json!({
        "@type": "type.googleapis.com/google.protobuf.StringValue",
        "value": configuration,
    });
    json!({
        "name": "envoy.filters.http.wasm",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": config,
        },
    })
}

/// What HTTP and network filters have in common, without configuration: the same `vm_id` and module are one VM.
pub fn plugin(name: &str, root_id: &str, vm_id: &str, wasm: &Path) -> Value {
    json!({
        "name": name,
        "root_id": root_id,
        "failure_policy": "FAIL_RELOAD",
        "vm_config": {
            "vm_id": vm_id,
            "runtime": "envoy.wasm.runtime.v8",
            "code": { "local": { "filename": wasm } },
        },
    })
}
