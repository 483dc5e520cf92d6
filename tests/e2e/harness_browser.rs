//! The browser works, and the challenge's page works in it: served by a small site of the test's own, which asks for a
//! proof, looks at it and keeps whoever passed in a cookie. Whether Weir does that is for other stories.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use weir::challenge::page::{self, Page};

use crate::harness::Browser;
use crate::harness::browser::Options;
use crate::harness::wait::until;

const ANSWER: &str = "/.weir/challenge/answer";
const REASON: &str = "7f3a-90c2";
const NONCE: &str = "bm9uY2UtZTJl";

/// What a site asks of its visitors.
#[derive(Clone, Copy)]
struct Terms {
    bits: u8,
    wait: Option<u32>,
    /// A word on the policy and the page before they are sent.
    policy: fn(String) -> String,
    page: fn(String) -> String,
}

const EASY: Terms = Terms { bits: 12, wait: None, policy: |policy| policy, page: |page| page };
/// Hours of work.
const ENDLESS: Terms = Terms { bits: 40, ..EASY };

/// A proof that was right: the counter, if any, and the time since its page was sent.
struct Proof {
    counter: Option<u64>,
    /// Where it was sent on to.
    to: String,
    took: Duration,
}

struct State {
    address: SocketAddr,
    puzzles: Mutex<Vec<Instant>>,
    proofs: Mutex<Vec<Proof>>,
    wrong: AtomicUsize,
}

struct Site {
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

impl Site {
    async fn start(terms: Terms) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = State {
            address,
            puzzles: Mutex::default(),
            proofs: Mutex::default(),
            wrong: AtomicUsize::new(0),
        };
        let state = Arc::new(state);
        let accepting = tokio::spawn(accept(listener, terms, Arc::clone(&state)));
        Site { state, accepting }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.state.address)
    }

    fn proofs(&self) -> usize {
        assert_eq!(self.state.wrong.load(Ordering::SeqCst), 0, "a wrong answer");
        self.state.proofs.lock().unwrap().len()
    }

    fn puzzles(&self) -> usize {
        self.state.puzzles.lock().unwrap().len()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, terms: Terms, state: Arc<State>) {
    while let Ok((socket, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = answer(&request, terms, &state);
            async move { Ok::<_, Infallible>(answer) }
        });
        tokio::spawn(async move {
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

fn answer(request: &Request<Incoming>, terms: Terms, state: &State) -> Response<Full<Bytes>> {
    let asked = request.uri().path_and_query().unwrap().as_str();
    let cookies = request.headers().get("cookie").map_or("", |value| value.to_str().unwrap());
    if asked == "/favicon.ico" {
        return html(404, String::new());
    }
    if request.uri().path() == ANSWER {
        return judge(request.uri().query().unwrap_or_default(), terms, state);
    }
    if cookies.contains("passed=yes") {
        return html(
            200,
            format!("<!doctype html><title>served</title><p id=asked>served {}", asked.replace('&', "&amp;")),
        );
    }
    let mut text = String::new();
    // One visitor per site: who was sent on to here and comes without the cookie keeps none.
    if state.proofs.lock().unwrap().iter().any(|proof| proof.to == asked) {
        page::write_cookies_off(REASON, NONCE, &mut text);
    } else {
        challenge(asked, terms, state, &mut text);
    }
    let mut policy = String::new();
    page::content_security_policy(NONCE, &mut policy);
    let mut response = html(429, (terms.page)(text));
    response.headers_mut().insert("content-security-policy", (terms.policy)(policy).parse().unwrap());
    response
}

fn challenge(asked: &str, terms: Terms, state: &State, text: &mut String) {
    let mut puzzles = state.puzzles.lock().unwrap();
    puzzles.push(Instant::now());
    let to = utf8_percent_encode(asked, NON_ALPHANUMERIC).to_string();
    let token = token(state.address, puzzles.len() - 1);
    let Terms { bits: difficulty, wait, .. } = terms;
    page::write(
        &Page { token: &token, difficulty, answer: ANSWER, to: &to, reason: REASON, wait, nonce: NONCE },
        text,
    );
}

/// As long as a signed one may be, another for every site, and its number.
fn token(site: SocketAddr, number: usize) -> String {
    format!("{:-<90}_{number}", format!("signed{}", site.port()))
}

fn judge(query: &str, terms: Terms, state: &State) -> Response<Full<Bytes>> {
    let field = |name: &str| {
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        value.map(|value| percent_decode_str(value).decode_utf8().unwrap().into_owned())
    };
    let (given, counter, to) = (field("p").unwrap(), field("n"), field("to").unwrap());
    let number: usize = given.rsplit('_').next().unwrap().parse().unwrap();
    let is_right = match &counter {
        Some(counter) => zeros(&format!("{given}:{counter}")) >= u32::from(terms.bits),
        None => terms.wait.is_some(),
    };
    if given != token(state.address, number) || !is_right {
        state.wrong.fetch_add(1, Ordering::SeqCst);
        return html(400, "wrong".to_owned());
    }
    let mut response = html(303, String::new());
    response.headers_mut().insert("location", to.parse().unwrap());
    let took = state.puzzles.lock().unwrap()[number].elapsed();
    let counter = counter.map(|n| n.parse().unwrap());
    state.proofs.lock().unwrap().push(Proof { counter, to, took });
    response
        .headers_mut()
        .insert("set-cookie", "passed=yes; Path=/; HttpOnly; SameSite=Lax".parse().unwrap());
    response
}

fn zeros(message: &str) -> u32 {
    let hash = Sha256::digest(message.as_bytes());
    u64::from_be_bytes(hash[..8].try_into().unwrap()).leading_zeros()
}

fn html(status: u16, body: String) -> Response<Full<Bytes>> {
    let response = Response::builder().status(status).header("content-type", "text/html; charset=utf-8");
    response.header("cache-control", "no-store").body(Full::from(body)).unwrap()
}

async fn state_of(browser: &mut Browser) -> Value {
    browser.run("return document.querySelector('main').dataset.state || null").await
}

/// What the browser refused by policy.
async fn refusals(browser: &mut Browser) -> Vec<String> {
    let complaints = browser.complaints().await;
    complaints.into_iter().filter(|line| line.contains("Content Security Policy")).collect()
}

/// The longest time in a second and a half in which the page could do nothing else.
async fn longest_stall_ms(browser: &mut Browser) -> u64 {
    let script = "const done = arguments[0], begun = performance.now(); let last = begun, worst = 0;
        (function tick() {
            const now = performance.now();
            worst = Math.max(worst, now - last);
            last = now;
            if (now - begun > 1500) done(Math.round(worst)); else setTimeout(tick, 0);
        })()";
    browser.run_async(script).await.as_u64().unwrap()
}

#[tokio::test]
async fn a_browser_proves_itself_without_a_click_and_lands_where_it_wanted_to() {
    let site = Site::start(EASY).await;
    let mut browser = Browser::start(Options::default()).await;
    let url = site.url("/shop/a%20b?x=1&y=%26%2F&to=//evil.test#part=%202");
    browser.open(&url).await;
    browser.shows("served /shop/a%20b?x=1&y=%26%2F&to=//evil.test").await;
    assert_eq!(browser.url().await, url);
    assert_eq!((site.puzzles(), site.proofs()), (1, 1));
    assert_eq!(browser.cookie("passed").await.unwrap()["value"], "yes");
    assert_eq!(refusals(&mut browser).await, [""; 0]);
    // Going back doesn't lead through the challenge.
    browser.run("history.back()").await;
    until("the page before", async || match browser.url().await {
        url if url.starts_with("http:") => Err(url),
        _ => Ok(()),
    })
    .await;
    assert_eq!(site.puzzles(), 1);
}

#[tokio::test]
async fn without_scripts_a_browser_passes_after_the_wait() {
    let site = Site::start(Terms { wait: Some(2), ..EASY }).await;
    let mut browser = Browser::start(Options { scripts: false, ..Options::default() }).await;
    browser.open(&site.url("/shop?x=1&y=%26")).await;
    let text = browser.text().await;
    assert!(text.contains("goes on by itself in 2 seconds") && !text.contains("calculation"), "{text}");
    browser.screenshot("scripts-off").await;
    browser.shows("served /shop?x=1&y=%26").await;
    assert_eq!(browser.url().await, site.url("/shop?x=1&y=%26"));
    assert!(site.state.proofs.lock().unwrap()[0].counter.is_none());
}

#[tokio::test]
async fn without_scripts_where_they_are_needed_the_page_says_so() {
    let site = Site::start(EASY).await;
    let mut browser = Browser::start(Options { scripts: false, ..Options::default() }).await;
    browser.open(&site.url("/")).await;
    browser.shows("allow JavaScript for this site").await;
    browser.shows(REASON).await;
    browser.screenshot("scripts-needed").await;
    assert!(!browser.source().await.contains("http-equiv"), "nothing goes on by itself");
    assert_eq!(refusals(&mut browser).await, [""; 0]);
}

#[tokio::test]
async fn without_cookies_the_page_says_so_and_computes_nothing() {
    let site = Site::start(EASY).await;
    let mut browser = Browser::start(Options { cookies: false, ..Options::default() }).await;
    browser.open(&site.url("/")).await;
    browser.shows("Cookies are off").await;
    browser.shows(REASON).await;
    assert_eq!(state_of(&mut browser).await, "cookies off");
    browser.screenshot("cookies-off").await;
    assert_eq!((site.puzzles(), site.proofs()), (1, 0));
}

#[tokio::test]
async fn without_cookies_and_scripts_a_browser_is_told_once_it_comes_back() {
    let site = Site::start(Terms { wait: Some(1), ..EASY }).await;
    let mut browser = Browser::start(Options { cookies: false, scripts: false, ..Options::default() }).await;
    browser.open(&site.url("/")).await;
    browser.shows("did not keep the cookie").await;
    browser.screenshot("cookies-off-after").await;
    assert_eq!((site.puzzles(), site.proofs()), (1, 1), "no loop");
}

#[tokio::test]
async fn tabs_prove_themselves_at_once_and_apart() {
    let mut browser = Browser::start(Options::default()).await;
    let first = browser.tab().await;
    let second = browser.new_tab().await;
    // A search may end before the other begins, and then the second tab has its cookie: on to another puzzle.
    for _ in 0..10 {
        let site = Site::start(Terms { bits: 20, ..EASY }).await;
        for (tab, path) in [(&first, "/first"), (&second, "/second")] {
            browser.switch(tab).await;
            browser.open(&site.url(path)).await;
        }
        browser.shows("served /second").await;
        browser.switch(&first).await;
        browser.shows("served /first").await;
        browser.delete_cookies().await;
        if site.puzzles() == 2 {
            assert_eq!(site.proofs(), 2);
            return;
        }
    }
    panic!("never at once");
}

#[tokio::test]
async fn a_policy_that_does_not_fit_the_page_would_be_noticed() {
    let policy = |policy: String| policy.replace("script-src 'nonce-", "script-src 'nonce-another");
    let site = Site::start(Terms { policy, ..EASY }).await;
    let mut browser = Browser::start(Options::default()).await;
    browser.open(&site.url("/")).await;
    // Loaded, its script, which is part of it, would have begun.
    assert_eq!(state_of(&mut browser).await, Value::Null);
    assert!(!refusals(&mut browser).await.is_empty());
    assert_eq!(site.proofs(), 0);
}

#[tokio::test]
async fn a_browser_that_makes_no_worker_computes_in_steps() {
    let policy = |policy: String| policy.replace("worker-src blob:", "worker-src 'none'");
    let site = Site::start(Terms { policy, ..EASY }).await;
    let mut browser = Browser::start(Options::default()).await;
    browser.open(&site.url("/shop#part")).await;
    browser.shows("served /shop").await;
    assert_eq!(browser.url().await, site.url("/shop#part"));
    assert_eq!(site.proofs(), 1);

    // A cookie is for every port of its host.
    browser.delete_cookies().await;
    let page = |page: String| page.replace("new Worker", "new Nothing");
    let site = Site::start(Terms { page, ..EASY }).await;
    browser.open(&site.url("/")).await;
    browser.shows("served /").await;
    assert_eq!(site.proofs(), 1);
}

#[tokio::test]
async fn the_page_stays_responsive_while_it_computes() {
    let mut browser = Browser::start(Options::default()).await;
    let site = Site::start(ENDLESS).await;
    browser.open(&site.url("/")).await;
    assert_eq!(state_of(&mut browser).await, "working");
    let stall = longest_stall_ms(&mut browser).await;
    assert!(stall < 400, "{stall} ms");

    let policy = |policy: String| policy.replace("worker-src blob:", "worker-src 'none'");
    let site = Site::start(Terms { policy, ..ENDLESS }).await;
    browser.open(&site.url("/")).await;
    until("steps", async || match state_of(&mut browser).await {
        Value::String(state) if state == "working in steps" => Ok(()),
        other => Err(other.to_string()),
    })
    .await;
    let stall = longest_stall_ms(&mut browser).await;
    assert!(stall < 400, "{stall} ms in steps");
}

#[tokio::test]
async fn a_page_that_fails_says_so_and_lets_one_try_again() {
    let page = |page: String| page.replace("data-bits=\"12\"", "data-bits=\"\"");
    let site = Site::start(Terms { page, ..EASY }).await;
    let mut browser = Browser::start(Options::default()).await;
    browser.open(&site.url("/shop#part")).await;
    browser.shows("That did not work").await;
    browser.shows(REASON).await;
    assert_eq!(browser.title().await, "That did not work");
    browser.screenshot("failed").await;
    browser.run("document.querySelector('#again a').click()").await;
    until("another puzzle", async || match site.puzzles() {
        2 => Ok(()),
        other => Err(other.to_string()),
    })
    .await;
    assert_eq!(browser.url().await, site.url("/shop#part"));
}

#[tokio::test]
async fn a_page_that_fails_goes_the_timed_way_where_that_is_open() {
    let page = |page: String| page.replace("zeros(n) >= bits", "zeros(n) >= 99");
    let site = Site::start(Terms { page, wait: Some(1), ..EASY }).await;
    let mut browser = Browser::start(Options::default()).await;
    browser.open(&site.url("/shop?x=1#part")).await;
    browser.shows("served /shop?x=1").await;
    assert_eq!(browser.url().await, site.url("/shop?x=1#part"));
    assert!(site.state.proofs.lock().unwrap()[0].counter.is_none());
}

#[tokio::test]
async fn the_page_can_be_read_by_day_by_night_and_on_a_phone() {
    let site = Site::start(Terms { bits: 23, ..EASY }).await;
    for (name, dark, phone) in
        [("light", false, false), ("dark", true, false), ("phone", false, true), ("phone-dark", true, true)]
    {
        let mut browser = Browser::start(Options { dark, phone, ..Options::default() }).await;
        browser.open(&site.url("/")).await;
        let background = browser.run("return getComputedStyle(document.body).backgroundColor").await;
        assert_eq!(background == "rgb(18, 22, 28)", dark, "{background}");
        let fits = browser.run("return document.documentElement.scrollWidth <= innerWidth").await;
        assert_eq!(fits, true, "{name}: wider than the screen");
        until("progress", async || {
            match browser.run("return (document.querySelector('progress') || {}).value").await.as_u64() {
                Some(percent @ ..15) => Err(format!("{percent} %")),
                _ => Ok(()),
            }
        })
        .await;
        browser.screenshot(name).await;
        if site.proofs() > 0 {
            return; // the chance that a search is this short is one in twenty
        }
    }
}

/// `cargo test --test e2e -- --ignored --nocapture how_long`: on a machine that does nothing else.
#[tokio::test]
#[ignore = "measures"]
async fn how_long_a_browser_takes_to_prove_itself() {
    let mut browser = Browser::start(Options::default()).await;
    for bits in [18, 20, 22] {
        let mut taken = Vec::new();
        let mut hashes = 0;
        for _ in 0..40 {
            let site = Site::start(Terms { bits, ..EASY }).await;
            browser.open(&site.url("/")).await;
            // A search has no longest time; `until`'s would be too short for one in some hundreds.
            timeout(Duration::from_secs(120), async {
                while site.proofs() == 0 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            })
            .await
            .expect("a proof");
            browser.shows("served /").await;
            browser.delete_cookies().await;
            let proofs = site.state.proofs.lock().unwrap();
            hashes += proofs[0].counter.unwrap() + 1;
            taken.push(proofs[0].took.as_millis() as u64);
        }
        let all: u64 = taken.iter().sum();
        taken.sort_unstable();
        println!(
            "{bits} bits: p50 {} ms, p95 {} ms, {} thousand hashes per second (with loading)",
            taken[taken.len() / 2],
            taken[taken.len() * 95 / 100],
            hashes / all.max(1)
        );
    }
}
