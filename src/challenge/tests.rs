use super::bind::Bind;
use super::clearance::{Clearance, Visit};
use super::puzzle::{Fault, LASTS, Puzzle, WAIT};
use super::secret::{Secret, Secrets};
use super::{Settings, work};
use crate::request::Request;
use crate::request::headers::{Headers, Pairs};
use core::net::IpAddr;
use proptest::collection::vec;
use proptest::prelude::*;

const NOW: u32 = 1_790_000_000;

fn secrets() -> Secrets {
    Secrets { current: Secret::of_operator("correct horse battery"), previous: None }
}

fn puzzle(difficulty: u8) -> Puzzle {
    Puzzle { difficulty, by_waiting: true, made: NOW, number: 0x0123_4567_89ab_cdef }
}

fn sealed(puzzle: &Puzzle, secrets: &Secrets) -> String {
    let mut out = String::new();
    puzzle.seal(secrets, &mut out);
    out
}

/// Runs `check` on a visit by this software, from this address, with this cookie.
fn visit<T>(
    settings: &Settings,
    secrets: &Secrets,
    who: (&str, &str),
    cookie: &str,
    now: u32,
    check: impl Fn(&Visit) -> T,
) -> T {
    let mut pairs = Pairs::default();
    pairs.push("user-agent", who.0.as_bytes());
    pairs.push("cookie", cookie.as_bytes());
    let request = Request { headers: Headers::parse(pairs.encode()), ..Request::default() };
    let address: Option<IpAddr> = who.1.parse().ok();
    check(&Visit { settings, secrets, request: &request, address, now })
}

const FIREFOX: (&str, &str) = ("Firefox", "203.0.113.7");

fn cleared(settings: &Settings, who: (&str, &str)) -> String {
    visit(settings, &secrets(), who, "", NOW, |visit| {
        let mut out = String::new();
        visit.clear(&puzzle(18), &mut out);
        format!("{}={out}", settings.bind.cookie(visit.address))
    })
}

fn is_good(settings: &Settings, who: (&str, &str), cookie: &str, now: u32) -> Option<Clearance> {
    visit(settings, &secrets(), who, cookie, now, |visit| visit.cleared())
}

#[test]
fn the_difficulty_goes_with_the_score_from_the_tiers_own_to_a_hundred() {
    let settings = Settings::default();
    let at = |score| settings.difficulty_at(score, 40);
    assert_eq!([0, 40, 54, 55, 70, 99, 100, 255].map(at), [18, 18, 18, 19, 20, 21, 22, 22]);
    assert_eq!(settings.difficulty_at(100, 100), 18, "a tier of its own score alone");
}

#[test]
fn tokens_are_what_they_have_always_been() {
    let golden = include_str!("../../testdata/challenge/tokens.txt");
    let settings = Settings { bind: Bind::Agent, ..Settings::default() };
    let clearance = cleared(&settings, FIREFOX);
    let found = format!("{}\n{clearance}\n", sealed(&puzzle(18), &secrets()));
    assert_eq!(found, golden);
}

#[test]
fn a_solved_puzzle_is_an_answer_and_an_unsolved_one_is_none() {
    let token = sealed(&puzzle(10), &secrets());
    let counter = work::solve(&token, 10);
    let check = |counter: Option<&str>, now| {
        Puzzle::check(&secrets(), token.as_bytes(), counter.map(str::as_bytes), now)
    };
    assert_eq!(check(Some(&counter), NOW + 1), Ok(puzzle(10)));
    for wrong in ["", "-1", "1e3", "0x1", "１", "99999999999999999999999"] {
        assert_eq!(check(Some(wrong), NOW + 1), Err(Fault::Unsolved), "{wrong}");
    }
    let wrong =
        (0..).map(|n: u32| n.to_string()).find(|n| !work::is_done(token.as_bytes(), n.as_bytes(), 10));
    assert_eq!(check(wrong.as_deref(), NOW + 1), Err(Fault::Unsolved));
}

#[test]
fn who_waits_has_answered_where_that_is_allowed_and_not_before() {
    let check =
        |puzzle: Puzzle, now| Puzzle::check(&secrets(), sealed(&puzzle, &secrets()).as_bytes(), None, now);
    assert_eq!(check(puzzle(18), NOW + WAIT - 1), Err(Fault::Early));
    assert_eq!(check(puzzle(18), NOW + WAIT), Ok(puzzle(18)));
    assert_eq!(check(Puzzle { by_waiting: false, ..puzzle(18) }, NOW + WAIT), Err(Fault::Early));
    assert_eq!(check(puzzle(18), NOW + LASTS + 1), Err(Fault::Expired));
    assert_eq!(check(puzzle(18), NOW - 61), Err(Fault::Expired), "made in the future");
}

#[test]
fn a_clearance_is_good_for_whom_it_is_bound_to_until_it_is_over() {
    let others = [("Firefox", "203.0.113.200"), ("Firefox", "198.51.100.7"), ("curl", "203.0.113.7")];
    for (bind, good) in
        [(Bind::None, [true; 3]), (Bind::Agent, [true, true, false]), (Bind::Prefix, [true, false, false])]
    {
        let settings = Settings { bind, ..Settings::default() };
        let cookie = cleared(&settings, FIREFOX);
        assert!(is_good(&settings, FIREFOX, &cookie, NOW).is_some());
        assert!(is_good(&settings, FIREFOX, &cookie, NOW + 1_799).is_some());
        assert!(is_good(&settings, FIREFOX, &cookie, NOW + 1_800).is_none());
        assert_eq!(others.map(|who| is_good(&settings, who, &cookie, NOW).is_some()), good, "{bind:?}");
        let harder = Settings { difficulty: [20, 22], ..settings };
        assert!(is_good(&harder, FIREFOX, &cookie, NOW).is_none(), "another policy");
    }
}

#[test]
fn a_browser_with_both_families_of_addresses_keeps_a_clearance_for_each() {
    let settings = Settings::default();
    let v6 = ("Firefox", "2001:db8:1::7");
    let both = format!("{}; {}", cleared(&settings, FIREFOX), cleared(&settings, v6));
    assert!(is_good(&settings, FIREFOX, &both, NOW).is_some());
    assert!(is_good(&settings, v6, &both, NOW).is_some());
    assert!(is_good(&settings, ("Firefox", "2001:db8:1:ffff::1"), &both, NOW).is_some(), "of the same /48");
    assert!(is_good(&settings, ("Firefox", "2001:db8:2::7"), &both, NOW).is_none());
}

#[test]
fn a_clearance_is_found_among_eight_kilobytes_of_cookies_and_among_others_of_its_name() {
    let settings = Settings::default();
    let cookie = cleared(&settings, FIREFOX);
    let many = format!(
        "a={}; weir_clearance=old; xweir_clearance=1; {cookie}; b={}",
        "x".repeat(8_000),
        "y".repeat(8_000)
    );
    assert!(is_good(&settings, FIREFOX, &many, NOW).is_some());
}

#[test]
fn the_same_answer_twice_gives_the_same_clearance() {
    let settings = Settings::default();
    let numbers: Vec<u64> = [NOW, NOW + 9]
        .map(|now| {
            let cookie = visit(&settings, &secrets(), FIREFOX, "", now, |visit| {
                let mut out = String::new();
                visit.clear(&puzzle(18), &mut out);
                format!("weir_clearance={out}")
            });
            is_good(&settings, FIREFOX, &cookie, NOW + 10).unwrap().number
        })
        .into();
    assert_eq!(numbers[0], numbers[1]);
}

#[test]
fn what_the_previous_secret_signed_is_good_and_what_an_older_one_signed_is_not() {
    let old = Secrets { current: Secret::of_operator("old"), previous: None };
    let token = sealed(&puzzle(0), &old);
    let rotated = Secrets { previous: Some(old.current), ..secrets() };
    assert_eq!(Puzzle::open(&rotated, token.as_bytes()), Some(puzzle(0)));
    assert_eq!(Puzzle::open(&secrets(), token.as_bytes()), None);
    assert_ne!(Secret::of_process(&[1; 16]), Secret::of_process(&[2; 16]));
    assert_eq!(format!("{:?}", secrets().current), "Secret(…)", "no log has it");
}

#[test]
fn a_token_of_one_kind_is_none_of_another() {
    let token = sealed(&puzzle(18), &secrets());
    assert!(is_good(&Settings::default(), FIREFOX, &format!("weir_clearance={token}"), NOW).is_none());
}

proptest! {
    #[test]
    fn a_changed_token_is_forged(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let token = sealed(&puzzle(18), &secrets());
        let mut bytes = token.clone().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = to;
        prop_assert_eq!(Puzzle::open(&secrets(), &bytes).is_some(), bytes == token.as_bytes());
        prop_assert_eq!(Puzzle::open(&secrets(), &token.as_bytes()[..at]), None);
    }

    #[test]
    fn any_bytes_are_no_token(bytes in vec(any::<u8>(), 0..200), counter in vec(any::<u8>(), 0..40), now in any::<u32>()) {
        prop_assert!(Puzzle::check(&secrets(), &bytes, Some(&counter), now).is_err());
        prop_assert!(Puzzle::check(&secrets(), &bytes, None, now).is_err());
        let cookie = format!("weir_clearance={}", String::from_utf8_lossy(&bytes));
        prop_assert_eq!(is_good(&Settings::default(), FIREFOX, &cookie, now), None);
    }
}
