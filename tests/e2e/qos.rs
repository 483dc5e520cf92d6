//! An upstream that is asked for more than it can do: who costs it most is refused, and who always came is answered.
//!
//! The upstream does [`SLOTS`] seconds of work per second. [`people`] take two fifths of that. Each of [`attackers`] asks
//! for what is dear once a second, under every rate limit, and together they come to three times what it can do.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::configs::with;
use crate::harness::Metrics;
use crate::harness::{Answer, Ask, Crowd, Fate, Protocol, Proxy, Update, Upstream, get, grpc, options, wait};

const SLOTS: usize = 8;
/// The service learns what is usual.
const CALM: Duration = Duration::from_secs(12);
const FLOOD: Duration = Duration::from_secs(15);
/// An answer that comes later is none.
const USEFUL: Duration = Duration::from_secs(2);

const PEOPLE: usize = 40;
const ATTACKERS: usize = 52;

fn qos() -> Value {
    let delay = json!({ "percentile": 95, "ms": 300 });
    json!({
        "mode": "enforce",
        // Nobody but QoS shall refuse anything.
        "traffic": { "route": false, "source": false },
        "qos": { "targets": [{ "match": { "cluster": "upstream" }, "qos_delay": delay }] },
    })
}

fn shedding_by(answer: &str) -> Value {
    with(qos(), "policy", json!({ "shed": { "answer": answer } }))
}

/// What is dear has a route of its own.
fn proxy(config: Value, workers: usize) -> crate::harness::Builder {
    Proxy::with(config).route("report", "/work/400").route("page", "/work/20").workers(workers).alone()
}

/// Three pages a second, now and then a report.
fn person(n: usize, time: usize) -> Ask {
    get(if (n * 7 + time).is_multiple_of(60) { "/work/400" } else { "/work/20" })
}

fn people() -> Crowd {
    Crowd::of(PEOPLE, |n, time| person(n, time).client(&format!("198.51.100.{n}")))
        .every(Duration::from_millis(333))
}

fn attacker(n: usize) -> String {
    format!("203.0.113.{n}")
}

fn attackers() -> Crowd {
    Crowd::of(ATTACKERS, |n, _| get("/work/400").client(&attacker(n)))
}

/// What became of everybody, and what was to be seen in the middle of it.
struct Flooded {
    people: Vec<Fate>,
    attackers: Vec<Fate>,
    during: Metrics,
}

/// A crowd that comes after the calm.
async fn attack(address: SocketAddr, attackers: Crowd, lasts: Duration) -> Vec<Fate> {
    sleep(CALM).await;
    attackers.run(address, lasts).await
}

async fn flooded(proxy: &Proxy, people: Crowd, attackers: Crowd) -> Flooded {
    let people = people.run(proxy.address(), CALM + FLOOD);
    let attack = attack(proxy.address(), attackers, FLOOD);
    let look = async {
        sleep(CALM + FLOOD / 2).await;
        proxy.metrics().await
    };
    let (people, attackers, during) = tokio::join!(people, attack, look);
    Flooded { people, attackers, during }
}

/// The share of requests sent in this time that are so.
fn share(fates: &[Fate], time: Range<Duration>, is_so: impl Fn(&Fate) -> bool) -> f64 {
    let (mut all, mut so) = (0, 0);
    for fate in fates.iter().filter(|fate| time.contains(&fate.at)) {
        all += 1;
        so += usize::from(is_so(fate));
    }
    f64::from(so as u32) / f64::from(all.max(1) as u32)
}

fn is_good(fate: &Fate) -> bool {
    fate.status() == Some(200) && fate.took <= USEFUL
}

fn is_shed(fate: &Fate) -> bool {
    fate.status() == Some(503)
}

/// The people are answered before the flood and in it, and most of what the attackers want is refused.
fn assert_people_are_served(flooded: &Flooded, is_refused: impl Fn(&Fate) -> bool) {
    let before = share(&flooded.people, Duration::ZERO..CALM, is_good);
    let people = share(&flooded.people, CALM..CALM + FLOOD, is_good);
    let refused = share(&flooded.attackers, Duration::ZERO..FLOOD, is_refused);
    println!("people before {before:.3}, in the flood {people:.3}; attackers refused {refused:.3}");
    assert!(before > 0.999, "{before} of the people's requests are answered in the calm");
    assert!(people >= 0.9, "{people} of the people's requests are answered in the flood");
    assert!((0.5..0.95).contains(&refused), "{refused} of the attackers' requests are refused");
}

/// Each request with the next of the same member.
fn successive(fates: &[Fate]) -> impl Iterator<Item = &[Fate]> {
    fates.windows(2).filter(|pair| pair[0].member == pair[1].member)
}

fn refusals(fates: &[Fate]) -> Vec<&Answer> {
    fates.iter().filter(|fate| is_shed(fate)).filter_map(Fate::answer).collect()
}

#[tokio::test]
async fn without_qos_the_same_flood_starves_everybody() {
    let upstream = Upstream::with_slots(SLOTS).await;
    let proxy = proxy(json!({ "mode": "enforce" }), 2).start(&upstream).await;
    let flooded = flooded(&proxy, people(), attackers()).await;

    let before = share(&flooded.people, Duration::ZERO..CALM, is_good);
    let end = share(&flooded.people, CALM + FLOOD / 2..CALM + FLOOD, is_good);
    assert!(before > 0.999, "{before} of the people's requests are answered in the calm");
    assert!(end < 0.1, "{end} of the people's requests are answered at the end of the flood");
}

/// Each attacker is another client, within every rate limit.
async fn the_flood_is_shed(workers: usize) {
    let upstream = Upstream::with_slots(SLOTS).await;
    let proxy = proxy(qos(), workers).start(&upstream).await;
    // Every other one is a program that prefers JSON.
    let attackers = Crowd::of(ATTACKERS, |n, _| {
        let ask = get("/work/400").client(&attacker(n));
        if n % 2 == 0 { ask } else { ask.header("accept", "application/json") }
    });
    let flooded = flooded(&proxy, people(), attackers).await;
    assert_people_are_served(&flooded, is_shed);

    for answer in refusals(&flooded.attackers) {
        let seconds = answer.number("retry-after");
        assert!((1..=60).contains(&seconds), "{answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        match answer.header("content-type") {
            Some("application/problem+json") => {
                let problem = answer.json();
                assert_eq!((&problem["status"], &problem["retry_after"]), (&503.into(), &seconds.into()));
            }
            kind => {
                assert!(kind.is_some_and(|kind| kind.starts_with("text/plain")), "{answer:?}");
                assert!(answer.text().contains(&format!("{seconds} second")), "{answer:?}");
            }
        }
    }

    let shed = refusals(&flooded.attackers).len() + refusals(&flooded.people).len();
    proxy.metric_becomes("weir_qos_shed_total", &[], shed as u64).await;
    proxy.metric_becomes("weir_actions_total", &[("action", "shed"), ("mode", "enforce")], shed as u64).await;
    let total = flooded.people.len() + flooded.attackers.len();
    let lines = proxy.access_log(total).await;
    let told = lines.iter().filter(|line| line.decision.as_deref() == Some("shed")).count();
    assert_eq!(told, shed, "of {total} requests");
    assert!(
        lines
            .iter()
            .filter(|line| line.status == 503)
            .all(|line| line.details.as_deref() == Some("weir_shed"))
    );

    // In the middle of it there was stress, and the level of admission was down.
    let during = |name: &str| flooded.during.weir(name, &[]).expect(name);
    assert!(during("weir_qos_stress_percent") > 0);
    assert!(during("weir_qos_admission_percent") > 0);
    assert_eq!(flooded.during.weir("weir_qos_unreachable", &[]).unwrap_or(0), 0);
    let events = proxy.events_where(1, "about stress", is_of_qos).await;
    assert!(events.len() < 20, "a flood is no flood of events: {events:#?}");

    if workers > 1 {
        let busy = proxy.connections_per_worker().await.iter().filter(|n| **n > 0).count();
        assert!(busy > 1, "all connections went to one worker");
    }
    proxy.metric_becomes("weir_qos_held", &[], 0).await;
    proxy.metric_becomes("weir_requests_in_flight", &[], 0).await;
    proxy.assert_never_trapped().await;
}

fn is_of_qos(event: &Value) -> bool {
    event["event.dataset"] == "weir.qos"
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn who_costs_most_is_shed_and_who_always_came_is_answered() {
    the_flood_is_shed(1).await;
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn two_workers_shed_the_same_flood() {
    the_flood_is_shed(2).await;
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn four_workers_shed_the_same_flood() {
    the_flood_is_shed(4).await;
}

/// So much that there is a queue, so little that it is gone before the delay is reached: the greediest wait.
fn soft() -> Value {
    let delay = json!({ "percentile": 95, "ms": 2_000 });
    let targets = json!([{ "match": { "cluster": "upstream" }, "qos_delay": delay }]);
    with(qos(), "qos", json!({ "targets": targets }))
}

fn the_greedy() -> Crowd {
    Crowd::of(12, |n, _| get("/work/400").client(&attacker(n))).every(Duration::from_millis(700))
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn in_soft_stress_the_greedy_wait_and_nobody_is_refused() {
    let upstream = Upstream::with_slots(SLOTS).await;
    let proxy = proxy(soft(), 1).start(&upstream).await;

    let people = people().run(proxy.address(), CALM + FLOOD);
    let greedy = attack(proxy.address(), the_greedy(), Duration::from_secs(5));
    let (people, greedy) = tokio::join!(people, greedy);

    for fate in people.iter().chain(&greedy) {
        assert_eq!(fate.status(), Some(200), "{fate:?}");
    }
    assert!(proxy.metrics().await.weir("weir_qos_held_total", &[]) >= Some(1), "nobody was held");
    assert_eq!(proxy.metrics().await.weir("weir_qos_shed_total", &[]).unwrap_or(0), 0);
    proxy.metric_becomes("weir_qos_held", &[], 0).await;
    proxy.metric_becomes("weir_requests_in_flight", &[], 0).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn who_leaves_while_it_is_held_frees_its_place_and_never_reaches_the_upstream() {
    const LEAVERS: usize = 30;
    let upstream = Upstream::with_slots(SLOTS).await;
    let proxy = proxy(soft(), 1).start(&upstream).await;

    let people = people().run(proxy.address(), CALM + FLOOD);
    let greedy = attack(proxy.address(), the_greedy(), Duration::from_secs(5));
    let leave = async {
        sleep(CALM + Duration::from_secs(2)).await;
        let mut leaving = Vec::new();
        for _ in 0..LEAVERS {
            let mut raw = proxy.raw().await;
            raw.send(&get("/work/400/left").client(&attacker(0)).into_bytes()).await;
            leaving.push(raw);
        }
        wait::until("one to be held", async || match proxy.metrics().await.weir("weir_qos_held", &[]) {
            Some(1..) => Ok(()),
            held => Err(format!("{held:?}")),
        })
        .await;
        drop(leaving);
        proxy.metric_becomes("weir_qos_held", &[], 0).await;
    };
    let (people, greedy, ()) = tokio::join!(people, greedy, leave);

    assert!(upstream.requests("/work/400/left") < LEAVERS, "held ones were served after they had left");
    assert!(share(&people, CALM..CALM + FLOOD, is_good) > 0.95);
    assert!(greedy.iter().all(|fate| fate.status().is_some()));
    proxy.metric_becomes("weir_requests_in_flight", &[], 0).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn exempt_paths_and_preflights_are_never_shed() {
    let upstream = Upstream::with_slots(SLOTS).await;
    let config = with(qos(), "exempt", json!([{ "path": "/work/400/health" }]));
    let proxy = proxy(config, 2).start(&upstream).await;

    // Of the attackers themselves, and as dear as what is refused.
    let attackers = Crowd::of(ATTACKERS, |n, _| {
        let ask = match n % 10 {
            0 => get("/work/400/health"),
            1 => options("/work/400")
                .header("origin", "https://app.example")
                .header("access-control-request-method", "PUT"),
            _ => get("/work/400"),
        };
        ask.client(&attacker(n))
    });
    let flooded = flooded(&proxy, people(), attackers).await;
    let (never, always): (Vec<_>, Vec<_>) = flooded.attackers.iter().partition(|fate| fate.member % 10 < 2);
    assert!(always.iter().any(|fate| is_shed(fate)), "the flood was not shed");
    assert!(never.len() > 100, "{}", never.len());
    for fate in never {
        assert_eq!(fate.status(), Some(200), "{fate:?}");
    }
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn a_grpc_call_is_shed_in_its_own_terms() {
    let upstream = Upstream::with_slots(SLOTS).await;
    let proxy = proxy(qos(), 2).start(&upstream).await;

    let attackers = Crowd::of(ATTACKERS, |n, _| grpc("/work/400").client(&attacker(n)));
    let flooded = flooded(&proxy, people(), attackers.protocol(Protocol::Http2)).await;
    let is_shed = |fate: &Fate| fate.answer().and_then(Answer::grpc_status) == Some("14");
    assert_people_are_served(&flooded, is_shed);
    for answer in flooded.attackers.iter().filter(|fate| is_shed(fate)).filter_map(Fate::answer) {
        assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 0), "{answer:?}");
        assert!(answer.number("grpc-retry-pushback-ms") >= 1);
    }
    proxy.assert_never_trapped().await;
}

/// An address of loopback for each person, as a connection that is another's than its peer's is not ended.
fn home(n: usize) -> String {
    format!("127.0.2.{}", n + 1)
}

/// The same for each attacker.
fn lair(n: usize) -> String {
    format!("127.0.3.{}", n + 1)
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn by_close_the_reply_arrives_whole_and_then_the_connection_ends() {
    let upstream = Upstream::with_slots(SLOTS).await;
    let proxy = proxy(shedding_by("close"), 2).use_remote_address(0).companion().start(&upstream).await;

    for protocol in [Protocol::Http1, Protocol::Http2] {
        let people = Crowd::of(PEOPLE, person).every(Duration::from_millis(333)).from(home);
        let attackers = Crowd::of(ATTACKERS, |_, _| get("/work/400")).from(lair).protocol(protocol);
        let flooded = flooded(&proxy, people, attackers).await;
        assert_people_are_served(&flooded, is_shed);
        for pair in successive(&flooded.attackers).filter(|pair| pair[0].status().is_some()) {
            let again = pair[1].opened - pair[0].opened;
            assert_eq!(again, usize::from(is_shed(&pair[0])), "{protocol:?}: {pair:?}");
        }
        assert!(refusals(&flooded.attackers).iter().all(|answer| answer.number("retry-after") >= 1));
    }
    proxy.metric_becomes("weir_connections_open", &[], 0).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn by_reset_there_is_no_answer_at_all() {
    let upstream = Upstream::with_slots(SLOTS).await;
    let proxy = proxy(shedding_by("reset"), 2).start(&upstream).await;

    let mut broken = 0;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let flooded = flooded(&proxy, people(), attackers().protocol(protocol)).await;
        assert_people_are_served(&flooded, Fate::broke_off);
        assert_eq!(refusals(&flooded.attackers).len() + refusals(&flooded.people).len(), 0);
        for pair in successive(&flooded.attackers) {
            // A stream ends alone, and a connection of HTTP/1.1 with what it carries.
            let ends = protocol == Protocol::Http1 && pair[0].status().is_none();
            assert_eq!(pair[1].opened - pair[0].opened, usize::from(ends), "{protocol:?}: {pair:?}");
        }
        broken += flooded.people.iter().chain(&flooded.attackers).filter(|fate| fate.broke_off()).count();
        proxy.metric_becomes("weir_qos_shed_total", &[], broken as u64).await;
    }
    proxy.metric_becomes("weir_requests_in_flight", &[], 0).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn in_observe_mode_everything_passes_and_is_counted() {
    let upstream = Upstream::with_slots(SLOTS).await;
    let proxy = proxy(with(qos(), "mode", "observe"), 2).start(&upstream).await;

    let flooded = flooded(&proxy, people(), attackers()).await;
    let sent = flooded.people.len() + flooded.attackers.len();
    assert_eq!(refusals(&flooded.people).len() + refusals(&flooded.attackers).len(), 0);
    let starved = share(&flooded.people, CALM + FLOOD / 2..CALM + FLOOD, is_good);
    assert!(starved < 0.1, "{starved} of the people's requests were answered in a flood that passes");

    let would = proxy.metrics().await.weir("weir_actions_total", &[("action", "shed"), ("mode", "observe")]);
    assert!(would >= Some(1), "{would:?}");
    assert_eq!(
        proxy
            .metrics()
            .await
            .weir("weir_actions_total", &[("action", "shed"), ("mode", "enforce")])
            .unwrap_or(0),
        0
    );
    let lines = proxy.access_log(sent).await;
    let told = lines.iter().filter(|line| line.decision.as_deref() == Some("observe:shed")).count();
    assert_eq!(told as u64, would.unwrap());
    proxy.events_where(1, "about stress", is_of_qos).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
#[ignore = "this version refuses the section qos"]
async fn a_reload_in_the_middle_of_a_flood_changes_nothing() {
    let upstream = Upstream::with_slots(SLOTS).await;
    let mut proxy = proxy(qos(), 2).drain_seconds(600).start(&upstream).await;
    let address = proxy.address();

    let people = people().run(address, CALM + FLOOD);
    let attack = attack(address, attackers(), FLOOD);
    let reload = async {
        sleep(CALM + FLOOD / 2).await;
        let changed = with(qos(), "events", json!({ "log_interval_seconds": 60 }));
        assert_eq!(proxy.reconfigure(changed).await, Update::Accepted);
    };
    let (people, attackers, ()) = tokio::join!(people, attack, reload);

    let good = share(&people, CALM..CALM + FLOOD, is_good);
    assert!(good >= 0.9, "{good} of the people's requests are answered");
    for half in [FLOOD / 4..FLOOD / 2, FLOOD / 2 + Duration::from_secs(1)..FLOOD] {
        let refused = share(&attackers, half.clone(), is_shed);
        assert!((0.5..0.95).contains(&refused), "{refused} of the attackers' requests in {half:?}");
    }
    proxy.assert_never_trapped().await;
}
