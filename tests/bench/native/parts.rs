//! Parts that have a cost of their own: configuration, path, address, reply.

use divan::{Bencher, black_box};
use weir::config;

use weir::counters::ewma::{Ewma, Span};
use weir::counters::histogram::Sliding;
use weir::hash::{Seed, mix};
use weir::policy::{Action, Actions, Cause, Limit, Mode, Response, Ruling};
use weir::reply::Reply;
use weir::request::headers::{Headers, Pairs};
use weir::request::{Request, address, path};
use weir::time::Nanos;

/// The rules of a small and of a very large configuration.
#[divan::bench(args = [1, 3, 100])]
fn parse_configuration(bencher: Bencher, rules: usize) {
    let rule = |n: usize| {
        format!(
            r#"{{"name": "rule_{n}", "filter": {{"max_req_rate": "{}/m", "match": {{"path_prefix": "/service/{n}/"}}}},
            "action": ["log", "throttle"]}}"#,
            n + 1
        )
    };
    let rules: Vec<String> = (0..rules).map(rule).collect();
    let text = format!(r#"{{"mode": "enforce", "rules": [{}]}}"#, rules.join(","));
    bencher.bench(|| config::parse(black_box(text.as_bytes())).unwrap());
}

#[divan::bench(args = ["198.51.100.7:49152", "[2001:db8:85a3::8a2e:370:7334]:49152"])]
fn read_address(text: &str) -> Option<core::net::IpAddr> {
    address::parse(black_box(text.as_bytes()))
}

#[divan::bench(args = ["/catalog/items?page=2&sort=price", "/a/%7Euser//b/../c/./d;v=1?q"])]
fn normalise_path(bencher: Bencher, raw: &str) {
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        path::normalise(black_box(raw.as_bytes()), &mut out);
        out.len()
    });
}

/// A client's address, and an API key.
#[divan::bench(args = [4, 16, 40])]
fn hash_subject(bencher: Bencher, bytes: usize) {
    let (seed, subject) = (Seed([7; 16]), vec![0x61; bytes]);
    bencher.bench(|| seed.hasher().part(1, black_box(&subject)).finish());
}

/// One bucket of time for one key's mean, and a gap of so many.
#[divan::bench(args = [1, 30])]
fn learn_mean(bencher: Bencher, gap: u32) {
    let (span, mut mean) = (Span::new(60), Ewma::default());
    bencher.bench_local(|| {
        mean.pass(&span, black_box(gap) - 1);
        mean.teach(&span, 80);
        mean.mean(&span)
    });
}

/// One latency.
#[divan::bench(sample_size = 10_000)]
fn record_latency(bencher: Bencher) {
    let (mut sliding, mut now) = (Sliding::new(Nanos::from_millis(200)), Nanos::ZERO);
    bencher.bench_local(|| {
        now = now + Nanos(20_000);
        sliding.record(Nanos(mix(now.0) >> 37).as_secs_f64(), now);
    });
}

/// The 95th percentile of two seconds.
#[divan::bench]
fn ask_percentile(bencher: Bencher) {
    let mut sliding = Sliding::new(Nanos::from_millis(200));
    (0..100_000).for_each(|n| sliding.record(Nanos(mix(n) >> 37).as_secs_f64(), Nanos(n * 20_000)));
    bencher.bench_local(|| sliding.latest(f64::MAX, 10, Nanos::from_secs(2)).percentile(black_box(0.95)));
}

/// A 429, by what the caller accepts.
#[divan::bench(args = ["text/html,application/xhtml+xml,*/*;q=0.8", "application/json"])]
fn write_reply(bencher: Bencher, accept: &str) {
    let mut pairs = Pairs::default();
    pairs.push(":method", b"GET");
    pairs.push("accept", accept.as_bytes());
    pairs.push("origin", b"https://shop.example.com");
    let request = Request { headers: Headers::parse(pairs.encode()), ..Request::default() };
    let actions = Actions::only(Action::Throttle);
    let limit = Some(Limit { requests: 200, window: Nanos::from_secs(2), wait: Nanos::from_millis(2500) });
    let ruling = Ruling {
        cause: Cause::Rule(0),
        response: Response { mode: Mode::Enforce, actions },
        counted: None,
        limit,
    };
    let mut reply = Reply::default();
    bencher.bench_local(|| {
        reply.write(black_box(&ruling), &request);
        reply.headers.encode().len()
    });
}

/// The challenge's signatures: a puzzle is made, an answer to one checked and rewarded, a clearance read.
mod challenge {
    use divan::{Bencher, black_box};
    use weir::challenge::Settings;
    use weir::challenge::clearance::Visit;
    use weir::challenge::puzzle::Puzzle;
    use weir::challenge::secret::{Secret, Secrets};
    use weir::challenge::work;
    use weir::request::Request;
    use weir::request::headers::{Headers, Pairs};

    const NOW: u32 = 1_790_000_000;
    const PUZZLE: Puzzle = Puzzle { difficulty: 18, by_waiting: true, made: NOW, number: 7 };

    fn secrets() -> Secrets {
        Secrets { current: Secret::of_operator("correct horse battery"), previous: None }
    }

    fn visit<T>(cookie: &str, act: impl FnOnce(&Visit) -> T) -> T {
        let mut pairs = Pairs::default();
        pairs.push("user-agent", b"Mozilla/5.0");
        pairs.push("cookie", cookie.as_bytes());
        let request = Request { headers: Headers::parse(pairs.encode()), ..Request::default() };
        let (settings, secrets) = (Settings::default(), secrets());
        let address = "203.0.113.7".parse().ok();
        act(&Visit { settings: &settings, secrets: &secrets, request: &request, address, now: NOW })
    }

    #[divan::bench]
    fn make_puzzle(bencher: Bencher) {
        let (secrets, mut token) = (secrets(), String::new());
        bencher.bench_local(|| {
            token.clear();
            black_box(PUZZLE).seal(&secrets, &mut token);
        });
    }

    #[divan::bench]
    fn check_answer(bencher: Bencher) {
        let mut token = String::new();
        PUZZLE.seal(&secrets(), &mut token);
        let counter = work::solve(&token, 18);
        visit("", |visit| {
            let mut cookie = String::new();
            bencher.bench_local(|| {
                let puzzle =
                    Puzzle::check(visit.secrets, black_box(token.as_bytes()), Some(counter.as_bytes()), NOW);
                cookie.clear();
                puzzle.map(|puzzle| visit.clear(&puzzle, &mut cookie))
            })
        });
    }

    #[divan::bench]
    fn read_clearance(bencher: Bencher) {
        let mut cookie = String::from("weir_clearance=");
        let clearance = visit("", |visit| {
            let mut out = String::new();
            visit.clear(&PUZZLE, &mut out);
            out
        });
        cookie.push_str(&clearance);
        visit(&cookie, |visit| bencher.bench_local(|| black_box(visit).cleared().is_some()));
    }
}
