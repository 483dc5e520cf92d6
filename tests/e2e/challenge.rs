//! The challenge as programs meet it: what they get, and what they can't get around. Browsers are in `browsers`.

use serde_json::{Value, json};
use weir::challenge::work;

use crate::configs::{enforce, slow_rule, with};
use crate::harness::{Answer, Ask, Client, Proxy, Upstream, get, grpc, options, post};

/// Everybody's second request is challenged.
fn challenging(challenge: Value) -> Value {
    let rules = enforce(json!([slow_rule("suspicious", 1, &["challenge"])]));
    with(rules, "policy", json!({ "challenge": challenge }))
}

fn easy() -> Value {
    challenging(json!({ "difficulty": [8, 10] }))
}

/// What a browser says that goes to a page.
fn visit(path: &str) -> Ask {
    get(path).header("accept", "text/html,*/*;q=0.8").header("user-agent", "Firefox")
}

/// A client whose next request is challenged.
async fn suspicious(proxy: &Proxy) -> Client {
    let mut client = proxy.http1();
    assert_eq!(client.send(visit("/")).await.status, 200);
    client
}

/// The token in a page.
fn token(page: &Answer) -> String {
    let is_token = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let words = page.text().split(|c| !is_token(c));
    words.filter(|word| word.len() == 42).find(|word| word.starts_with('A')).expect("a token").to_owned()
}

/// Answers a page: the cookie, without its attributes, and the whole of the answer.
async fn answer(client: &mut Client, page: &Answer, to: &str) -> (String, Answer) {
    let token = token(page);
    let counter = work::solve(&token, 10);
    let answer = client.send(visit(&format!("/.weir/challenge/answer?p={token}&n={counter}&to={to}"))).await;
    let cookie = answer.header("set-cookie").expect("a clearance").split(';').next().unwrap().to_owned();
    (cookie, answer)
}

#[tokio::test]
async fn the_page_is_no_answer_of_the_sites_and_nobody_keeps_it() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(easy()).start(&upstream).await;
    let page = suspicious(&proxy).await.send(visit("/shop?a=1")).await;
    assert_eq!(page.status, 429);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert!(page.header("vary").unwrap().contains("cookie"));
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    assert!(page.body.len() <= 12 * 1024, "{} bytes", page.body.len());
    assert!(!page.text().contains("noindex") && page.header("set-cookie").is_none());
    assert_eq!(upstream.requests("/shop?a=1"), 0);
    let line = proxy.access_log(2).await.pop().unwrap();
    assert_eq!(
        (line.details.as_deref(), line.decision.as_deref()),
        (Some("weir_challenge"), Some("challenge"))
    );
    proxy.metric_becomes("weir_challenges_issued_total", &[], 1).await;

    let event =
        &proxy.events_where(1, "about the challenge", |event| event["event.action"] == "challenge").await[0];
    assert!(page.text().contains(event["weir.challenge.reason"].as_str().unwrap()), "{event}");
}

#[tokio::test]
async fn who_answers_is_cleared_on_every_worker_and_lands_where_it_wanted_to_go() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(easy()).workers(2).start(&upstream).await;
    let mut client = suspicious(&proxy).await;
    let page = client.send(visit("/shop?a=1")).await;
    let (cookie, answered) = answer(&mut client, &page, "%2Fshop%3Fa%3D1").await;
    assert_eq!(answered.status, 303);
    let attributes = answered.header("set-cookie").unwrap().to_owned();
    for attribute in ["Path=/", "HttpOnly", "SameSite=Lax", "Max-Age=1800"] {
        assert!(attributes.contains(attribute), "{attributes}");
    }
    assert!(!attributes.contains("Secure"), "over plain text");
    let check = answered.header("location").unwrap().to_owned();
    let back = client.send(visit(&check).header("cookie", &cookie)).await;
    assert_eq!((back.status.as_u16(), back.header("location")), (303, Some("/shop?a=1")));
    for mut client in proxy.http1_of_each_worker(visit("/shop?a=1").header("cookie", &cookie)).await {
        for ask in [visit("/shop?a=1"), get("/a.png").header("user-agent", "Firefox")] {
            assert_eq!(client.send(ask.header("cookie", &cookie)).await.status, 200);
        }
    }
    let mut http2 = proxy.http2();
    let padding = "x".repeat(4_000);
    let split = visit("/tab")
        .header("cookie", &format!("a={padding}"))
        .header("cookie", &cookie)
        .header("cookie", &format!("b={padding}"));
    assert_eq!(http2.send(split).await.status, 200, "among 8 KB of cookies in three fields");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_clearance_over_tls_is_secure() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(easy()).tls().start(&upstream).await;
    let mut client = suspicious(&proxy).await;
    let page = client.send(visit("/")).await;
    let (_, answered) = answer(&mut client, &page, "%2F").await;
    assert!(answered.header("set-cookie").unwrap().contains("; Secure"), "{answered:?}");
}

#[tokio::test]
async fn what_is_no_navigation_is_never_challenged() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(easy()).start(&upstream).await;
    let mut client = suspicious(&proxy).await;
    for ask in [
        get("/api").header("accept", "application/json"),
        get("/api"),
        visit("/api").header("sec-fetch-mode", "cors"),
        visit("/api").header("x-requested-with", "XMLHttpRequest"),
        visit("/api").header("authorization", "Bearer t"),
        visit("/robots.txt"),
        visit("/favicon.ico"),
        visit("/.well-known/acme-challenge/x"),
        post("/form").header("accept", "text/html"),
    ] {
        let answer = client.send(ask).await;
        assert_eq!(answer.status, 429, "{answer:?}");
        assert!(answer.number("retry-after") >= 1, "a throttle: {answer:?}");
    }
    let preflight =
        options("/api").header("origin", "https://a").header("access-control-request-method", "GET");
    assert_eq!(client.send(preflight).await.status, 200);
    assert_eq!(proxy.http2().send(grpc("/weir.Test/Call")).await.grpc_status(), Some("8"));
    proxy.metric_becomes("weir_challenges_issued_total", &[], 0).await;
}

#[tokio::test]
async fn what_is_forged_early_or_undone_starts_anew_and_leads_nowhere_else() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(easy()).start(&upstream).await;
    let mut client = suspicious(&proxy).await;
    let token = token(&client.send(visit("/shop")).await);
    let counter = work::solve(&token, 10);
    let other = work::solve("another token", 10);
    for (query, location) in [
        (format!("p={token}x&n={counter}&to=%2Fshop"), "/shop"),
        (format!("p={token}&n={other}x&to=%2Fshop"), "/shop"),
        (format!("p={token}&to=%2Fshop"), "/shop"),
        ("p=&n=&to=%2F%2Fevil.example".to_owned(), "/"),
        ("to=https%3A%2F%2Fevil.example".to_owned(), "/"),
        ("to=%2F%0d%0aset-cookie:a".to_owned(), "/"),
        (String::new(), "/"),
    ] {
        let answer = client.send(visit(&format!("/.weir/challenge/answer?{query}"))).await;
        assert_eq!((answer.status.as_u16(), answer.header("location")), (303, Some(location)), "{query}");
        assert_eq!(answer.header("set-cookie"), None, "{query}");
    }
    assert_eq!(client.send(visit("/shop")).await.status, 429, "a new challenge, and no block");
    proxy.metric_becomes("weir_bans_active", &[], 0).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_clearance_stays_with_its_browser_and_network_and_none_is_honoured_that_another_process_signed() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(easy()).start(&upstream).await;
    let mut client = proxy.http1();
    let from = |address: &str, agent: &str| {
        get("/").header("accept", "text/html").header("user-agent", agent).client(address)
    };
    for _ in 0..2 {
        client.send(from("203.0.113.7", "Firefox")).await;
    }
    let page = client.send(from("203.0.113.7", "Firefox")).await;
    let (token, counter) = (token(&page), work::solve(&token(&page), 10));
    let path = format!("/.weir/challenge/answer?p={token}&n={counter}&to=%2F");
    let ask = get(&path).header("user-agent", "Firefox").client("203.0.113.7");
    let cookie = client.send(ask).await.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    for (address, agent, passes) in [
        ("203.0.113.7", "Firefox", true),
        ("203.0.113.200", "Firefox", true),
        ("198.51.100.7", "Firefox", false),
        ("203.0.113.9", "curl/8", false),
    ] {
        client.send(from(address, agent)).await;
        let answer = client.send(from(address, agent).header("cookie", &cookie)).await;
        assert_eq!(answer.status == 200, passes, "{address} {agent}: {answer:?}");
    }
    drop(proxy);
    let another = Proxy::with(easy()).alone().start(&upstream).await;
    let mut client = another.http1();
    client.send(from("203.0.113.7", "Firefox")).await;
    assert_eq!(client.send(from("203.0.113.7", "Firefox").header("cookie", &cookie)).await.status, 429);
}
