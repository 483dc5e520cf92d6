//! The proxy-wasm adapter: the only room that knows Envoy. It turns host bytes into facts, calls the engine, and
//! carries out what was decided. Built for wasm32 only.
//!
//! * [`root`]: configuration and the tick.  * [`http_stream`]: one request.  * [`tcp_stream`]: one connection, and
//!   [`closing`]: its end.
//! * [`attributes`]: what is read of either.  * [`reply`], [`events`], [`stats`]: what goes out.
//! * [`webhook`]: events, posted.  * [`queues`]: what other workers tell this one at once.  * [`shared`]: shared data.  * [`clock`]: time.
//! * [`abi`]: the host's functions, none of which can panic.
//!
//! All state of a worker is in one [`Worker`] in this VM's statics: it outlives root contexts, which a reload
//! replaces. A VM has one thread. No host call that calls back into the VM is made while the worker is borrowed,
//! except memory allocation, which touches none of it.

mod abi;
mod attributes;
mod clock;
mod closing;
mod events;
mod http_stream;
mod queues;
mod reply;
mod root;
mod shared;
mod stats;
mod tcp_stream;
mod webhook;

use crate::engine::Engine;
use crate::exchange::Own;
use core::cell::RefCell;
use proxy_wasm::types::LogLevel;
use shared::HostStore;

proxy_wasm::main! {{
    proxy_wasm::set_log_level(LogLevel::Warn); // also makes a panic say where it was
    proxy_wasm::set_root_context(|id| Box::new(root::Root::new(id)));
}}

/// All state of one VM.
struct Worker {
    engine: Engine<HostStore>,
    stats: stats::Stats,
    reply: crate::reply::Reply,
    ear: queues::Ear,
    /// It was said that a connection could not be ended.
    said_close_fails: bool,
    /// Connections that nothing said how to judge.
    unjudged: u32,
    /// Requests that came while connections were to be counted, and nothing told of any.
    untold: u32,
}

thread_local! {
    static WORKER: RefCell<Worker> = RefCell::new(Worker {
        engine: Engine::new(HostStore, own_randomness()),
        stats: stats::Stats::default(),
        reply: crate::reply::Reply::default(),
        ear: queues::Ear::default(),
        said_close_fails: false,
        unjudged: 0,
        untold: 0,
    });
}

/// Runs `act` on the worker. `None` if it is in use, which would take a host call that calls back: the caller then
/// does nothing, which lets the request pass.
fn with_worker<T>(act: impl FnOnce(&mut Worker) -> T) -> Option<T> {
    WORKER.with(|worker| worker.try_borrow_mut().ok().map(|mut worker| act(&mut worker)))
}

fn own_randomness() -> Own {
    let (mut seed, mut nonce) = ([0; 16], [0; 8]);
    abi::random(&mut seed);
    abi::random(&mut nonce);
    Own { seed, nonce: u64::from_le_bytes(nonce) }
}
