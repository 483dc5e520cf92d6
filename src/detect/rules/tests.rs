use super::*;
use crate::counters::bucket::Charge;
use crate::hash::Key;
use crate::identity;
use crate::identity::key::{Caller, KeySpec};
use crate::identity::subjects::Memos;
use crate::request::headers::{Headers, Pairs};
use crate::request::path::{Paths, normalise, normalise_with_parameters};

/// Admits each key `burst` times and remembers who was charged.
#[derive(Default)]
struct Count(Vec<(Key, u32)>);

impl Meter for Count {
    fn charge(&mut self, key: Key, quota: &Quota, _now: Nanos) -> Verdict {
        let at = self.0.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.0.push((key, 0));
            self.0.len() - 1
        });
        self.0[at].1 += 1;
        if self.0[at].1 <= quota.burst { Verdict::Admit } else { Verdict::Refuse { wait: Nanos(1) } }
    }
}

const NONE: [u16; 0] = [];
const SEED: Seed = Seed([1; 16]);

fn rule(name: &str) -> Rule {
    let quota = Quota { interval: Nanos::from_secs(1), burst: 1, charge: Charge::Admitted };
    Rule {
        name: name.into(),
        enabled: true,
        requests: Some(quota),
        only: None,
        matches: Match::default(),
        key: Keys::CLIENT,
    }
}

fn settings(rules: Vec<Rule>) -> Settings {
    let claimed = Prefixes::of(["198.51.100.0/24"]);
    Settings { rules: rules.into(), claimed }
}

/// The usual keys, and the tenant.
fn keys() -> (Keys, KeyIndex) {
    let mut keys = Keys::default();
    let tenant = keys.index(KeySpec(Box::new([Part::Header("x-tenant".into())])));
    (keys, tenant)
}

/// Sends each request (`SOURCE METHOD HOST PATH`) in turn; gives the rules that matched the last one.
fn matched(settings: &Settings, meter: &mut Count, requests: &[&str]) -> Vec<u16> {
    let mut rules = Rules::new(settings, &SEED, 0);
    let (keys, _) = keys();
    let mut memos = Memos::new(&keys);
    let mut last = Vec::new();
    for request in requests {
        let mut words = request.split(' ');
        let source = words.next().unwrap();
        let mut pairs = Pairs::default();
        for (name, value) in [":method", ":authority", ":path", "x-tenant"].iter().zip(words) {
            pairs.push(name, value.as_bytes());
        }
        let request = Request {
            source: Some(source.as_bytes()),
            route: Some(b"checkout"),
            headers: Headers::parse(pairs.encode()),
            ..Request::default()
        };
        let mut path = Vec::new();
        normalise(request.path().unwrap_or_default(), &mut path);
        let identity = identity::Settings::default();
        let mut other = Vec::new();
        let has_other = normalise_with_parameters(request.path().unwrap_or_default(), &mut other);
        let paths = Paths { normal: Some(&path), other: has_other.then_some(&other) };
        let facts = Facts { request: &request, paths };
        let mut subjects = Subjects::of(Caller::of(&identity, &request), &keys, SEED, &mut memos);
        let found = rules.observe(settings, &facts, &mut subjects, meter, Nanos::ZERO);
        last = found.hits.iter().map(|hit| hit.rule).collect();
    }
    last
}

#[test]
fn every_rule_that_applies_is_charged_and_all_matches_are_reported_in_file_order() {
    let settings = settings(vec![rule("a"), Rule { enabled: false, ..rule("b") }, rule("c")]);
    let mut meter = Count::default();
    assert_eq!(matched(&settings, &mut meter, &["192.0.2.1:1 GET h /"]), NONE);
    assert_eq!(matched(&settings, &mut meter, &["192.0.2.1:2 GET h /"]), [0, 2]);
    assert_eq!(meter.0.len(), 2, "a disabled rule is not charged");
    assert_eq!(matched(&settings, &mut meter, &["192.0.2.2:1 GET h /"]), NONE, "another client");
}

#[test]
fn an_address_that_a_list_names_is_counted_by_that_rule_alone() {
    let listed = Rule { only: Some(Prefixes::of(["198.51.100.0/24"])), ..rule("listed") };
    let settings = settings(vec![rule("everybody"), listed]);
    let twice = |who: &str| matched(&settings, &mut Count::default(), &[who, who]);
    assert_eq!(twice("198.51.100.9:1 GET h /"), [1]);
    assert_eq!(twice("192.0.2.1:1 GET h /"), [0]);
}

#[test]
fn a_rule_applies_where_all_its_conditions_hold() {
    let matches = Match {
        host: Some(Host::Under(".example.com".into())),
        path_prefix: Some((*b"/api/").into()),
        methods: Box::new(["POST".into(), "PUT".into()]),
        route: Some("checkout".into()),
    };
    let settings = settings(vec![Rule { matches, ..rule("api") }]);
    let twice = |request: &str| matched(&settings, &mut Count::default(), &[request, request]);
    assert_eq!(twice("192.0.2.1:1 POST a.example.com /api/x"), [0]);
    assert_eq!(twice("192.0.2.1:1 PUT A.EXAMPLE.com:8443 //%61pi/../api/x?y"), [0]);
    assert_eq!(
        twice("192.0.2.1:1 PUT a.example.com /x/..;/api/y"),
        [0],
        "below /api/ where ; means parameters"
    );
    assert_eq!(twice("192.0.2.1:1 PUT a.example.com /api/..;/x"), [0], "below /api/ where it does not");
    assert_eq!(twice("192.0.2.1:1 GET a.example.com /api/x"), NONE);
    assert_eq!(twice("192.0.2.1:1 POST a.example.org /api/x"), NONE);
    assert_eq!(twice("192.0.2.1:1 POST a.example.com /apis"), NONE);
    assert_eq!(twice("192.0.2.1:1 POST"), NONE, "what is not known does not match");
}

#[test]
fn a_request_without_part_of_the_key_is_not_counted() {
    let settings = settings(vec![Rule { key: keys().1, ..rule("tenant") }]);
    let mut meter = Count::default();
    assert_eq!(matched(&settings, &mut meter, &["192.0.2.1:1 GET h /", "192.0.2.1:1 GET h /"]), NONE);
    assert!(meter.0.is_empty());
    assert_eq!(
        matched(&settings, &mut meter, &["192.0.2.1:1 GET h / acme", "192.0.2.2:1 GET h / acme"]),
        [0]
    );
}

#[test]
fn a_host_is_told_without_port_case_or_trailing_dot() {
    let exact = Host::Exactly("shop.example".into());
    for authority in ["shop.example", "SHOP.example:8080", "shop.example.", "shop.example.:1"] {
        assert!(exact.fits(authority.as_bytes()), "{authority}");
    }
    assert!(!exact.fits(b"a.shop.example") && !exact.fits(b"") && !exact.fits(b"\xff"));
    let under = Host::Under(".shop.example".into());
    assert!(under.fits(b"a.shop.example:1") && !under.fits(b"shop.example") && !under.fits(b".shop.example"));
    assert!(Host::Exactly("[2001:db8::1]".into()).fits(b"[2001:db8::1]:80"));
    assert!(Host::Exactly("[2001:db8::1]".into()).fits(b"[2001:db8::1]"));
}
