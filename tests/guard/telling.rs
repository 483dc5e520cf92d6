//! What operators hear of it.

use super::support::{Process, get};
use super::{A, B};
use serde_json::Value;

const CONFIG: &str = r#"{"mode": "enforce",
    "traffic": {"bucket_seconds": 1, "warmup_buckets": 2, "learning_buckets": 20, "route": false, "source_floor_rps": 10},
    "policy": {"why_header": "x-weir-why", "tiers": [{"min_score": 40, "action": "log"}, {"min_score": 60, "action": "deny"}],
               "ledger": {"limit": 200}, "ban": {"duration_seconds": 30}},
    "rules": [{"name": "r", "mode": "observe", "filter": {"max_req_rate": 1000}, "action": ["log", "throttle"]}]}"#;

fn lines(told: &super::support::Told) -> impl Iterator<Item = Value> {
    told.events.iter().map(|event| serde_json::from_str(&event.to_json(0)).unwrap())
}

#[test]
fn a_surge_is_told_once_per_key_and_minute_with_its_numbers() {
    let mut process = Process::new(2, &CONFIG.replace("deny", "log"));
    process.live(&[(get(A), 4.0), (get(B), 4.0)], 10);
    let mut surges: Vec<(f64, Value)> = Vec::new();
    process.play(&[(get(A), 30.0), (get(B), 30.0)], 130, |_, at, told| {
        surges.extend(lines(told).filter(|line| line["event.action"] == "surge").map(|line| (at, line)));
    });
    let of = |subject: &str| -> Vec<f64> {
        surges.iter().filter(|(_, line)| line["weir.subject"] == subject).map(|(at, _)| *at).collect()
    };
    for subject in ["client:203.0.113.7", "client:203.0.113.8"] {
        let times = of(subject);
        assert!((2..=3).contains(&times.len()), "{times:?}");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 60.0), "{times:?}");
    }
    let (_, line) = &surges[0];
    assert_eq!((&line["event.dataset"], &line["weir.category"]), (&"weir.traffic".into(), &"traffic".into()));
    assert_eq!(line["weir.signal"], "traffic:source_surge");
    let number = |name: &str| line[format!("weir.{name}")].as_f64().unwrap();
    assert!((3.0..5.0).contains(&number("baseline")), "{line}");
    assert!(number("threshold") >= 10.0 && number("count") > number("threshold"), "{line}");
    assert!(number("factor") > 1.0 && number("weight") >= 40.0, "{line}");
}

#[test]
fn a_ban_is_told_with_what_it_rests_on() {
    let mut process = Process::new(2, CONFIG);
    process.live(&[(get(A), 4.0)], 10);
    let mut bans = Vec::new();
    process.play(&[(get(A), 60.0)], 20, |_, _, told| {
        bans.extend(lines(told).filter(|line| line["event.action"] == "ban"));
    });
    assert_eq!(bans.len(), 1, "{bans:?}");
    let ban = &bans[0];
    for (field, value) in [
        ("event.dataset", "weir.bans"),
        ("weir.subject", "client:203.0.113.7"),
        ("weir.reason", "ledger"),
        ("weir.signals", "traffic:source_surge"),
        ("weir.until", "1970-01-01T00:00:30.000Z"),
    ] {
        assert_eq!(ban[field], value, "{ban}");
    }
    assert!(ban["weir.charged"].as_u64() >= Some(200) && ban["weir.score"].as_u64() >= Some(60), "{ban}");
}

#[test]
fn the_why_header_says_action_tier_score_signals_and_subject() {
    let mut process = Process::new(1, CONFIG);
    process.live(&[(get(A), 4.0)], 10);
    let mut seen = Vec::new();
    for _ in 0..60 {
        process.wait_ms(10);
        let told = process.decide_on(0, &get(A));
        if told.decision.is_told() {
            let instance = process.instance(0);
            let (header, why) = process.engine(0).why(instance).unwrap();
            assert_eq!(header, "x-weir-why");
            seen.push(why.to_owned());
        }
    }
    seen.dedup();
    for expected in [
        "action=log tier=40 score=40 signals=traffic:source_surge subject=client:203.0.113.7",
        "action=deny tier=60 score=60 signals=traffic:source_surge subject=client:203.0.113.7",
        "action=deny ban=ledger subject=client:203.0.113.7",
    ] {
        assert!(seen.iter().any(|why| why == expected), "{expected} in {seen:#?}");
    }
}

#[test]
fn there_is_no_why_unless_it_is_asked_for() {
    let mut process =
        Process::new(1, r#"{"rules": [{"name": "r", "filter": {"max_req_rate": 1}, "action": ["deny"]}]}"#);
    (0..3).for_each(|_| drop(process.decide_on(0, &get(A))));
    let instance = process.instance(0);
    assert_eq!(process.engine(0).why(instance), None);
    assert_eq!(process.engine(0).reason(), "rule=r client:203.0.113.7");
}

#[test]
fn a_header_that_says_why_never_breaks_in_two() {
    let config = r#"{"policy": {"why_header": "x-why"}, "rules": [
        {"name": "r", "filter": {"max_req_rate": 1, "key": "route"}, "action": ["deny"]}]}"#;
    let mut process = Process::new(1, config);
    (0..3).for_each(|_| drop(process.decide_on(0, &get(A).route("a\r\nset-cookie: x=\u{1f4a5}"))));
    let instance = process.instance(0);
    let (_, why) = process.engine(0).why(instance).unwrap();
    assert!(why.bytes().all(|b| b == b' ' || b.is_ascii_graphic()), "{why}");
    assert!(why.starts_with("action=observe:deny rule=r score=0 subject=route:a??set-cookie"), "{why}");
}

#[test]
fn events_are_off_where_they_are_switched_off() {
    let config = CONFIG.replacen(r#""mode""#, r#""events": {"log": false}, "mode""#, 1);
    let mut process = Process::new(1, &config);
    process.live(&[(get(A), 4.0)], 10);
    process.play(&[(get(A), 60.0)], 5, |_, _, told| assert!(told.events.is_empty()));
    assert_eq!(process.metric("weir_bans_active"), 1, "and everything else goes on");
}
