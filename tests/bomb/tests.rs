//! The parts of the bomb that are easily got wrong.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::show::Stop;
use super::show::attack::Attack;
use super::show::clients::{MOST, address};
use super::show::schedule::Schedule;
use super::show::wire::{Said, preface, take};

#[test]
fn nothing_but_this_machine_is_ever_attacked() {
    let schedule = Schedule::escalating(1, Duration::from_secs(1));
    let to = SocketAddr::from(([192, 0, 2, 1], 80));
    assert!(Attack::start(to, 0..1, schedule, Stop::default()).is_err());
}

#[test]
fn neighbours_and_strangers_have_addresses_of_their_own() {
    let all: HashSet<Ipv4Addr> = (0..100_000).chain(MOST - 100_000..MOST).map(address).collect();
    assert_eq!(all.len(), 200_000);
    assert!(all.iter().all(|address| address.octets()[0] == 10));
}

#[test]
fn it_climbs_by_doubling_and_stays_at_the_top() {
    let schedule = Schedule::escalating(5_000, Duration::from_secs(60));
    let rates = [0, 5, 10, 15].map(|second| schedule.rate_at(Duration::from_secs(second)));
    assert_eq!(rates, [1_000, 2_000, 4_000, 5_000]);
    assert_eq!((schedule.lasts(), schedule.climbs()), (Duration::from_secs(60), Duration::from_secs(15)));
    assert_eq!(schedule.sent_by(Duration::from_secs(15)), 5 * (1_000 + 2_000 + 4_000));
    assert_eq!(schedule.sent_by(Duration::from_secs(99)), 5 * 7_000 + 45 * 5_000);
    assert_eq!((schedule.rate_at(Duration::ZERO), schedule.rate_at(schedule.lasts())), (1_000, 0));
}

#[test]
fn a_low_top_has_no_climb() {
    let schedule = Schedule::escalating(100, Duration::from_secs(10));
    assert_eq!((schedule.climbs(), schedule.sent_by(Duration::from_secs(10))), (Duration::ZERO, 1_000));
}

/// The frame of an answer with this header block.
fn answer(block: &[u8]) -> Said {
    let bytes = [&[0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1], block].concat();
    assert_eq!(take(&bytes[..bytes.len() - 1], &mut Vec::new()), None, "not whole yet");
    let (said, length) = take(&bytes, &mut Vec::new()).unwrap();
    assert_eq!(length, bytes.len());
    said
}

#[test]
fn a_status_is_read_in_every_form_that_has_no_table() {
    assert_eq!(answer(&[0x88, 0x40]), Said::Answer(200));
    assert_eq!(answer(&[0x20, 0x48, 3, b'4', b'2', b'9']), Said::Answer(429));
    assert_eq!(answer(&[0x08, 3, b'5', b'0', b'3']), Said::Answer(503));
    assert_eq!(answer(&[]), Said::Answer(0));
}

#[test]
fn settings_are_acknowledged_and_acknowledgements_not() {
    let (mut settings, mut acknowledged, mut silence) = (Vec::new(), Vec::new(), Vec::new());
    preface(&mut settings);
    settings.drain(..24); // what comes before the first frame
    take(&settings, &mut acknowledged).unwrap();
    take(&acknowledged, &mut silence).unwrap();
    assert_eq!((acknowledged, silence), (vec![0, 0, 0, 4, 1, 0, 0, 0, 0], vec![]));
}
