//! A crowd: clients with a connection each, who ask at a pace of their own, whatever comes back.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

use super::client::{Answer, Ask, Client, Lost, Protocol};
use super::dial::Dial;

/// Nobody waits for longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a member asks for: by its place in the crowd, and how often it has asked.
type Asks = fn(usize, usize) -> Ask;

/// `Crowd::of(50, |n, _| get("/work/400").client(&format!("203.0.113.{n}"))).every(Duration::from_secs(1))`
pub struct Crowd {
    members: usize,
    asks: Asks,
    every: Duration,
    protocol: Protocol,
    peers: Option<fn(usize) -> String>,
}

impl Crowd {
    pub fn of(members: usize, asks: Asks) -> Crowd {
        Crowd { members, asks, every: Duration::from_secs(1), protocol: Protocol::Http1, peers: None }
    }

    /// The time from one request of a member to its next; longer if the answer takes longer.
    pub fn every(self, every: Duration) -> Crowd {
        Crowd { every, ..self }
    }

    pub fn protocol(self, protocol: Protocol) -> Crowd {
        Crowd { protocol, ..self }
    }

    /// Each member connects from an address of its own: `crowd.from(|n| format!("127.0.1.{n}"))`.
    pub fn from(self, peers: fn(usize) -> String) -> Crowd {
        Crowd { peers: Some(peers), ..self }
    }

    /// Runs for the duration, and returns what became of every request, member by member and in order.
    pub async fn run(self, address: SocketAddr, duration: Duration) -> Vec<Fate> {
        let started = Instant::now();
        let mut members = JoinSet::new();
        for member in 0..self.members {
            let dial = Dial::to(address);
            let dial = if let Some(peers) = self.peers { dial.from(&peers(member)) } else { dial };
            // Spread over the first period, so that they don't come in waves.
            let first = self.every.mul_f64(member as f64 / self.members as f64);
            let life = Life { member, asks: self.asks, every: self.every, first, started, duration };
            members.spawn(life.lead(Client::over(dial, self.protocol)));
        }
        let mut fates: Vec<Fate> = members.join_all().await.into_iter().flatten().collect();
        fates.sort_by_key(|fate| (fate.member, fate.at));
        fates
    }
}

/// What became of a request.
#[derive(Debug)]
pub struct Fate {
    pub member: usize,
    /// When it was sent, since the begin.
    pub at: Duration,
    pub took: Duration,
    pub end: End,
    /// How many connections its member had opened by then.
    pub opened: usize,
}

#[derive(Debug)]
pub enum End {
    Answered(Box<Answer>),
    /// The connection or the stream broke off.
    BrokeOff,
    GaveUp,
}

impl Fate {
    pub fn status(&self) -> Option<u16> {
        match &self.end {
            End::Answered(answer) => Some(answer.status.as_u16()),
            End::BrokeOff | End::GaveUp => None,
        }
    }

    pub fn answer(&self) -> Option<&Answer> {
        match &self.end {
            End::Answered(answer) => Some(answer),
            End::BrokeOff | End::GaveUp => None,
        }
    }

    pub fn broke_off(&self) -> bool {
        matches!(self.end, End::BrokeOff)
    }
}

struct Life {
    member: usize,
    asks: Asks,
    every: Duration,
    first: Duration,
    started: Instant,
    duration: Duration,
}

impl Life {
    async fn lead(self, mut client: Client) -> Vec<Fate> {
        let (mut fates, mut due) = (Vec::new(), self.first);
        while due < self.duration {
            sleep_until((self.started + due).into()).await;
            let at = self.started.elapsed();
            let ask = (self.asks)(self.member, fates.len());
            // Dropped in the middle, a request of HTTP/1.1 takes its connection with it, one of HTTP/2 its stream.
            let end = match timeout(PATIENCE, client.try_send(ask)).await {
                Ok(Ok(answer)) => End::Answered(Box::new(answer)),
                Ok(Err(Lost::InHandshake | Lost::InHttp(_))) => End::BrokeOff,
                Err(_) => End::GaveUp,
            };
            let took = self.started.elapsed() - at;
            fates.push(Fate { member: self.member, at, took, end, opened: client.opened() });
            due = (due + self.every).max(self.started.elapsed());
        }
        fates
    }
}
