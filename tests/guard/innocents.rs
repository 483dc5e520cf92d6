//! What one caller does is felt by no other.

use super::support::{Call, Process, get};
use weir::policy::Action;

/// Visitors of one request a second, an office of ten, and room for one more caller.
fn town(process: &mut Process) -> Vec<(Call<'static>, f64)> {
    const VISITORS: [&str; 6] =
        ["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4", "198.51.100.5", "198.51.100.6"];
    let mut callers: Vec<_> = VISITORS.into_iter().map(|from| (get(from), 1.0)).collect();
    callers.push((get("192.0.2.1"), 10.0));
    process.live(&callers, 180);
    callers
}

/// How many requests of the others are refused while one more comes, and whether anybody of them is banned.
fn harm(
    process: &mut Process,
    callers: &[(Call<'static>, f64)],
    attacker: Call<'static>,
    rate: f64,
) -> usize {
    let mut all = callers.to_vec();
    all.push((attacker, rate));
    let (attacker, mut harmed) = (all.len() - 1, 0);
    process.play(&all, 150, |who, _, told| {
        harmed += usize::from(who != attacker && told.decision.action().is_some());
    });
    harmed
}

#[test]
fn an_address_that_nobody_knows_yet_is_no_surge_of_its_route() {
    for workers in [1, 4] {
        for rate in [30.0, 300.0] {
            let mut process = Process::new(workers, r#"{"mode": "enforce"}"#);
            let callers = town(&mut process);
            assert_eq!(
                harm(&mut process, &callers, get("203.0.113.66"), rate),
                0,
                "{rate} on {workers} workers"
            );
        }
    }
}

#[test]
fn an_address_is_no_surge_of_its_network() {
    let config = r#"{"mode": "enforce", "network": {"asn": {"filter_state": "asn"}}}"#;
    let mut process = Process::new(2, config);
    process.network = Some("64500".into());
    let callers = town(&mut process);
    assert_eq!(harm(&mut process, &callers, get("203.0.113.66"), 300.0), 0);
    assert_eq!(process.metric("weir_bans_active"), 0);
}

#[test]
fn one_of_the_users_of_a_common_credential_is_no_surge_of_the_others() {
    let config = r#"{"mode": "enforce", "consumer": {"from": [{"header": "x-api-key"}]}}"#;
    let mut process = Process::new(2, config);
    let users: Vec<String> = (1..40).map(|i| format!("198.51.100.{i}")).collect();
    let mut callers: Vec<_> = users.iter().map(|from| (get(from).header("x-api-key", "app"), 0.5)).collect();
    callers.push((get("203.0.113.66").header("x-api-key", "app"), 1.0));
    process.live(&callers, 180);
    callers.last_mut().unwrap().1 = 200.0;
    let mut refused = [0, 0];
    process.play(&callers, 150, |who, _, told| {
        refused[usize::from(who == 39)] += usize::from(told.decision.action().is_some());
    });
    assert_eq!(refused[0], 0);
    assert!(refused[1] > 20_000, "{refused:?}");
}

#[test]
fn a_network_that_surges_throttles_each_of_its_clients_by_itself_and_bans_none() {
    let config = r#"{"mode": "enforce", "network": {"asn": {"filter_state": "asn"}}, "traffic": {"route": false},
        "policy": {"tiers": [{"min_score": 30, "action": "throttle"}, {"min_score": 80, "action": "block"}]}}"#;
    let mut process = Process::new(2, config);
    process.network = Some("64500".into());
    let callers = town(&mut process);
    let crowd: Vec<String> = (0..200).map(|i| format!("203.0.113.{i}")).collect();
    let mut all: Vec<_> = crowd.iter().map(|from| (get(from), 3.0)).collect();
    all.extend(callers);
    let mut refused = [0; 3];
    process.play(&all, 60, |who, _, told| {
        let kind = if who < 200 {
            0
        } else if who < 206 {
            1
        } else {
            2
        };
        refused[kind] += usize::from(told.decision.action() == Some(Action::Throttle));
        assert!(told.decision.banned.is_none());
    });
    assert!(refused[0] > 5_000, "{refused:?}: 3 a second are more than 20 in 10 s");
    assert_eq!(refused[1], 0, "{refused:?}: one a second is less");
    assert!(refused[2] > 200, "{refused:?}: an office has one quota");
}

#[test]
fn a_crowd_that_spends_the_budget_leaves_each_caller_its_quota() {
    let mut process = Process::new(1, r#"{"mode": "enforce"}"#);
    town(&mut process);
    let (mut refused, mut sent) = (0, 0);
    for step in 0..2_000_u32 {
        process.wait_ms(10);
        for number in 0..60 {
            let from = format!("2001:db8:{:x}:{:x}::1", step % 7, (step * 60 + number) % 65_536);
            process.decide_on(0, &get(&from));
        }
        if step % 200 == 50 {
            sent += 1;
            refused += usize::from(process.decide_on(0, &get("198.51.100.1")).decision.action().is_some());
        }
    }
    assert!(process.metric("weir_quota_unsynced_total") > 1_000, "the budget is spent");
    assert_eq!((sent, refused), (10, 0));
}
