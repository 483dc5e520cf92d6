use super::*;
use crate::counters::bucket::Charge;
use crate::hash::Key;
use crate::identity;
use crate::identity::key::{Caller, KeySpec};
use crate::identity::subjects::Memos;
use crate::request::fingerprint::{Fingerprints, Layout};
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

    fn look(&mut self, key: Key, quota: &Quota, _now: Nanos) -> Verdict {
        let charged = self.0.iter().find(|(known, _)| *known == key).map_or(0, |(_, charged)| *charged);
        if charged < quota.burst { Verdict::Admit } else { Verdict::Refuse { wait: Nanos(2) } }
    }
}

const NONE: [u16; 0] = [];
const SEED: Seed = Seed([1; 16]);

fn rule(name: &str) -> Rule {
    let quota = Quota { interval: Nanos::from_secs(1), burst: 1, charge: Charge::Admitted };
    Rule {
        name: name.into(),
        enabled: true,
        rates: Rates([Some(quota), None, None]),
        prints: Prints::default(),
        only: None,
        matches: Match::default(),
        key: Keys::CLIENT,
        answers_requests: true,
    }
}

fn settings(rules: Vec<Rule>) -> Settings {
    let claimed = [Prefixes::of(["198.51.100.0/24"]), Prefixes::default(), Prefixes::default()];
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
    matched_at(Rate::Requests, settings, meter, requests)
}

/// The same for anything that happens.
fn matched_at(happens: Rate, settings: &Settings, meter: &mut Count, requests: &[&str]) -> Vec<u16> {
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
        let facts = Facts { happens, request: &request, paths };
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

/// A rule that admits one of each of these.
fn counting(name: &str, kinds: &[Rate]) -> Rule {
    let quota = rule(name).rates.0[0];
    let mut rates = Rates::default();
    kinds.iter().for_each(|kind| rates.0[*kind as usize] = quota);
    Rule { rates, ..rule(name) }
}

#[test]
fn a_rule_with_two_rates_matches_who_exceeds_both_and_charges_what_happens_alone() {
    let settings = settings(vec![counting("both", &[Rate::Requests, Rate::Connections])]);
    let (mut meter, who) = (Count::default(), "192.0.2.1:1");
    assert_eq!(matched(&settings, &mut meter, &[who, who, who]), NONE, "no connection was counted yet");
    assert_eq!(
        matched_at(Rate::Connections, &settings, &mut meter, &[who]),
        NONE,
        "the first is within its rate"
    );
    assert_eq!(matched_at(Rate::Connections, &settings, &mut meter, &[who]), [0]);
    assert_eq!(matched(&settings, &mut meter, &[who]), [0]);
    assert_eq!(meter.0.iter().map(|(_, charged)| *charged).collect::<Vec<_>>(), [4, 2]);
}

#[test]
fn who_makes_too_many_errors_is_answered_at_its_requests_where_the_rule_has_an_answer_to_these() {
    let silent = Rule { answers_requests: false, ..counting("silent", &[Rate::Errors]) };
    let settings = settings(vec![silent, counting("answers", &[Rate::Errors])]);
    let (mut meter, who) = (Count::default(), "192.0.2.1:1");
    assert_eq!(matched(&settings, &mut meter, &[who]), NONE);
    assert_eq!(matched_at(Rate::Errors, &settings, &mut meter, &[who, who]), [0, 1]);
    assert_eq!(matched(&settings, &mut meter, &[who]), [1]);
    assert_eq!(matched(&settings, &mut meter, &["192.0.2.2:1"]), NONE, "another client");
    assert_eq!(matched_at(Rate::Connections, &settings, &mut meter, &[who]), NONE);
}

#[test]
fn a_list_claims_its_addresses_for_its_own_kind_of_rate() {
    let settings = settings(vec![counting("all", &[Rate::Connections])]);
    let listed = "198.51.100.9:1";
    assert_eq!(matched_at(Rate::Connections, &settings, &mut Count::default(), &[listed, listed]), [0]);
}

#[test]
fn a_rule_for_fingerprints_is_for_the_addresses_that_it_lists_and_no_other_rule_takes_any_from_it() {
    let prints = || Prints(Box::new([Listed { place: 0, values: Box::new([(*b"a").into()]) }]));
    let listed =
        Rule { only: Some(Prefixes::of(["203.0.113.0/24"])), prints: prints(), ..counting("listed", &[]) };
    let open = Rule { prints: prints(), ..counting("open", &[]) };
    let settings = settings(vec![listed, open]);
    let mut fingerprints = Fingerprints::NONE;
    fingerprints.set(0, Layout::Opaque, b"a");
    let matched = |source: &str| {
        let mut rules = Rules::new(&settings, &SEED, 0);
        let (keys, identity) = (keys().0, identity::Settings::default());
        let mut memos = Memos::new(&keys);
        let source = Some(source.as_bytes());
        let request = Request { source, fingerprints: &fingerprints, ..Request::default() };
        let facts = Facts { happens: Rate::Connections, request: &request, paths: Paths::default() };
        let mut subjects = Subjects::of(Caller::of(&identity, &request), &keys, SEED, &mut memos);
        let found = rules.observe(&settings, &facts, &mut subjects, &mut Count::default(), Nanos::ZERO);
        found.hits.iter().map(|hit| hit.rule).collect::<Vec<_>>()
    };
    assert_eq!(matched("203.0.113.7:1"), [0, 1]);
    assert_eq!(matched("192.0.2.1:1"), [1]);
    assert_eq!(matched("198.51.100.9:1"), [1], "which a list claims for its rate");
}

#[test]
fn a_rule_for_fingerprints_nobody_has_matches_and_charges_nobody() {
    let prints = || Prints(Box::new([Listed { place: 0, values: Box::new([(*b"a").into()]) }]));
    let by_rate = Rule { prints: prints(), ..rule("rate") };
    let alone = Rule { prints: prints(), ..counting("alone", &[]) };
    let settings = settings(vec![by_rate, alone]);
    let mut meter = Count::default();
    assert_eq!(matched(&settings, &mut meter, &["192.0.2.1:1", "192.0.2.1:1"]), NONE);
    assert_eq!(matched_at(Rate::Connections, &settings, &mut meter, &["192.0.2.1:1"]), NONE);
    assert!(meter.0.is_empty());
}
