//! Stories of clients and limits, on fake time, against the engine that the module runs.

mod support;

use support::{Got, Process, get};
use weir::policy::Action;
use weir::request::Request;
use weir::request::headers::Headers;
use weir::time::Nanos;

/// One rule of `rate` with `burst` times its capacity.
fn rule(rate: &str, burst: f64, action: &str) -> String {
    format!(
        r#"{{"mode": "enforce", "rules": [{{"name": "r", "filter": {{"max_req_rate": {rate},
            "req_burst_multiplier": {burst}}}, "action": [{action}]}}]}}"#
    )
}

const A: &str = "203.0.113.7";
const B: &str = "203.0.113.8";

#[test]
fn exactly_the_burst_passes_and_then_the_rate() {
    for workers in [1, 2, 4] {
        let mut process = Process::new(workers, &rule("10", 4.0, r#""throttle""#));
        process.wait_ms(6000); // the roster knows who lives
        // Exact on one worker; on more, each may hold one allowance that the others have not heard of.
        let burst = process.passes(100, &get(A));
        assert!((40..=40 + workers - 1).contains(&burst), "{burst} of 40 at once on {workers} workers");
        assert_eq!(process.passes(1, &get(B)), 1, "another client");
        let admitted = process.stream(200, 20, &get(A));
        assert!((198..=202).contains(&admitted), "{admitted} of 200 in 20 s on {workers} workers");
    }
}

#[test]
fn a_page_of_a_hundred_pictures_loads_and_a_visitor_may_go_on() {
    let mut process = Process::new(2, &rule("10", 10.0, r#""throttle""#));
    process.wait_ms(6000);
    assert_eq!(process.stream(50, 2, &get(A)), 100);
    process.wait_ms(1000);
    assert_eq!(process.stream(10, 30, &get(A)), 300);
}

#[test]
fn who_is_denied_stays_out_until_quiet() {
    let mut process = Process::new(1, &rule("5", 2.0, r#""deny""#));
    process.wait_ms(6000);
    assert_eq!(process.passes(60, &get(A)), 10);
    assert_eq!(process.stream(10, 30, &get(A)), 0, "hammering on only deepens the debt");
    process.wait_ms(10_000);
    assert_eq!(process.call(&get(A)), Got::Refused(Action::Deny), "10 s repay 50 of some 200");
    process.wait(Nanos::from_secs(300));
    assert_eq!(process.call(&get(A)), Got::Pass, "no debt is deeper than 300 s");
}

#[test]
fn observe_mode_passes_everything_and_counts_what_it_would_have_done() {
    let enforce = rule("10", 2.0, r#""throttle""#);
    let mut refused = Vec::new();
    for (config, mode) in [(enforce.clone(), "enforce"), (enforce.replace("enforce", "observe"), "observe")] {
        let mut process = Process::new(2, &config);
        process.wait_ms(6000);
        let passed = process.passes(100, &get(A)) + process.stream(50, 10, &get(A));
        if mode == "observe" {
            assert_eq!(passed, 600);
        }
        refused.push(process.metric(&format!("weir_rules_matched_total.rule.r.mode.{mode}")));
        assert_eq!(
            process.metric(&format!("weir_actions_total.action.throttle.mode.{mode}")),
            refused[refused.len() - 1]
        );
    }
    assert!((refused[0] - refused[1]).abs() <= 2, "{refused:?}");
    assert!(refused[0] > 450, "{refused:?}");
}

#[test]
fn a_rule_that_observes_never_hides_one_that_binds_and_has_tokens_of_its_own() {
    let config = r#"{"mode": "enforce", "rules": [
        {"name": "trial", "mode": "observe", "filter": {"max_req_rate": 1}, "action": ["deny"]},
        {"name": "real", "filter": {"max_req_rate": 1, "req_burst_multiplier": 5}, "action": ["throttle"]}]}"#;
    let mut process = Process::new(1, config);
    assert_eq!(process.passes(20, &get(A)), 5);
    assert_eq!(process.call(&get(A)), Got::Refused(Action::Throttle));
    assert_eq!(process.metric("weir_rules_matched_total.rule.trial.mode.observe"), 20);
    assert_eq!(process.metric("weir_rules_matched_total.rule.real.mode.enforce"), 16);
}

#[test]
fn the_first_rule_in_the_file_that_matches_decides() {
    let config = r#"{"mode": "enforce", "rules": [
        {"name": "log", "filter": {"max_req_rate": 3, "match": {"path_prefix": "/a"}}, "action": ["log"]},
        {"name": "deny", "filter": {"max_req_rate": 5}, "action": ["deny"]}]}"#;
    let mut process = Process::new(1, config);
    assert_eq!(process.passes(20, &get(A).path("/a")), 20, "the log rule matches first and lets pass");
    assert_eq!(process.passes(1, &get(A).path("/b")), 0, "the deny rule was charged all the same");
}

#[test]
fn a_listed_address_has_its_own_rate_and_not_everybodys() {
    let config = r#"{"mode": "enforce", "rules": [
        {"name": "all", "filter": {"max_req_rate": 2}, "action": ["throttle"]},
        {"name": "partner", "filter": {"max_req_rate": 20, "rate_limited_ips": ["203.0.113.7"]}, "action": ["throttle"]}]}"#;
    let mut process = Process::new(1, config);
    assert_eq!(process.passes(50, &get(A)), 20);
    assert_eq!(process.passes(50, &get(B)), 2);
}

#[test]
fn no_header_that_a_client_chooses_gives_it_another_bucket() {
    let mut process = Process::new(1, &rule("1", 5.0, r#""throttle""#));
    let passed = (0..50)
        .filter(|i| {
            let (forged, port) = (format!("198.51.100.{i}"), format!("for=198.51.100.{i}"));
            let call = get(A)
                .header("x-forwarded-for", &forged)
                .header("forwarded", &port)
                .header("x-real-ip", &forged)
                .header("user-agent", &forged);
            process.call(&call) == Got::Pass
        })
        .count();
    assert_eq!(passed, 5);
}

#[test]
fn a_household_of_v6_addresses_is_one_client() {
    let mut process = Process::new(1, &rule("1", 5.0, r#""throttle""#));
    let passed = (1..50).filter(|i| process.call(&get(&format!("2001:db8::{i:x}"))) == Got::Pass).count();
    assert_eq!(passed, 5);
    assert_eq!(process.call(&get("2001:db8:0:1::1")), Got::Pass, "the neighbour");
}

#[test]
fn what_is_exempt_is_neither_limited_nor_counted() {
    let config = r#"{"mode": "enforce",
        "client": {"trusted_ips": ["198.51.100.0/24"], "proxies": ["10.0.0.0/8"]},
        "exempt": [{"path": "/healthz"}, {"path_prefix": "/internal/", "source": ["203.0.113.7"]}],
        "rules": [{"name": "r", "filter": {"max_req_rate": 1, "req_burst_multiplier": 3}, "action": ["deny"]}]}"#;
    let mut process = Process::new(1, config);
    let preflight = get(A)
        .method("OPTIONS")
        .header("origin", "https://a.example")
        .header("access-control-request-method", "PUT");
    assert_eq!(process.passes(100, &preflight), 100);
    assert_eq!(process.passes(100, &get(A).path("/healthz?probe")), 100);
    assert_eq!(process.passes(100, &get(A).path("/x/../internal//y")), 100);
    assert_eq!(process.passes(100, &get("198.51.100.9")), 100);
    assert_eq!(process.passes(100, &get("10.1.2.3")), 100, "a proxy stands for many users");
    assert_eq!(process.passes(10, &get(A)), 3, "none of it was charged");
    assert_eq!(process.passes(10, &get(B).path("/internal/y")), 3, "exempt from that source only");
    assert_eq!(process.metric("weir_requests_exempt_total.reason.path"), 200);
    assert_eq!(process.metric("weir_requests_exempt_total.reason.preflight"), 100);
    assert_eq!(process.metric("weir_requests_exempt_total.reason.trusted"), 100);
    assert_eq!(process.metric("weir_identity_suspect_total"), 100);
}

#[test]
fn a_proxy_met_in_place_of_a_client_is_logged_once() {
    let config = r#"{"client": {"proxies": ["10.0.0.0/8"]}}"#;
    let mut process = Process::new(4, config);
    let told =
        (0..400).filter(|i| process.decide_on(i % 4, &get("10.1.2.3")).decision.suspect.is_some()).count();
    assert_eq!(told, 1);
    assert_eq!(process.metric("weir_identity_suspect_total"), 400);
}

#[test]
fn a_consumer_is_limited_over_all_its_addresses() {
    let config = r#"{"mode": "enforce", "consumer": {"from": [{"header": "x-api-key"}]},
        "rules": [{"name": "r", "filter": {"key": "consumer", "max_req_rate": 1, "req_burst_multiplier": 5}, "action": ["throttle"]}]}"#;
    let mut process = Process::new(1, config);
    let passed = |process: &mut Process, key: &str| {
        (0..50)
            .filter(|i| process.call(&get(&format!("198.51.100.{i}")).header("x-api-key", key)) == Got::Pass)
            .count()
    };
    assert_eq!(passed(&mut process, "k1"), 5);
    assert_eq!(passed(&mut process, "k2"), 5);
    assert_eq!(process.passes(50, &get(A)), 50, "no key, no verdict");
    assert_eq!(process.metric("weir_facts_missing_total.fact.key"), 50);
}

#[test]
fn without_an_address_there_is_no_verdict_and_it_is_counted() {
    let rule =
        rule("1", 1.0, r#""deny""#).replace(r#""rules""#, r#""exempt": [{"path": "/healthz"}], "rules""#);
    let mut process = Process::new(1, &rule);
    for source in [None, Some(&b"\xff\xfe"[..]), Some(b""), Some(b"@/tmp/envoy.sock")] {
        let request = Request { source, headers: Headers::parse(&[]), ..Request::default() };
        for _ in 0..10 {
            assert!(process.decide_raw(0, &request).decision.ruling().is_none());
        }
    }
    assert_eq!(process.metric("weir_facts_missing_total.fact.address"), 40);
    assert_eq!(process.metric("weir_facts_missing_total.fact.path"), 40);
}

#[test]
fn a_reload_keeps_balances_and_a_removed_rules_buckets_go() {
    for workers in [1, 2] {
        let config = rule("1", 10.0, r#""throttle""#);
        let mut process = Process::new(workers, &config);
        process.wait_ms(6000);
        assert_eq!(process.passes(30, &get(A)), 10);
        process.wait_ms(400);
        process.configure(&config);
        assert_eq!(process.passes(30, &get(A)), 0, "the balance survives, {workers} workers");
        process.configure(r#"{"mode": "enforce"}"#);
        process.wait_ms(400);
        assert_eq!(process.passes(30, &get(A)), 30);
        process.configure(&config);
        assert_eq!(process.passes(30, &get(A)), 10, "the rule is new again, {workers} workers");
    }
}

#[test]
fn a_changed_rate_keeps_the_balance_pro_rata() {
    let mut process = Process::new(1, &rule("10", 10.0, r#""throttle""#));
    process.wait_ms(6000);
    assert_eq!(process.passes(50, &get(A)), 50, "half of the burst of 100 is left");
    process.configure(&rule("20", 10.0, r#""throttle""#));
    assert_eq!(process.passes(300, &get(A)), 100, "half of the burst of 200");
}

#[test]
fn each_filter_has_its_own_plan_and_rules_of_one_name_share_their_buckets() {
    let mut process = Process::new(1, &rule("1", 5.0, r#""throttle""#));
    assert_eq!(process.passes(3, &get(A)), 3);
    let first = process.use_filter("other", &rule("1", 5.0, r#""deny""#));
    assert_eq!(process.call(&get(A)), Got::Pass);
    assert_eq!(process.call(&get(A)), Got::Pass);
    assert_eq!(process.call(&get(A)), Got::Refused(Action::Deny), "its own action");
    process.switch_to(first);
    assert_eq!(process.call(&get(A)), Got::Refused(Action::Throttle), "and one bucket with the first");
    process.configure(r#"{"mode": "enforce"}"#);
    let unlimited = process.use_filter("other", &rule("1", 5.0, r#""deny""#));
    assert_eq!(
        process.call(&get(A)),
        Got::Refused(Action::Deny),
        "the rule is still in use, so its buckets stay"
    );
    process.switch_to(unlimited);
    assert_eq!(process.passes(20, &get(A)), 20);
}

#[test]
fn a_flood_of_addresses_writes_no_flood_of_lines() {
    let mut process = Process::new(1, &rule("1", 1.0, r#""log", "throttle""#));
    process.wait_ms(6000);
    let mut written = 0;
    for i in 0u32..20_000 {
        process.wait(Nanos(50_000));
        let address = core::net::Ipv4Addr::from(0x0a00_0000 + i).to_string();
        written += (0..2).filter(|_| !process.decide_on(0, &get(&address)).events.is_empty()).count();
    }
    assert!((1_000..=1_100).contains(&written), "{written} lines in a second");
    process.wait_ms(11_000);
    assert!(process.decide_on(0, &get(A)).events.is_empty());
    assert!(!process.decide_on(0, &get(A)).events.is_empty(), "and is over when it is over");
}

#[test]
fn a_path_is_exempt_only_where_every_server_reads_it_so() {
    let exempt = r#""exempt": [{"path": "/healthz"}, {"path_prefix": "/static/"}], "rules""#;
    let config = rule("1", 3.0, r#""deny""#).replace(r#""rules""#, exempt);
    let mut process = Process::new(1, &config);
    assert_eq!(process.passes(20, &get(A).path("/static/a;v=1/b.css")), 20);
    for path in ["/search/..;/static/x", "/search/..%3B/static/x", "/healthz;x"] {
        process.wait_ms(400_000);
        assert_eq!(process.passes(20, &get(A).path(path)), 3, "{path}");
    }
}

#[test]
fn what_was_owed_under_a_tighter_limit_is_repaid_in_the_time_of_the_looser_one() {
    for before in [rule("\"5/h\"", 3600.0, r#""throttle""#), rule("1", 1.0, r#""deny""#)] {
        for workers in [1, 2] {
            let mut process = Process::new(workers, &before);
            process.wait_ms(6000);
            process.passes(1000, &get(A));
            process.wait_ms(400);
            process.configure(&rule("100", 1.0, r#""throttle""#));
            process.passes(4, &get(A)); // each worker hears of the change
            process.wait_ms(2000);
            assert!(process.passes(100, &get(A)) >= 90, "{workers} workers");
        }
    }
}

#[test]
fn each_request_is_judged_by_the_configuration_that_it_came_through() {
    let strict = rule("1", 5.0, r#""throttle""#);
    let mut process = Process::new(1, &strict);
    let dropped = process.configure_beside(r#"{"mode": "observe"}"#);
    assert_eq!(process.passes(20, &get(A)), 5, "a plan beside it is not its plan, whatever its name");
    process.retire(dropped);
    assert_eq!(process.passes(20, &get(A)), 0, "and leaves nothing when it goes");
}

#[test]
fn a_module_that_goes_leaves_the_ledger_to_its_successor() {
    let config = rule("1", 5.0, r#""throttle""#);
    let mut process = Process::new(2, &config);
    process.wait_ms(6000);
    assert_eq!(process.passes_on(0, 20, &get(A)), 5);
    process.wait_ms(400);
    process.retire_all_on(0);
    assert_eq!(process.passes_on(1, 20, &get(A)), 0);
}

#[test]
fn one_event_per_client_and_interval_however_many_workers_see_it() {
    let config = rule("1", 1.0, r#""log", "throttle""#);
    let mut process = Process::new(4, &config);
    process.wait_ms(6000);
    let mut events = Vec::new();
    for _ in 0..300 {
        process.wait_ms(100);
        for worker in 0..4 {
            events.extend(process.decide_on(worker, &get(A).path("/a?secret=1")).events);
        }
    }
    assert!((3..=4).contains(&events.len()), "{} events in 30 s", events.len());
    let line = events[0].to_json(0);
    assert!(
        line.contains("\"client:203.0.113.7\"") && line.contains("\"/a\"") && !line.contains("secret"),
        "{line}"
    );
    let suppressed = process.metric("weir_events_total.outcome.suppressed");
    assert!(suppressed > 1000, "{suppressed}");
}

#[test]
fn a_clock_that_steps_refuses_nobody_for_long() {
    let second = Nanos::from_secs;
    let mut process = Process::new(2, &rule("10", 1.0, r#""throttle""#));
    process.wait_ms(6000);
    let start = process.now;
    assert_eq!(process.passes(50, &get(A)), 10);
    for to in [start + second(86_400), start - second(600), start - second(601), start + second(3600)] {
        process.step_clock(to);
        let _ = process.passes(50, &get(A));
        process.wait_ms(3000); // workers that lost sight of each other may have spent a burst each: debt of a second
        let passed = process.passes(50, &get(A));
        assert!(passed >= 10, "{passed} of 10 after a step to {to:?}");
    }
    assert!(process.metric("weir_clock_steps_total") >= 2);
}

#[test]
fn a_reading_that_lies_behind_is_counted_once_refused_or_not() {
    let mut process = Process::new(1, &rule("1", 1.0, r#""throttle""#));
    assert_eq!(process.passes(2, &get(A)), 1);
    process.step_clock(process.now - Nanos::from_millis(500));
    assert_eq!(process.call(&get(A)), Got::Refused(Action::Throttle));
    assert_eq!(process.metric("weir_clock_steps_total"), 2, "the request's and this tick's");
}

#[test]
fn a_worker_that_restarts_forgives_nothing() {
    let config = rule("1", 20.0, r#""throttle""#);
    let mut process = Process::new(2, &config);
    process.wait_ms(6000);
    assert_eq!(process.passes(100, &get(A)), 20);
    process.wait_ms(200);
    process.restart_worker(0, &config);
    process.restart_worker(1, &config);
    assert_eq!(process.passes(100, &get(A)), 0);
}

#[test]
fn a_flood_of_addresses_washes_no_debtor_out() {
    let config =
        rule("\"6/m\"", 60.0, r#""throttle""#).replace(r#""rules""#, r#""tables": {"slots": 4096}, "rules""#);
    let mut process = Process::new(1, &config);
    process.wait_ms(6000);
    assert_eq!(process.passes(50, &get(A)), 6);
    for i in 0u32..90_000 {
        process.wait(Nanos(100_000));
        process.call(&get(&core::net::Ipv4Addr::from(0x0a00_0000 + i).to_string()));
    }
    assert_eq!(process.passes(50, &get(A)), 0, "9 s on, none of its tokens is back");
    assert!(process.metric("weir_table_evictions_total.table.limits") > 50_000);
}

#[test]
fn what_has_begun_has_ended() {
    let mut process = Process::new(1, &rule("1", 1.0, r#""throttle""#));
    process.passes(100, &get(A));
    assert_eq!(process.metric("weir_requests_in_flight"), 0);
    assert_eq!(process.metric("weir_requests_total"), 100);
}
