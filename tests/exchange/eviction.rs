//! Who floods the tables gains nothing by it: neither by being forgotten, nor by leaving no room for others. The tables
//! are the smallest, the flood is of keys that somebody makes up, one event each, under rules of any rate.

use crate::sim::*;
use weir::counters::bucket::{Charge, Quota, Verdict};
use weir::time::Nanos;

const HOURLY: Quota = Quota { interval: Nanos::from_secs(3600), burst: 1, charge: Charge::Every };
const DAILY: Quota = Quota { interval: Nanos::from_secs(86_400), burst: 1, charge: Charge::Every };
const OFTEN: Quota = Quota { interval: Nanos::from_secs(36), burst: 100, charge: Charge::Admitted };

/// Numbers of made-up keys, different from those of clients.
const MADE_UP: u64 = 1 << 32;

fn charge_all(process: &mut Process, client: u64, quota: &Quota, events: usize, now: u64) -> u64 {
    let verdicts = (0..events).map(|n| process.charge(n % process.workers.len(), client, quota, now));
    verdicts.filter(|verdict| *verdict == Verdict::Admit).count() as u64
}

/// Events of one-off keys at all workers in turn, 50,000 a second. Returns when they have ended.
fn flood(process: &mut Process, keys: core::ops::Range<u64>, quotas: &[Quota], start: u64) -> u64 {
    for n in keys.clone() {
        let now = start + (n - keys.start) * SECOND / 50_000;
        for quota in quotas {
            process.charge(n as usize % process.workers.len(), MADE_UP + n, quota, now);
        }
    }
    start + (keys.end - keys.start) * SECOND / 50_000
}

#[test]
fn a_client_that_spends_and_lets_itself_be_evicted_gets_its_limit_and_no_more() {
    for workers in [1, 4] {
        for charge in [Charge::Admitted, Charge::Every] {
            for made_up in [OFTEN, HOURLY] {
                let quota = Quota { charge, ..per_second(100, 1000) };
                let mut process = Process::new(workers);
                let mut now = flood(&mut process, 0..20_000, &[made_up], START);
                let began = now;
                let (mut admitted, mut excess) = (0, 0);
                for round in 1..=40 {
                    admitted += charge_all(&mut process, 1, &quota, 1_000, now);
                    let ideal = 1_000 + (now - began) * 100 / SECOND;
                    excess = excess.max(admitted.saturating_sub(ideal));
                    now = flood(
                        &mut process,
                        20_000 * round..20_000 * round + 6_000 * workers as u64,
                        &[made_up],
                        now,
                    );
                }
                // EXCHANGE: B/2 + 2 % at most, for one exchange and a half.
                assert!(
                    excess <= 520,
                    "{workers} workers, {charge:?}, {made_up:?}: {excess} of 1,000 too many"
                );
            }
        }
    }
}

#[test]
fn a_flood_of_made_up_keys_under_slow_rules_leaves_room_for_everybody_new() {
    for workers in [1, 4] {
        let mut process = Process::new(workers);
        let now = flood(&mut process, 0..150_000, &[HOURLY, DAILY], START);
        let quota = per_second(10, 10);
        // 100 a second of each for three seconds.
        let mut admitted = [0; 100];
        for n in 0..300 {
            for (client, admitted) in admitted.iter_mut().enumerate() {
                let (worker, at) = ((n as usize + client) % workers, now + n * SECOND / 100);
                let verdict = process.charge(worker, client as u64, &quota, at);
                *admitted += u64::from(verdict == Verdict::Admit);
            }
        }
        let worst = admitted.iter().max().copied().unwrap_or_default();
        assert!(worst <= 10 + 30 + 5, "{workers} workers: {worst} instead of 40");
        let untracked: u64 = process.workers.iter().map(|w| w.stats().table.scan_exhausted).sum();
        assert_eq!(untracked, 0);
    }
}
