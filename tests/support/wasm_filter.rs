//! A wasm module as an HTTP filter of Envoy.

use std::path::Path;

use serde_json::{Value, json};

/// The filter `name`, whose root and VM go by `id`.
pub fn wasm_filter(name: &str, id: &str, wasm: &Path, configuration: &str) -> Value {
    json!({
        "name": "envoy.filters.http.wasm",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": {
                "name": name,
                "root_id": id,
                "failure_policy": "FAIL_RELOAD",
                "vm_config": {
                    "vm_id": id,
                    "runtime": "envoy.wasm.runtime.v8",
                    "code": { "local": { "filename": wasm } },
                },
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": configuration,
                },
            },
        },
    })
}
