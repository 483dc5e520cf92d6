use super::*;
use crate::config::{Errors, parse};
use crate::policy::Mode;
use crate::time::Nanos;

fn with(traffic: &str) -> Option<Settings> {
    let sections = r#""consumer": {"from": [{"header": "a"}]}, "network": {"asn": {"filter_state": "n"}}"#;
    let plan = parse(format!(r#"{{{sections}, "traffic": {traffic}}}"#).as_bytes());
    plan.unwrap_or_else(|errors| panic!("{errors}")).traffic
}

fn errors(traffic: &str) -> Errors {
    parse(format!(r#"{{"traffic": {traffic}}}"#).as_bytes()).unwrap_err()
}

fn on(settings: &Settings) -> [bool; 4] {
    settings.dimensions.map(|judge| judge.is_some())
}

#[test]
fn nothing_said_is_a_guard_over_all_that_can_be_told_apart() {
    let settings = with("null").unwrap();
    let judge = |floor, weight| Judge {
        factor: 3.0,
        deviations: schema::DEVIATIONS.default as f32,
        floor,
        weight,
        relearn_after: None,
    };
    let route = Judge { relearn_after: Some(360), ..judge(200.0, 40) };
    let dimensions = [route, judge(50.0, 40), judge(100.0, 40), judge(200.0, 30)];
    let expected = Settings {
        bucket: Nanos::from_secs(10),
        learning: Span::new(60),
        warmup: 6,
        dimensions: dimensions.map(Some),
        routes: Box::new([]),
    };
    assert_eq!(settings, expected);
    assert_eq!(with("{}"), Some(expected));
    assert_eq!(on(&parse(b"").unwrap().traffic.unwrap()), [true, true, false, false]);
}

#[test]
fn with_all_dimensions_off_nothing_is_learned() {
    assert_eq!(with(r#"{"route": false, "source": false, "consumer": false, "asn": false}"#), None);
    let source = with(r#"{"route": false, "consumer": false, "asn": false}"#).unwrap();
    assert_eq!(on(&source), [false, true, false, false]);
}

#[test]
fn what_is_asked_for_is_in_the_plan_even_where_nothing_can_be_counted() {
    let plan = parse(br#"{"traffic": {"asn": true}}"#).unwrap();
    assert_eq!(on(&plan.traffic.unwrap()), [true, true, false, true]);
}

#[test]
fn a_floor_is_a_rate_over_a_bucket() {
    let settings = with(r#"{"bucket_seconds": 2.5, "source_floor_rps": 4}"#).unwrap();
    assert_eq!(settings.bucket, Nanos::from_millis(2_500));
    assert_eq!(settings.dimensions[1].unwrap().floor, 10.0);
}

#[test]
fn a_sensitivity_is_a_factor_in_a_word() {
    for (word, factor) in [("low", 5.0), ("medium", 3.0), ("high", 2.0)] {
        let settings = with(&format!(r#"{{"sensitivity": "{word}"}}"#)).unwrap();
        assert_eq!(settings.dimensions[1].unwrap().factor, factor);
    }
}

#[test]
fn a_named_route_has_what_it_says_and_for_the_rest_what_all_routes_have() {
    let settings = with(
        r#"{"sensitivity": "high", "route_weight": 50, "route_floor_rps": 2, "relearn_after_buckets": 7,
            "surge_deviations": 1,
            "routes": {"checkout": {"surge_factor": 5.0, "relearn_after_buckets": 9}, "a b": {"route_weight": 1},
                       "quiet": {"sensitivity": "low", "route_floor_rps": 1, "surge_deviations": 0}, "none": null}}"#,
    );
    let settings = settings.unwrap();
    let all = Judge { factor: 2.0, deviations: 1.0, floor: 20.0, weight: 50, relearn_after: Some(7) };
    let named: [(Box<str>, Judge); 3] = [
        ("checkout".into(), Judge { factor: 5.0, relearn_after: Some(9), ..all }),
        ("a b".into(), Judge { weight: 1, ..all }),
        ("quiet".into(), Judge { factor: 5.0, floor: 10.0, deviations: 0.0, ..all }),
    ];
    assert_eq!((settings.dimensions[0], &*settings.routes), (Some(all), &named[..]));
}

#[test]
fn a_short_memory_has_a_warm_up_that_fits_it() {
    let warmup = |text: &str| with(text).unwrap().warmup;
    assert_eq!(warmup(r#"{"learning_buckets": 4}"#), 4);
    assert_eq!(warmup(r#"{"learning_buckets": 4, "warmup_buckets": 2}"#), 2);
    let errors = errors(r#"{"learning_buckets": 4, "warmup_buckets": 5}"#);
    assert_eq!(errors.iter().next().unwrap().place(), "traffic.warmup_buckets");
}

#[test]
fn too_many_routes_are_refused() {
    let routes: Vec<String> = (0..257).map(|i| format!(r#""r{i}": {{}}"#)).collect();
    let errors = errors(&format!(r#"{{"routes": {{{}}}}}"#, routes.join(",")));
    assert_eq!(errors.to_string(), "traffic.routes: has 257 entries; at most 250 are possible");
}

#[test]
fn the_guard_has_the_global_mode_or_its_own() {
    let mode = |text: &str| parse(text.as_bytes()).unwrap().traffic_mode;
    assert_eq!(mode("{}"), Mode::Observe);
    assert_eq!(mode(r#"{"mode": "enforce"}"#), Mode::Enforce);
    assert_eq!(mode(r#"{"mode": "enforce", "traffic": {"mode": "observe"}}"#), Mode::Observe);
}
