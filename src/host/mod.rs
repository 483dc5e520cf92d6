//! The proxy-wasm adapter.
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

proxy_wasm::main! {{
    proxy_wasm::set_root_context(|_| Box::new(Root));
}}

struct Root;
impl Context for Root {}
impl RootContext for Root {
    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
    fn create_http_context(&self, _id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Stream))
    }
}
struct Stream;
impl Context for Stream {}
impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _n: usize, _e: bool) -> Action {
        Action::Continue
    }
}
