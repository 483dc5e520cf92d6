//! Bans: every worker refuses the banned, at once and nobody else, until the ban is over.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::configs::{enforce, served, slow_rule, statuses, with, with_filter};
use crate::harness::{Client, Load, Proxy, Update, Upstream, get, wait};

const BANNED: &str = "203.0.113.7";
const OTHER: &str = "203.0.113.8";

/// Who asks for `/login` more than `burst` times is banned, everywhere.
fn ban_who_logs_in(burst: u32, ban_seconds: u64) -> Value {
    let login = json!({ "match": { "path_prefix": "/login" } });
    let rule = with_filter(slow_rule("logins", burst, &["block"]), login);
    with(enforce(json!([rule])), "policy", json!({ "ban": { "duration_seconds": ban_seconds } }))
}

/// Waits until the ban is known to each worker. One that has just begun hears of it with its first exchanges.
async fn every_worker_refuses(clients: &mut [Client]) {
    for client in clients {
        wait::until("every worker to refuse", async || {
            match client.send(get("/").client(BANNED)).await.status.as_u16() {
                403 => Ok(()),
                other => Err(format!("{other}")),
            }
        })
        .await;
    }
}

async fn every_worker_refuses_the_banned_alone(workers: usize) {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(ban_who_logs_in(3, 3)).workers(workers).start(&upstream).await;
    let mut clients = proxy.http1_of_each_worker(get("/").client(OTHER)).await;
    let other = Load::new(get("/").client(OTHER)).connections(8).offered_per_second(200.0);
    let other = tokio::spawn(other.run(proxy.address(), Duration::from_secs(5)));

    assert_eq!(
        statuses(&mut clients[0], 4, get("/login").client(BANNED)).await,
        [200, 200, 200, 403],
        "the fourth is one too many"
    );
    let banned = Instant::now();
    every_worker_refuses(&mut clients).await;
    proxy.metric_becomes("weir_bans_active", &[], 1).await;
    for client in &mut clients {
        assert_eq!(served(client, 5, get("/").client(BANNED)).await, 0, "on connections that were there");
    }
    for _ in 0..4 * workers {
        assert_eq!(served(&mut proxy.http2(), 1, get("/").client(BANNED)).await, 0, "and on new ones");
    }
    assert!(banned.elapsed() < Duration::from_secs(3), "too slow to tell: the ban may be over");

    wait::until("the ban to end", async || {
        match clients[0].send(get("/").client(BANNED)).await.status.as_u16() {
            200 => Ok(()),
            other => Err(format!("{other}")),
        }
    })
    .await;
    let lasted = banned.elapsed().as_secs_f64();
    assert!((2.9..3.5).contains(&lasted), "it lasted {lasted} s");
    for client in &mut clients {
        assert_eq!(served(client, 5, get("/").client(BANNED)).await, 5, "on every worker");
    }
    proxy.metric_becomes("weir_bans_active", &[], 0).await;

    let other = other.await.unwrap();
    assert_eq!(other.count(200), other.answers.len(), "somebody else was refused");
    proxy.metric_becomes("weir_bans_issued_total", &[("reason", "rule")], 1).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn two_workers_refuse_the_banned_alone_until_the_ban_is_over() {
    every_worker_refuses_the_banned_alone(2).await;
}

#[tokio::test]
async fn four_workers_refuse_the_banned_alone_until_the_ban_is_over() {
    every_worker_refuses_the_banned_alone(4).await;
}

#[tokio::test]
async fn a_ban_and_its_end_are_told_once() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(ban_who_logs_in(2, 2)).workers(2).start(&upstream).await;
    let mut clients = proxy.http1_of_each_worker(get("/").client(OTHER)).await;
    assert_eq!(served(&mut clients[0], 10, get("/login").client(BANNED)).await, 2);
    every_worker_refuses(&mut clients).await;

    wait::until("the ban to end", async || match served(&mut clients[1], 1, get("/").client(BANNED)).await {
        1 => Ok(()),
        _ => Err("refused".to_owned()),
    })
    .await;
    assert_eq!(served(&mut clients[0], 1, get("/").client(BANNED)).await, 1);

    let about = |action: &'static str| move |event: &Value| event["event.action"] == action;
    let bans = proxy.events_where(1, "a ban", about("ban")).await;
    let unbans = proxy.events_where(1, "its end", about("unban")).await;
    assert_eq!((bans.len(), unbans.len()), (1, 1), "{:#?}", proxy.events());
    for (field, value) in [
        ("weir.subject", json!("client:203.0.113.7")),
        ("weir.reason", json!("rule")),
        ("rule.name", json!("logins")),
        ("weir.ban_seconds", json!(2)),
    ] {
        assert_eq!(bans[0][field], value, "{field} in {:#}", bans[0]);
    }
    assert_eq!(unbans[0]["weir.subject"], "client:203.0.113.7", "{:#}", unbans[0]);
}

#[tokio::test]
async fn a_ban_survives_a_reload_and_is_the_reason_in_the_access_log() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with(ban_who_logs_in(2, 60)).workers(2).start(&upstream).await;
    let mut clients = proxy.http1_of_each_worker(get("/").client(OTHER)).await;
    assert_eq!(served(&mut clients[0], 3, get("/login").client(BANNED)).await, 2);
    every_worker_refuses(&mut clients).await;

    assert_eq!(proxy.reconfigure(ban_who_logs_in(50, 10)).await, Update::Accepted);
    for _ in 0..8 {
        assert_eq!(served(&mut proxy.http1(), 1, get("/after").client(BANNED)).await, 0);
        assert_eq!(served(&mut proxy.http1(), 1, get("/after").client(OTHER)).await, 1);
    }
    let refused = wait::until("the refusals in the access log", async || {
        let mut lines = proxy.access_log(16).await;
        lines.retain(|line| line.reason.as_ref().is_some_and(|reason| reason.contains("ban=rule client:")));
        let after = lines.iter().filter(|line| line.path.as_deref() == Some("/after")).count();
        if after == 8 { Ok(lines) } else { Err(format!("{lines:#?}")) }
    })
    .await;
    for line in &refused {
        assert_eq!((line.status, line.decision.as_deref()), (403, Some("deny")), "{line:?}");
    }
    proxy.metric_becomes("weir_bans_active", &[], 1).await;
    proxy.metric_becomes("weir_bans_rejected_total", &[("mode", "enforce")], refused.len() as u64).await;
    proxy.assert_never_trapped().await;
}

/// How long until another worker refuses whom one has banned.
async fn latencies(proxy: &Proxy, workers: usize, bans: usize) -> Vec<Duration> {
    let mut clients = proxy.http1_of_each_worker(get("/").client(OTHER)).await;
    let mut latencies = Vec::new();
    for nth in 0..bans {
        // At 40 a second: notices of more than 100 are sent together.
        tokio::time::sleep(Duration::from_millis(25)).await;
        let address = format!("203.0.{}.{}", 100 + nth / 200, nth % 200);
        let (one, another) = (nth % workers, (nth + 1 + nth / workers % (workers - 1)) % workers);
        let login = get("/login").client(&address);
        assert_eq!(statuses(&mut clients[one], 2, login).await, [200, 403]);
        let banned = Instant::now();
        while clients[another].send(get("/").client(&address)).await.status != 403 {
            assert!(banned.elapsed() < Duration::from_secs(1), "{address} is banned on one worker alone");
        }
        latencies.push(banned.elapsed());
    }
    latencies.sort();
    latencies
}

async fn a_ban_is_everywhere_at_once(workers: usize) {
    let upstream = Upstream::start().await;
    // So that no exchange brings it.
    let config = with(ban_who_logs_in(1, 600), "workers", json!({ "exchange_ms": 5_000 }));
    let proxy = Proxy::with(config).workers(workers).use_remote_address(1).alone().start(&upstream).await;
    proxy.http1_of_each_worker(get("/").client(OTHER)).await;
    // The workers learn of each other's queues with an exchange: of each, and then of the others.
    tokio::time::sleep(Duration::from_secs(11)).await;

    let all = latencies(&proxy, workers, 200).await;
    let (p50, p99, most) = (all[all.len() / 2], all[all.len() * 99 / 100], all[all.len() - 1]);
    println!("a ban reaches another of {workers} workers: p50 {p50:?}, p99 {p99:?}, most {most:?}");
    assert!(p99 <= Duration::from_millis(100), "p50 {p50:?}, p99 {p99:?}, most {most:?}");
    proxy.metric_becomes("weir_bans_issued_total", &[("reason", "rule")], 200).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_ban_of_one_worker_is_the_other_ones_at_once() {
    a_ban_is_everywhere_at_once(2).await;
}

#[tokio::test]
async fn a_ban_of_one_worker_is_all_fours_at_once() {
    a_ban_is_everywhere_at_once(4).await;
}
