//! One request, from the host's bytes to a decision, and a worker's tick.

use divan::Bencher;
use weir::config;
use weir::engine::{Engine, InstanceId};
use weir::exchange::Own;
use weir::reply::Reply;
use weir::request::Request;
use weir::request::headers::{Headers, Pairs};
use weir::request::outcome::Outcome;
use weir::shared::mem::MemStore;

use crate::{At, Events, STEP, TICK};

const ONE_RULE: &str = include_str!("../config/one_rule.json");
const THREE_RULES: &str = include_str!("../config/three_rules.json");
const GUARD: &str = include_str!("../config/guard.json");
const EVERYTHING: &str = include_str!("../config/everything.json");

/// Clients far below the limit.
#[divan::bench(args = [1, 50_000], sample_size = TICK, sample_count = 60)]
fn one_rule(bencher: Bencher, clients: u32) {
    bench(bencher, ONE_RULE, clients);
}

/// Three rules that all apply, one of them by API key; paths are looked at.
#[divan::bench(args = [1, 50_000], sample_size = TICK, sample_count = 60)]
fn three_rules(bencher: Bencher, clients: u32) {
    bench(bencher, THREE_RULES, clients);
}

/// No rule, but the traffic guard as it is by default: route and client.
#[divan::bench(args = [1, 50_000], sample_size = TICK, sample_count = 60)]
fn guard(bencher: Bencher, clients: u32) {
    bench(bencher, GUARD, clients);
}

/// The three rules, all four dimensions of the guard, and every detector that counts.
#[divan::bench(args = [1, 50_000], sample_size = TICK, sample_count = 60)]
fn everything(bencher: Bencher, clients: u32) {
    bench(bencher, EVERYTHING, clients);
}

/// Clients far above the limit: all but one request per second and client is refused, and answered.
#[divan::bench(args = [1, 1_000], sample_size = TICK, sample_count = 60)]
fn refused(bencher: Bencher, clients: u32) {
    bench(bencher, &ONE_RULE.replace("1000000", "1"), clients);
}

/// One tick with 10,000 events of so many clients to tell the others.
#[divan::bench(args = [1, 1_000, 50_000], sample_size = 1, sample_count = 60)]
fn tick(bencher: Bencher, clients: u32) {
    crate::bench_tick(bencher, warm(ONE_RULE, clients), Worker::request, |worker, now| {
        worker.engine.on_tick(now);
    });
}

fn bench(bencher: Bencher, configuration: &str, clients: u32) {
    let (mut worker, mut events) = warm(configuration, clients);
    bencher.bench_local(|| worker.request(events.next()));
}

fn warm(configuration: &str, clients: u32) -> (Worker, Events) {
    let mut worker = Worker::new(configuration, clients);
    let mut events = Events::among(clients);
    events.warm_up(|at| worker.request(at));
    (worker, events)
}

struct Worker {
    engine: Engine<MemStore>,
    instance: InstanceId,
    reply: Reply,
    /// A browser's header section as Envoy encodes it, with an API key to be written over.
    headers: Vec<u8>,
    key_at: usize,
    /// By client: Envoy's `source.address`, and six digits.
    sources: Vec<(String, [u8; 6])>,
}

impl Worker {
    fn new(configuration: &str, clients: u32) -> Worker {
        let mut engine = Engine::new(MemStore::new(), Own { seed: [7; 16], nonce: 7 });
        let plan = config::parse(configuration.as_bytes()).unwrap();
        let instance = engine.configure("weir", plan, Events::among(1).now);
        let mut pairs = Pairs::default();
        for (name, value) in HEADERS {
            pairs.push(name, value.as_bytes());
        }
        let headers = pairs.encode().to_vec();
        let key_at = headers.windows(6).position(|bytes| bytes == b"000000").unwrap();
        let source = |client: u32| {
            let [_, _, high, low] = client.to_be_bytes();
            let digits = format!("{client:06}").into_bytes().try_into().unwrap();
            (format!("198.18.{high}.{low}:49152"), digits)
        };
        Worker {
            engine,
            instance,
            reply: Reply::default(),
            headers,
            key_at,
            sources: (0..clients).map(source).collect(),
        }
    }

    fn request(&mut self, at: At) {
        let (source, digits) = &self.sources[at.who as usize];
        self.headers[self.key_at..][..digits.len()].copy_from_slice(digits);
        let headers = Headers::parse(&self.headers);
        let request = Request {
            source: Some(source.as_bytes()),
            unix: Some(1_790_000_000),
            route: Some(b"catalog"),
            network: Some(b"64500"),
            fingerprints: Default::default(),
            headers,
        };
        let (decision, ticket) = self.engine.on_request(self.instance, &request, at.now);
        if let Some(ruling) = &decision.rulings.enforced {
            divan::black_box(self.engine.report(self.instance, &decision, &request, at.now));
            divan::black_box(self.reply.write(ruling, &request));
        }
        self.engine.on_complete(ticket, &Outcome::default());
        if at.tick {
            self.engine.on_tick(at.now + STEP);
        }
        divan::black_box(decision);
    }
}

const HEADERS: [(&str, &str); 11] = [
    (":authority", "shop.example.com"),
    (":path", "/catalog/items?page=2&sort=price"),
    (":method", "GET"),
    (":scheme", "https"),
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("accept-language", "en-GB,en;q=0.7,de;q=0.3"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("referer", "https://shop.example.com/catalog"),
    ("cookie", "session=4f1c2b7a9d; theme=dark; consent=1"),
    ("x-api-key", "key-000000"),
];
