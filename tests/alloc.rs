//! After warm-up a request allocates nothing: not when it passes, not when it is refused, not for a new client.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice
)] // a test fails by panicking

mod support;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::alloc::{GlobalAlloc, Layout, System};
use weir::engine::{Engine, InstanceId};
use weir::exchange::Own;
use weir::reply::Reply;
use weir::request::Request;
use weir::request::headers::{Headers, Pairs};
use weir::shared::{Cas, Store, StoreError};
use weir::time::Nanos;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: passes every call on to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Shared data whose own memory is not the engine's: what it keeps, it keeps in place.
#[derive(Clone)]
struct Shelf(std::rc::Rc<core::cell::RefCell<Vec<Stored>>>);

/// Key, value, version.
type Stored = (String, Vec<u8>, u32);

impl Store for Shelf {
    fn get(&mut self, key: &str, out: &mut Vec<u8>) -> Option<Cas> {
        out.clear();
        let shelf = self.0.borrow();
        let (_, value, version) = shelf.iter().find(|(known, ..)| known == key)?;
        out.extend_from_slice(value);
        Some(Cas(*version))
    }

    fn set(&mut self, key: &str, value: &[u8], _cas: Cas) -> Result<(), StoreError> {
        let mut shelf = self.0.borrow_mut();
        if !shelf.iter().any(|(known, ..)| known == key) {
            shelf.push((key.to_owned(), Vec::with_capacity(16 * 1024), 0));
        }
        let (_, stored, version) =
            shelf.iter_mut().find(|(known, ..)| known == key).ok_or(StoreError::Host)?;
        stored.clear();
        stored.extend_from_slice(value);
        *version += 1;
        Ok(())
    }
}

struct Worker {
    engine: Engine<Shelf>,
    id: InstanceId,
    reply: Reply,
    pairs: Pairs,
    now: Nanos,
}

impl Worker {
    fn request(&mut self, client: u32, key: &[u8]) {
        let mut source = [0u8; 32];
        let length = {
            use std::io::Write;
            let mut rest = &mut source[..];
            write!(rest, "{}:4711", core::net::Ipv4Addr::from(client)).unwrap();
            32 - rest.len()
        };
        self.pairs.clear();
        for (name, value) in [
            (":method", &b"GET"[..]),
            (":authority", b"shop.example"),
            (":path", b"/a//b/../%63?d"),
            ("x-api-key", key),
        ] {
            self.pairs.push(name, value);
        }
        let headers = Headers::parse(self.pairs.encode());
        let request = Request { source: Some(&source[..length]), route: None, headers };
        self.now = self.now + Nanos(50_000);
        let (decision, ticket) = self.engine.on_request(self.id, &request, self.now);
        if let Some(ruling) = decision.rulings.enforced {
            self.reply.write(&ruling, &request);
        }
        self.engine.on_complete(ticket);
    }
}

#[test]
fn a_request_allocates_nothing_after_warm_up() {
    let config = r#"{"mode": "enforce", "consumer": {"from": [{"header": "x-api-key"}]},
        "exempt": [{"path": "/healthz"}], "events": {"log": false}, "rules": [
        {"name": "client", "filter": {"max_req_rate": 5}, "action": ["log", "throttle"]},
        {"name": "path", "filter": {"max_req_rate": 5, "match": {"path_prefix": "/a"}}, "action": ["deny"]},
        {"name": "consumer", "filter": {"key": ["client", "consumer"], "max_req_rate": "10/m"}, "action": ["deny"]}]}"#;
    let shelf = Shelf(std::rc::Rc::default());
    let mut engine = Engine::new(shelf, Own { seed: [1; 16], nonce: 1 });
    let now = Nanos::from_secs(10);
    let id = engine.configure("weir", support::plan(config), now);
    let mut worker = Worker { engine, id, reply: Reply::default(), pairs: Pairs::default(), now };
    let mut round = |first: u32| {
        for i in 0..20_000u32 {
            worker.request(0x0a00_0000 + if i % 4 == 0 { 0 } else { first + i }, b"key");
        }
    };
    round(0); // every shard was asked once, every buffer has its size
    round(0);
    let before = ALLOCATIONS.load(Relaxed);
    round(1_000_000);
    assert_eq!(ALLOCATIONS.load(Relaxed) - before, 0, "allocations in 20,000 requests, most of new clients");
}
