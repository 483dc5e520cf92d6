//! Many callers at once: a flood of which nobody is guilty alone.

use super::support::{Process, get};
use weir::detect::signal::Kind;
use weir::policy::Action;

/// Sources from 10.0.0.0 on.
fn source(number: u32) -> String {
    core::net::Ipv4Addr::from(0x0a00_0000 + number).to_string()
}

#[test]
fn a_flood_of_ten_thousand_sources_raises_the_routes_signal_for_everyone_and_bans_no_one() {
    let config = r#"{"mode": "enforce", "policy": {"tiers": [{"min_score": 40, "action": "block"}]}}"#;
    let mut process = Process::new(2, config);
    let regulars: Vec<String> = (0..50).map(|i| format!("198.51.100.{i}")).collect();
    let callers: Vec<_> = regulars.iter().map(|from| (get(from), 0.5)).collect();
    process.live(&callers, 120);
    let (mut signalled, mut last_bucket) = (0, 0);
    for round in 0..30_u32 {
        // Each source has a request every three seconds: 3,333 a second, and none is above its floor.
        for step in 0..100 {
            process.wait_ms(10);
            for number in 0..33 {
                let from = source((round * 3_333 + step * 33 + number) % 10_000);
                let told = process.decide_on((number % 2) as usize, &get(&from));
                assert!(told.decision.signals.iter().all(|signal| signal.kind == Kind::RouteSurge));
                assert!(told.decision.banned.is_none());
                signalled += usize::from(!told.decision.signals.is_empty());
                last_bucket += usize::from(round >= 20 && !told.decision.signals.is_empty());
            }
        }
    }
    assert!(signalled > 80_000, "{signalled} of 99,000");
    assert_eq!(last_bucket, 33_000, "everyone's, all the time");
    let regular = process.decide_on(0, &get("198.51.100.1"));
    assert_eq!(regular.decision.threat.score.0, 40);
    assert_eq!(regular.decision.threat.personal.0, 0);
    assert_eq!(regular.decision.action(), Some(Action::Block), "refused as the tier says");
    assert_eq!(process.metric("weir_bans_active"), 0, "and yet not banned");
    assert_eq!(process.metric("weir_ledger_charges_total"), 0);
}

#[test]
fn a_surge_of_the_route_adds_to_what_a_caller_does_itself_and_is_not_charged() {
    let config = r#"{"mode": "enforce", "policy": {"tiers": [{"min_score": 80, "action": "deny"}], "ledger": {"limit": 10}}}"#;
    let mut process = Process::new(1, config);
    process.live(&[(get("203.0.113.1"), 2.0), (get("203.0.113.2"), 2.0)], 120);
    let crowd: Vec<String> = (0..200).map(|i| format!("198.51.{}.7", i % 250)).collect();
    let mut callers: Vec<_> = crowd.iter().map(|from| (get(from), 3.0)).collect();
    callers.push((get("203.0.113.1"), 8.0));
    let mut denied = [0, 0];
    process.play(&callers, 40, |who, at, told| {
        if at > 10.0 && told.decision.action() == Some(Action::Deny) {
            denied[usize::from(who == 200)] += 1;
            assert_eq!(told.decision.threat.personal.0, 40);
        }
    });
    assert_eq!(denied[0], 0, "who does nothing unusual has 40");
    assert!(denied[1] > 100, "who surges beside it has 80: {denied:?}");
    assert_eq!(process.metric("weir_bans_active"), 0, "its own 40 would not be denied, so it is not charged");
}

#[test]
fn no_order_of_tiers_makes_a_route_the_cause_of_a_ban() {
    for tiers in
        [("close", "deny"), ("close", "block"), ("log", "block"), ("throttle", "deny"), ("tarpit", "block")]
    {
        let config = format!(
            r#"{{"mode": "enforce", "policy": {{"ledger": {{"limit": 10}},
            "tiers": [{{"min_score": 40, "action": "{}"}}, {{"min_score": 80, "action": "{}"}}]}}}}"#,
            tiers.0, tiers.1
        );
        let mut process = Process::new(1, &config);
        process.live(&[(get("203.0.113.1"), 2.0)], 120);
        let crowd: Vec<String> = (0..200).map(|i| format!("198.51.100.{i}")).collect();
        let mut callers: Vec<_> = crowd.iter().map(|from| (get(from), 3.0)).collect();
        callers.push((get("203.0.113.1"), 7.5)); // a surge of weight 40 of its own
        process.play(&callers, 40, |_, _, told| assert!(told.decision.banned.is_none(), "{tiers:?}"));
        assert_eq!(process.metric("weir_ledger_charges_total"), 0, "{tiers:?}");
    }
}
