//! A load: K connections that send one request after the other, at an offered rate or as fast as the answers come.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::client::{Ask, Client, Protocol};
use super::dial::Dial;

pub struct Load {
    ask: Ask,
    connections: usize,
    protocol: Protocol,
    from: Option<IpAddr>,
    tls: bool,
    /// Requests per second over all connections; `None` as fast as possible.
    offered: Option<f64>,
}

impl Load {
    pub fn new(ask: Ask) -> Load {
        Load { ask, connections: 1, protocol: Protocol::Http1, from: None, tls: false, offered: None }
    }

    pub fn connections(self, connections: usize) -> Load {
        Load { connections, ..self }
    }

    pub fn protocol(self, protocol: Protocol) -> Load {
        Load { protocol, ..self }
    }

    /// Every connection comes from this address: `Load::new(get("/")).from("127.0.0.5")`.
    pub fn from(self, address: &str) -> Load {
        Load { from: Some(address.parse().unwrap()), ..self }
    }

    /// Speaks TLS: `Load::new(get("/")).tls()`.
    pub fn tls(self) -> Load {
        Load { tls: true, ..self }
    }

    pub fn offered_per_second(self, rate: f64) -> Load {
        Load { offered: Some(rate), ..self }
    }

    /// Runs for the duration and returns every answer's status with its time.
    pub async fn run(self, address: SocketAddr, duration: Duration) -> Outcomes {
        // Connected first, so that the clock starts with traffic on every connection.
        let started = Instant::now();
        let mut lanes = JoinSet::new();
        for lane in 0..self.connections {
            let client = Client::over(Dial { to: address, from: self.from, tls: self.tls }, self.protocol);
            let pace = self.offered.map(|rate| Pace::new(rate, self.connections, lane));
            lanes.spawn(drive(client, self.ask.clone(), pace, started, duration));
        }
        let answers = lanes.join_all().await.into_iter().flatten().collect();
        Outcomes { answers, duration }
    }
}

/// The instants at which one connection sends: its share of the rate, the connections interleaved.
#[derive(Clone, Copy)]
struct Pace {
    first: Duration,
    step: Duration,
}

impl Pace {
    fn new(rate: f64, lanes: usize, lane: usize) -> Pace {
        let step = lanes as f64 / rate;
        Pace {
            first: Duration::from_secs_f64(step * lane as f64 / lanes as f64),
            step: Duration::from_secs_f64(step),
        }
    }
}

async fn drive(
    mut client: Client,
    ask: Ask,
    pace: Option<Pace>,
    started: Instant,
    duration: Duration,
) -> Vec<(Duration, u16)> {
    let mut answers = Vec::new();
    let mut due = pace.map_or(Duration::ZERO, |pace| pace.first);
    while due.max(started.elapsed()) < duration {
        if let Some(pace) = pace {
            tokio::time::sleep_until((started + due).into()).await;
            due += pace.step;
        }
        let answer = client.send(ask.clone()).await;
        answers.push((started.elapsed(), answer.status.as_u16()));
    }
    answers
}

/// Every answer of a load: when it came (since the start) and its status.
pub struct Outcomes {
    pub answers: Vec<(Duration, u16)>,
    duration: Duration,
}

impl Outcomes {
    pub fn count(&self, status: u16) -> usize {
        self.answers.iter().filter(|(_, s)| *s == status).count()
    }

    /// Answers with this status per second, the first second (the burst) left out.
    pub fn per_second_after_the_first(&self, status: u16) -> f64 {
        let first = Duration::from_secs(1);
        let later = self.answers.iter().filter(|(at, s)| *at >= first && *at < self.duration && *s == status);
        later.count() as f64 / (self.duration - first).as_secs_f64()
    }

    /// All answers per second: what the clients really offered.
    pub fn offered_per_second(&self) -> f64 {
        self.answers.len() as f64 / self.duration.as_secs_f64()
    }
}
