//! Stories of the challenge on fake time, against the engine that the module runs.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)] // a test fails by panicking

#[path = "support/mod.rs"]
mod support;

use support::{Call, Process, Told, get};
use weir::challenge::work;
use weir::policy::Action;
use weir::reply::Reply;
use weir::request::headers::Headers;
use weir::telemetry::events::What;
use weir::time::Nanos;

const A: &str = "203.0.113.7";
const B: &str = "198.51.100.8";
const HTML: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

/// Everybody but a client's first request is challenged.
fn challenging(more: &str) -> String {
    format!(
        r#"{{"mode": "enforce", "traffic": {{"route": false, "source": false}},
        "rules": [{{"name": "r", "filter": {{"max_req_rate": "1/h", "req_burst_multiplier": 3600}}, "action": ["challenge"]}}],
        "policy": {{"challenge": {{"difficulty": [8, 10]{more}}}}}}}"#
    )
}

fn process(workers: usize, more: &str) -> Process {
    let mut process = Process::new(workers, &challenging(more));
    for worker in 0..workers {
        process.call_on(worker, &get(&format!("192.0.2.{}", worker + 1)));
    }
    process.wait_ms(6_000);
    process
}

/// A browser that goes to a page.
fn page<'a>(from: &'a str, path: &'a str) -> Call<'a> {
    get(from).path(path).header("accept", HTML).header("user-agent", "Firefox")
}

fn header(reply: &mut Reply, name: &str) -> Option<String> {
    let headers = Headers::parse(reply.headers.encode());
    headers.get(name).map(|value| String::from_utf8_lossy(value).into_owned())
}

/// The token of the page that a browser got.
fn token(told: &Told) -> String {
    let puzzle = told.decision.puzzle.expect("a challenge");
    assert_eq!(told.decision.action(), Some(Action::Challenge));
    let body = &told.reply.as_ref().unwrap().body;
    let is_token = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let words = body.split(|c| !is_token(c));
    let token = words.filter(|word| word.len() == 42).find(|word| word.starts_with('A')).expect("a token");
    assert!(puzzle.difficulty >= 8);
    token.to_owned()
}

/// Sends an answer: where it leads, and the cookie if it gave one.
fn answer(process: &mut Process, worker: usize, from: &str, query: &str) -> (u16, String, Option<String>) {
    let path = format!("/.weir/challenge/answer?{query}");
    let told = process.decide_on(worker, &page(from, &path));
    let mut reply = told.reply.expect("an answer");
    let cookie = header(&mut reply, "set-cookie").map(|set| set.split(';').next().unwrap().to_owned());
    (reply.status, header(&mut reply, "location").unwrap_or_default(), cookie)
}

/// Solves the challenge that a browser gets: the cookie.
fn solve(process: &mut Process, worker: usize, from: &str) -> String {
    let told = challenged(process, worker, from);
    let token = token(&told);
    let counter = work::solve(&token, told.decision.puzzle.unwrap().difficulty);
    process.wait_ms(1_000);
    let (status, _, cookie) = answer(process, worker, from, &format!("p={token}&n={counter}&to=%2Fshop"));
    assert_eq!(status, 303);
    cookie.expect("a clearance")
}

/// Goes to a page until it is challenged.
fn challenged(process: &mut Process, worker: usize, from: &str) -> Told {
    process.decide_on(worker, &page(from, "/shop"));
    process.decide_on(worker, &page(from, "/shop"))
}

#[test]
fn a_browser_is_challenged_answers_and_lands_where_it_wanted_to_go() {
    for workers in [1, 2, 4] {
        let mut process = process(workers, "");
        let wanted = "/shop?a=1&b=%20c";
        process.decide_on(0, &page(A, wanted));
        let mut told = process.decide_on(0, &page(A, wanted));
        let token = token(&told);
        let reply = told.reply.as_mut().unwrap();
        assert_eq!(reply.status, 429);
        assert_eq!(header(reply, "cache-control").unwrap(), "no-store");
        assert!(header(reply, "vary").unwrap().contains("cookie"));
        assert!(header(reply, "content-security-policy").unwrap().contains("default-src 'none'"));
        assert!(!reply.body.contains("noindex"));

        // The answer may come over another connection, to another worker.
        let last = workers - 1;
        let counter = work::solve(&token, told.decision.puzzle.unwrap().difficulty);
        let query = format!("p={token}&n={counter}&to=%2Fshop%3Fa%3D1%26b%3D%2520c");
        let (status, check, cookie) = answer(&mut process, last, A, &query);
        assert_eq!(status, 303);
        let cookie = cookie.unwrap();
        let told = process.decide_on(last, &page(A, &check).header("cookie", &cookie));
        let mut back = told.reply.unwrap();
        assert_eq!((back.status, header(&mut back, "location").unwrap().as_str()), (303, wanted));
        for worker in 0..workers {
            let told = process.decide_on(worker, &page(A, wanted).header("cookie", &cookie));
            assert!(told.reply.is_none(), "{workers} workers: it passes");
        }
        process.wait_ms(200);
        assert_eq!(process.metric("weir_challenges_passed_total.by.work"), 1);
        assert_eq!(process.metric("weir_challenges_issued_total"), 1);
    }
}

#[test]
fn only_navigations_are_challenged_and_others_are_throttled() {
    let mut process = process(1, "");
    challenged(&mut process, 0, A);
    for call in [
        get(A).header("accept", "application/json"),
        get(A).header("accept", "*/*"),
        page(A, "/x").method("POST"),
        page(A, "/x").header("sec-fetch-mode", "cors"),
        page(A, "/x").header("upgrade", "websocket"),
        page(A, "/robots.txt"),
        page(A, "/favicon.ico"),
        page(A, "/.well-known/security.txt"),
        get(A).header("content-type", "application/grpc"),
    ] {
        assert_eq!(process.decide_on(0, &call).decision.action(), Some(Action::Throttle), "{}", call.path);
    }
    let preflight = page(A, "/x")
        .method("OPTIONS")
        .header("origin", "https://a")
        .header("access-control-request-method", "GET");
    assert_eq!(process.decide_on(0, &preflight).decision.action(), None);
}

#[test]
fn a_path_that_only_begins_like_an_answers_leads_nobody_past_the_challenge() {
    let mut process = process(1, "");
    challenged(&mut process, 0, A);
    for rest in ["../../shop", "answer/../../../shop", "answer%3f", "answers"] {
        let path = format!("/.weir/challenge/{rest}");
        let answers =
            [page(A, &path), get(A).path(&path)].map(|call| process.decide_on(0, &call).decision.action());
        assert_eq!(answers, [Some(Action::Challenge), Some(Action::Throttle)], "{path}");
    }
}

#[test]
fn a_cleared_browser_loads_what_its_page_needs_and_a_second_tab() {
    let mut process = process(2, "");
    let cookie = solve(&mut process, 0, A);
    let picture = |n: usize| {
        get(A)
            .path(["/a.png", "/b.css", "/c.js"][n % 3])
            .header("accept", "image/*")
            .header("user-agent", "Firefox")
    };
    for n in 0..150 {
        assert!(process.decide_on(n % 2, &picture(n).header("cookie", &cookie)).reply.is_none(), "{n}");
    }
    let cookies = format!("other=1; {cookie}");
    assert!(process.decide_on(1, &page(A, "/tab").header("cookie", &cookies)).reply.is_none());
    let split = page(A, "/tab").header("cookie", "a=b").header("cookie", &cookie).header("cookie", "c=d");
    assert!(process.decide_on(1, &split).reply.is_none(), "HTTP/2 may split the field");
}

#[test]
fn a_clearance_that_many_share_is_held_to_a_rate_of_its_own() {
    let mut process = process(1, r#", "bind": "none""#);
    let cookie = solve(&mut process, 0, A);
    let mut passed = 0;
    for n in 0..2_000 {
        process.wait(Nanos::from_millis(5));
        let from = format!("198.18.{}.{}", n / 200 % 250, n % 200 + 1);
        let call = page(&from, "/shop").header("cookie", &cookie);
        process.decide_on(0, &call); // its first request is within the rule
        passed += usize::from(process.decide_on(0, &call).reply.is_none());
    }
    assert!((250..=320).contains(&passed), "{passed} of 2,000 in 10 s");
}

#[test]
fn a_browser_with_two_families_of_addresses_may_answer_over_the_other_and_ends_with_a_clearance_for_each() {
    let mut process = process(1, "");
    let v6 = "2001:db8::7";
    let token = token(&challenged(&mut process, 0, v6));
    let counter = work::solve(&token, 10);
    let (_, _, over_v4) = answer(&mut process, 0, A, &format!("p={token}&n={counter}&to=%2F"));
    let over_v6 = solve(&mut process, 0, v6);
    let both = format!("{}; {over_v6}", over_v4.unwrap());
    challenged(&mut process, 0, A);
    for from in [A, v6] {
        assert!(process.decide_on(0, &page(from, "/shop").header("cookie", &both)).reply.is_none(), "{from}");
    }
}

#[test]
fn a_replayed_answer_gives_the_same_clearance_and_so_no_second_rate() {
    let mut process = process(1, r#", "bind": "none""#);
    let told = challenged(&mut process, 0, A);
    let token = token(&told);
    let counter = work::solve(&token, 10);
    let query = format!("p={token}&n={counter}&to=%2F");
    let cookies: Vec<String> = (0..3).map(|_| answer(&mut process, 0, A, &query).2.unwrap()).collect();
    let mut passed = 0;
    for n in 0..900 {
        let call = page(A, "/shop").header("cookie", &cookies[n % 3]);
        passed += usize::from(process.decide_on(0, &call).reply.is_none());
    }
    assert_eq!(passed, 200);
}

#[test]
fn forged_early_expired_and_unsolved_answers_start_a_new_challenge_and_never_a_block() {
    let mut process = process(1, "");
    let told = challenged(&mut process, 0, A);
    let token = token(&told);
    let counter = work::solve(&token, 10);
    for (query, fault) in [
        (format!("p={token}x&n={counter}&to=%2Fshop"), "forged"),
        (format!("p=&n={counter}&to=%2Fshop"), "forged"),
        (format!("p={token}&to=%2Fshop"), "early"),
        (format!("p={token}&n=x&to=%2Fshop"), "unsolved"),
    ] {
        let before = process.metric(&format!("weir_challenges_failed_total.fault.{fault}"));
        assert_eq!(answer(&mut process, 0, A, &query), (303, "/shop".to_owned(), None), "{query}");
        process.wait_ms(200);
        assert_eq!(process.metric(&format!("weir_challenges_failed_total.fault.{fault}")), before + 1);
    }
    process.wait(Nanos::from_secs(601));
    let late = answer(&mut process, 0, A, &format!("p={token}&n={counter}&to=%2Fshop"));
    assert_eq!(late, (303, "/shop".to_owned(), None));
    assert_eq!(process.metric("weir_bans_active"), 0);
}

#[test]
fn who_has_no_script_waits_and_who_keeps_no_cookies_is_told_so() {
    let mut process = process(1, r#", "status": 503"#);
    let told = challenged(&mut process, 0, A);
    assert_eq!(told.reply.as_ref().unwrap().status, 503);
    let token = token(&told);
    process.wait(Nanos::from_secs(6));
    let (status, check, cookie) = answer(&mut process, 0, A, &format!("p={token}&to=%2Fshop"));
    assert!(status == 303 && cookie.is_some());
    let told = process.decide_on(0, &page(A, &check));
    let reply = told.reply.unwrap();
    assert_eq!(reply.status, 403, "no way back into a loop");
    assert_eq!(process.metric("weir_challenges_passed_total.by.waiting"), 1);
}

#[test]
fn a_page_shows_the_reason_that_the_event_tells() {
    let mut process = process(1, "");
    let told = challenged(&mut process, 0, A);
    let reason = told.events.iter().find_map(|event| match &event.what {
        What::Challenge { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    let reason = reason.expect("an event");
    assert!(told.reply.unwrap().body.contains(&reason));
    let again = process.decide_on(0, &page(A, "/other"));
    assert!(again.events.is_empty(), "one per interval");
    assert!(again.reply.unwrap().body.contains(&reason), "of which every page knows");
}

#[test]
fn challenges_that_are_ignored_raise_the_score_of_who_ignores_them() {
    let mut process = process(1, "");
    process.decide_on(0, &page(A, "/shop"));
    let signals =
        |told: &Told| told.decision.signals.iter().map(|signal| signal.kind.name()).collect::<Vec<_>>();
    for n in 0..10 {
        let told = process.decide_on(0, &page(A, "/shop"));
        assert_eq!(signals(&told).contains(&"challenge:ignored"), n > 5, "{n}");
        assert_eq!(told.decision.threat.personal.0, 0, "it bans nobody");
    }
    let cookie = solve(&mut process, 0, B);
    assert!(signals(&process.decide_on(0, &page(B, "/shop").header("cookie", &cookie))).is_empty());
}

#[test]
fn envoys_with_one_secret_honour_each_others_clearances_and_others_do_not() {
    let secret = r#", "secret": "correct horse battery""#;
    let mut first = process(1, secret);
    let cookie = solve(&mut first, 0, A);
    let passes = |process: &mut Process| {
        challenged(process, 0, A);
        process.decide_on(0, &page(A, "/shop").header("cookie", &cookie)).reply.is_none()
    };
    assert!(passes(&mut process(2, secret)));
    assert!(passes(&mut process(
        2,
        r#", "secret": "a new one, longer", "previous_secret": "correct horse battery""#
    )));
    assert!(!passes(&mut process(2, r#", "secret": "a new one, longer""#)));
    assert!(!passes(&mut process(2, "")));
}

#[test]
fn a_clearance_is_over_in_time_and_with_another_policy() {
    let mut process = process(1, r#", "clearance_seconds": 60"#);
    let cookie = solve(&mut process, 0, A);
    let passes = |process: &mut Process| {
        process.decide_on(0, &page(A, "/shop").header("cookie", &cookie)).reply.is_none()
    };
    assert!(passes(&mut process));
    process.wait(Nanos::from_secs(61));
    assert!(!passes(&mut process));
}

#[test]
fn a_clearance_satisfies_the_challenge_and_nothing_else() {
    let mut process = Process::new(
        1,
        r#"{"mode": "enforce", "traffic": {"route": false, "source": false}, "rules": [
        {"name": "c", "filter": {"max_req_rate": "1/h", "req_burst_multiplier": 3600}, "action": ["challenge"]},
        {"name": "d", "filter": {"max_req_rate": "1/h", "req_burst_multiplier": 36000}, "action": ["deny"]}],
        "policy": {"challenge": {"difficulty": [8, 10]}}}"#,
    );
    let cookie = solve(&mut process, 0, A);
    let actions: Vec<_> = (0..12)
        .map(|_| process.decide_on(0, &page(A, "/shop").header("cookie", &cookie)).decision.action())
        .collect();
    assert_eq!(actions[2], None);
    assert_eq!(actions[11], Some(Action::Deny));
}

#[test]
fn a_surging_client_is_challenged_by_default_and_a_cleared_one_goes_on() {
    let config = r#"{"mode": "enforce", "traffic": {"bucket_seconds": 1, "warmup_buckets": 2, "source_floor_rps": 5, "route": false},
        "policy": {"challenge": {"difficulty": [8, 10]}}}"#;
    let mut process = Process::new(1, config);
    for _ in 0..20 {
        process.wait_ms(500);
        process.decide_on(0, &page(A, "/"));
    }
    let mut told = None;
    for _ in 0..9 {
        process.wait_ms(10);
        told =
            Some(process.decide_on(0, &page(A, "/"))).filter(|told| told.decision.puzzle.is_some()).or(told);
    }
    let told = told.expect("a challenge");
    let token = token(&told);
    let counter = work::solve(&token, 10);
    let (_, _, cookie) = answer(&mut process, 0, A, &format!("p={token}&n={counter}&to=%2F"));
    let cookie = cookie.unwrap();
    for _ in 0..5 {
        process.wait_ms(10);
        assert_ne!(
            process.decide_on(0, &page(A, "/").header("cookie", &cookie)).decision.action(),
            Some(Action::Challenge)
        );
    }
}

#[test]
fn what_only_observes_challenges_nobody() {
    let mut process = Process::new(1, &challenging("").replace("enforce", "observe"));
    for _ in 0..10 {
        let told = process.decide_on(0, &page(A, "/shop"));
        assert!(told.reply.is_none() && told.decision.puzzle.is_none());
    }
    assert_eq!(process.metric("weir_actions_total.action.challenge.mode.observe"), 9);
    assert_eq!(process.metric("weir_challenges_issued_total"), 0);
}

#[test]
fn a_page_stays_small_whatever_was_asked_for() {
    let mut process = process(1, "");
    let long = format!("/shop?{}", "a%20".repeat(10_000));
    process.decide_on(0, &page(A, &long));
    let told = process.decide_on(0, &page(A, &long));
    let body = told.reply.unwrap().body;
    assert!(body.len() <= 12 * 1024, "{} bytes", body.len());
}
