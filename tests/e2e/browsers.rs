//! People at a site under attack, in a real Chromium, and the attack: who gets in, and who does not.

use std::time::Duration;

use serde_json::{Value, json};

use crate::configs::with;
use crate::harness::browser::Options;
use crate::harness::{Browser, Load, Proxy, Upstream, get, wait};

/// Whoever comes a second time within a minute is challenged.
fn guarded(difficulty: [u8; 2]) -> Value {
    let rule = json!({ "name": "flood", "action": ["challenge"], "filter": {
        "max_req_rate": "1/m", "req_burst_multiplier": 60 } });
    let config = json!({ "mode": "enforce", "rules": [rule] });
    with(config, "policy", json!({ "challenge": { "difficulty": difficulty } }))
}

/// The site, and an attacker who is challenged already. It shares its address with all who come after.
async fn under_attack(upstream: &Upstream, difficulty: [u8; 2]) -> Proxy {
    let proxy = Proxy::with(guarded(difficulty)).workers(2).start(upstream).await;
    proxy.http1_of_each_worker(get("/begin")).await;
    wait::until("the flood to be noticed", async || {
        match proxy.http1().send(visit("/begin")).await.status.as_u16() {
            429 => Ok(()),
            status => Err(status.to_string()),
        }
    })
    .await;
    proxy
}

fn visit(path: &str) -> crate::harness::Ask {
    get(path).header("accept", "text/html").header("user-agent", "Mozilla/5.0 (a bot)")
}

fn url(proxy: &Proxy, path: &str) -> String {
    format!("http://{}{path}", proxy.address())
}

#[tokio::test]
async fn a_visitor_is_challenged_once_without_a_click_and_the_flood_stays_out() {
    let upstream = Upstream::start().await;
    let proxy = under_attack(&upstream, [16, 18]).await;
    let mut browser = Browser::start(Options::default()).await;
    browser.delete_cookies().await;

    let wanted = url(&proxy, "/shop?a=1&b=%20c#top");
    browser.open(&wanted).await;
    browser.shows("hello").await;
    assert_eq!(browser.url().await, wanted, "where it wanted to go, to the letter");
    browser.screenshot("challenge-solved").await;
    let cookie = browser.cookie("weir_clearance").await.expect("a clearance");
    assert_eq!(
        (&cookie["httpOnly"], &cookie["sameSite"], &cookie["path"]),
        (&true.into(), &"Lax".into(), &"/".into())
    );
    assert_eq!(browser.run("return document.cookie").await, "", "no script sees it");

    // What pages need, and another tab.
    let fetched = "const done = arguments[0]; Promise.all([...Array(20).keys()].map(n => fetch('/asset' + n).then(a => a.status))).then(done)";
    assert_eq!(browser.run_async(fetched).await, json!(vec![200; 20]));
    let tab = browser.new_tab().await;
    browser.switch(&tab).await;
    browser.open(&url(&proxy, "/tab")).await;
    browser.shows("hello").await;

    // The flood, which runs no script, goes on.
    let load = Load::new(visit("/shop")).connections(4).offered_per_second(200.0);
    let tally = load.run(proxy.address(), Duration::from_secs(3)).await;
    assert_eq!(tally.count(200), 0);
    assert!(tally.count(429) > 200);
    browser.open(&url(&proxy, "/shop")).await;
    browser.shows("hello").await;
    let passed = proxy.metrics().await.weir("weir_challenges_passed_total", &[("by", "work")]);
    assert_eq!(passed, Some(1), "asked once");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn two_tabs_that_are_challenged_at_once_both_get_where_they_want() {
    let upstream = Upstream::start().await;
    let proxy = under_attack(&upstream, [16, 18]).await;
    let mut browser = Browser::start(Options::default()).await;
    browser.delete_cookies().await;
    let first = browser.tab().await;
    browser.run(&format!("window.open('{}')", url(&proxy, "/one"))).await;
    browser.open(&url(&proxy, "/two")).await;
    browser.shows("hello").await;
    browser.switch(&first).await;
    assert_eq!(browser.url().await, url(&proxy, "/two"));
    wait::until("both to be served", async || {
        let served = (upstream.requests("/one"), upstream.requests("/two"));
        if served == (1, 1) { Ok(()) } else { Err(format!("{served:?}")) }
    })
    .await;
}

#[tokio::test]
async fn who_has_scripts_off_gets_in_by_waiting() {
    let upstream = Upstream::start().await;
    let proxy = under_attack(&upstream, [16, 18]).await;
    let mut browser = Browser::start(Options { scripts: false, ..Options::default() }).await;
    browser.delete_cookies().await;
    browser.open(&url(&proxy, "/shop?a=1")).await;
    browser.screenshot("challenge-scripts-off").await;
    wait::until("the timed refresh to lead on", async || match browser.url().await {
        there if there == url(&proxy, "/shop?a=1") && upstream.requests("/shop?a=1") == 1 => Ok(()),
        other => Err(other),
    })
    .await;
    proxy.metric_becomes("weir_challenges_passed_total", &[("by", "waiting")], 1).await;
}

#[tokio::test]
async fn who_has_cookies_off_reads_why_and_is_not_sent_around() {
    let upstream = Upstream::start().await;
    let proxy = under_attack(&upstream, [16, 18]).await;
    let mut browser = Browser::start(Options { cookies: false, ..Options::default() }).await;
    browser.open(&url(&proxy, "/shop")).await;
    wait::until("the page to say so", async || match browser.text().await {
        text if text.to_lowercase().contains("cookies") => Ok(()),
        text => Err(text),
    })
    .await;
    browser.screenshot("challenge-cookies-off").await;
    // The attacker's, and its own; workers tell their counts with the tick.
    proxy.metric_becomes("weir_challenges_issued_total", &[], 2).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let later = proxy.metrics().await.weir("weir_challenges_issued_total", &[]);
    assert_eq!(later, Some(2), "no loop");
    assert_eq!(upstream.requests("/shop"), 0);
}

#[tokio::test]
async fn the_page_says_what_happens_while_it_works() {
    let upstream = Upstream::start().await;
    let proxy = under_attack(&upstream, [26, 26]).await;
    for (name, options) in [
        ("challenge-light", Options::default()),
        ("challenge-dark-phone", Options { dark: true, phone: true, ..Options::default() }),
    ] {
        let mut browser = Browser::start(options).await;
        browser.delete_cookies().await;
        browser.open(&url(&proxy, "/shop")).await;
        let text = browser.text().await;
        browser.screenshot(name).await;
        let reason =
            proxy.events_where(1, "about the challenge", |event| event["event.action"] == "challenge").await;
        let reason = reason[0]["weir.challenge.reason"].as_str().unwrap().to_owned();
        assert!(text.contains(&reason), "{text} has not {reason}");
        let refused = |line: &&String| line.contains("Content Security Policy") || line.contains("Refused");
        let complaints = browser.complaints().await;
        assert_eq!(complaints.iter().find(refused), None, "the policy allows what the page does");
    }
}
