//! The two Envoys: the same front, and one filter that differs.

use std::path::{Path, PathBuf};

use super::front::Front;
pub use super::proxy::Proxy;
use super::wasm_filter::wasm_filter;

/// What the show is made of.
#[derive(Clone, Debug)]
pub struct Binaries {
    pub envoy: PathBuf,
    pub weir: PathBuf,
    pub naive: PathBuf,
}

/// Who protects an Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Weir,
    Naive,
}

impl Side {
    pub const BOTH: [Side; 2] = [Side::Weir, Side::Naive];

    pub fn name(self) -> &'static str {
        match self {
            Side::Weir => "Weir",
            Side::Naive => "naive limiter",
        }
    }

    /// Its place in arrays of both.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Starts its Envoy, which answers every request that passes by itself.
    ///
    /// # Errors
    /// It does not become ready: the message has the end of its log.
    pub fn start(self, binaries: &Binaries, workers: usize, folder: &Path) -> Result<Proxy, String> {
        let filter = match self {
            Side::Weir => wasm_filter("weir", "weir", &binaries.weir, CONFIGURATION),
            Side::Naive => wasm_filter("naive", "naive", &binaries.naive, ""),
        };
        let front = Front { http: Some(filter), ..Front::default() };
        let folder = folder.join(self.name().replace(' ', "-"));
        Proxy::start_with(workers, &binaries.envoy, &folder, &front)
    }
}

/// Weir's: to each client what the naive limiter gives it, and what can be said of a crowd. It holds nobody
/// (`tarpit_threshold` is `threshold`): with a few hundred held at once the attack would wait for them.
pub const CONFIGURATION: &str = include_str!("weir.json");
