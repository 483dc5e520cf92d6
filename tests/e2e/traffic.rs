//! The traffic guard: what is unusual for a caller leads through the tiers to a ban, and touches nobody else.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep_until;

use crate::configs::served;
use crate::harness::{Answer, Client, Load, Proxy, Upstream, get, wait};

const FLOODING: &str = "203.0.113.7";
const OTHER: &str = "203.0.113.8";

/// Buckets of a second; up to 30 a second nothing is a surge. How much is one does not depend on deviations here: what of a
/// surge's beginning falls into a bucket that is still learned would make them large, or not, as the clock has it.
fn guarded() -> Value {
    json!({
        "mode": "enforce",
        "traffic": {
            "bucket_seconds": 1, "warmup_buckets": 2, "learning_buckets": 10, "source_floor_rps": 30, "route": false, "surge_deviations": 0,
        },
        "policy": {
            "tiers": [
                { "min_score": 40, "action": "log" },
                { "min_score": 60, "action": "throttle" },
                { "min_score": 80, "action": "block" },
            ],
            "throttle": { "quota": 5, "window_seconds": 1 },
            "ban": { "duration_seconds": 4 },
        },
    })
}

/// Requests at a rate on all connections in turn, until the time is over or an answer is the last. What is late is not made
/// up for: a busy machine makes the flood slower, never a burst.
async fn send(
    clients: &mut [Client],
    per_second: f64,
    seconds: f64,
    is_last: impl Fn(&Answer) -> bool,
) -> Vec<Answer> {
    let (begin, step) = (Instant::now(), Duration::from_secs_f64(1.0 / per_second));
    let (mut due, mut answers) = (begin, Vec::new());
    while begin.elapsed().as_secs_f64() < seconds && !answers.last().is_some_and(&is_last) {
        let at = answers.len() % clients.len();
        answers.push(clients[at].send(get("/").client(FLOODING)).await);
        due = (due + step).max(Instant::now());
        sleep_until(due.into()).await;
    }
    answers
}

fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

#[tokio::test]
async fn a_growing_flood_is_told_then_throttled_then_banned_on_every_worker_and_nobody_else_is() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(guarded()).workers(2).alone().start(&upstream).await;
    let mut clients = proxy.http1_of_each_worker(get("/").client(OTHER)).await;
    let other = Load::new(get("/").client(OTHER)).connections(4).offered_per_second(8.0);
    let other = tokio::spawn(other.run(proxy.address(), Duration::from_secs(19)));

    // Then 1.7 times what is allowed, 3 times, 8 times.
    let usual = send(&mut clients, 4.0, 5.0, |_| false).await;
    assert_eq!(count(&usual, 200), usual.len(), "as usual");
    assert_eq!(proxy.events(), Vec::<Value>::new());

    let more = send(&mut clients, 50.0, 2.0, |_| false).await;
    assert_eq!(count(&more, 200), more.len(), "a surge that is only told");
    proxy.events_where(1, "a surge", |event| event["event.action"] == "surge").await;

    let flood = send(&mut clients, 90.0, 3.0, |_| false).await;
    assert_eq!(count(&flood, 200) + count(&flood, 429), flood.len(), "throttled, not banned");
    assert!(count(&flood, 429) >= 60, "{} of {}", count(&flood, 429), flood.len());
    for refused in flood.iter().filter(|answer| answer.status == 429) {
        let seconds = refused.number("retry-after");
        assert_eq!(seconds, 1, "{refused:#?}");
        assert_eq!(refused.header("ratelimit-policy"), Some("\"default\";q=5;w=1"));
        assert_eq!(refused.header("ratelimit"), Some(format!("\"default\";r=0;t={seconds}").as_str()));
    }

    let worse = send(&mut clients, 250.0, 4.0, |answer| answer.status == 403).await;
    assert_eq!(count(&worse, 403), 1, "in the end it is banned: {worse:?}");
    let banned = Instant::now();
    for client in &mut clients {
        wait::until("every worker to refuse it", async || {
            match client.send(get("/").client(FLOODING)).await.status.as_u16() {
                403 => Ok(()),
                other => Err(format!("{other}")),
            }
        })
        .await;
    }
    let out = send(&mut clients, 20.0, 2.0, |_| false).await;
    assert_eq!(count(&out, 403), out.len(), "and stays out");

    wait::until("the ban to end", async || {
        match served(&mut clients[0], 1, get("/").client(FLOODING)).await {
            1 => Ok(()),
            _ => Err("refused".to_owned()),
        }
    })
    .await;
    assert!((3.9..4.6).contains(&banned.elapsed().as_secs_f64()), "it lasted {:?}", banned.elapsed());
    let after = send(&mut clients, 4.0, 2.0, |_| false).await;
    assert_eq!(count(&after, 200), after.len(), "as if nothing had been");

    let other = other.await.unwrap();
    assert_eq!(other.count(200), other.answers.len(), "somebody else was refused");
    what_was_told(&proxy).await;
    proxy.assert_never_trapped().await;
}

async fn what_was_told(proxy: &Proxy) {
    let told = |action: &'static str| move |event: &Value| event["event.action"] == action;
    let surges = proxy.events_where(1, "the surge", told("surge")).await;
    assert_eq!(surges.len(), 1, "{surges:#?}");
    let surge = &surges[0];
    assert_eq!(surge["weir.subject"], "client:203.0.113.7");
    assert_eq!(surge["weir.signal"], "traffic:source_surge");
    let number = |field: &str| surge[field].as_f64().unwrap_or_else(|| panic!("no {field} in {surge:#}"));
    assert!((2.0..12.0).contains(&number("weir.baseline")), "{surge:#}");
    assert!(number("weir.threshold") >= 30.0 && number("weir.factor") > 1.0, "{surge:#}");
    assert!(surge["weir.count"].as_u64() >= Some(1), "{surge:#}");

    let bans = proxy.events_where(1, "the ban", told("ban")).await;
    assert_eq!(bans.len(), 1, "{bans:#?}");
    assert_eq!(bans[0]["weir.reason"], "tier");
    assert_eq!(bans[0]["weir.signals"], "traffic:source_surge");
    assert!(bans[0]["weir.score"].as_u64() >= Some(80), "{:#}", bans[0]);
    let unbans = proxy.events_where(1, "its end", told("unban")).await;
    assert_eq!(unbans.len(), 1, "{unbans:#?}");
    assert!(proxy.events().iter().all(|event| event["weir.subject"] == "client:203.0.113.7"));
    proxy.metric_becomes("weir_bans_issued_total", &[("reason", "tier")], 1).await;
}
