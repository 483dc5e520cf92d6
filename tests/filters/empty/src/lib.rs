//! The empty filter. Envoy enters the VM for each callback that the SDK exports, finds nothing to do and leaves.

use proxy_wasm::main;
use proxy_wasm::traits::{Context, HttpContext};

struct Empty;

impl Context for Empty {}

impl HttpContext for Empty {}

main! {{
    proxy_wasm::set_http_context(|_, _| Box::new(Empty));
}}
