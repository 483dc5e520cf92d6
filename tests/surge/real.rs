//! The goals on two weeks of real traffic.

use crate::replay::floods;
use crate::report::{DEVIATIONS, SENSITIVITIES, false_surges, route, sites, tables, two_weeks};

#[test]
fn real_traffic_keeps_the_goals_and_prints_its_table() {
    let sites = sites(&two_weeks());
    println!("{}", tables(&sites, 100));
    for (name, site) in &sites {
        let medium = route(3.0, DEVIATIONS);
        assert!(false_surges(site, &medium) < 1.0, "{name}");
        for busy in [false, true] {
            for (times, share) in [(5.0, 0.97), (20.0, 0.99)] {
                let floods = floods(site, &medium, times, busy, 200);
                assert!(floods.above_floor == 0 || floods.within(f64::MAX) >= share, "{name}, {times}");
                // Near the floor it takes a whole bucket from its edge on.
                let clear = floods.below_floor == 0 && times == 20.0;
                assert!(!clear || floods.within(20.0) >= 0.99, "{name}, {times}");
            }
        }
    }
}

#[test]
fn without_the_usual_deviation_noise_is_a_surge_every_hour() {
    let sites = sites(&two_weeks());
    let (_, busy) = &sites[2];
    let (_, high) = SENSITIVITIES[2];
    assert!(false_surges(busy, &route(high, 0.0)) > 24.0);
    assert!(false_surges(busy, &route(high, DEVIATIONS)) < 1.0);
}
