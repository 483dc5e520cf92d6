//! Sends a schedule through an Envoy, each request at its time, and notes what came back.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

use super::schedule::Sending;
use super::wire::Wire;

/// Nobody waits for longer.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Of the load balancer that all clients come through, to Envoy: enough for every worker to have some.
const CONNECTIONS: usize = 16;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this status.
    Answered(u16),
    GaveUp,
    /// Without an answer: a reset, a connection that broke off.
    BrokeOff,
}

/// A request and its end.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it was to be sent.
    pub at: Duration,
    pub attacks: bool,
    pub end: End,
    /// From then to the end.
    pub took: Duration,
    /// How late it was sent, for want of CPU.
    pub late: Duration,
}

/// A schedule under way: nothing waits for an answer before it sends the next.
pub struct Drive {
    wires: Vec<Wire>,
    begin: Instant,
    left: std::vec::IntoIter<Sending>,
    under_way: JoinSet<Sent>,
}

impl Drive {
    /// # Errors
    /// Envoy takes no connection.
    pub async fn begin(to: SocketAddr, schedule: Vec<Sending>) -> Result<Drive, String> {
        let mut wires = Vec::new();
        for _ in 0..CONNECTIONS {
            wires.push(Wire::open(to).await.map_err(|e| e.to_string())?);
        }
        let left = schedule.into_iter();
        Ok(Drive { wires, begin: Instant::now(), left, under_way: JoinSet::new() })
    }

    /// Sends what is due until then, and returns when it is then.
    pub async fn until(&mut self, until: Duration) {
        while let Some(next) = self.left.as_slice().first()
            && next.at < until
        {
            let due = self.begin + next.at;
            sleep_until(due.into()).await;
            let Some(sending) = self.left.next() else { return };
            let wire = self.wires[sending.number as usize % CONNECTIONS].clone();
            self.under_way.spawn(send(wire, sending, due));
        }
        sleep_until((self.begin + until).into()).await;
    }

    /// Waits for the last answers.
    pub async fn finish(self) -> Vec<Sent> {
        self.under_way.join_all().await
    }
}

async fn send(mut wire: Wire, sending: Sending, due: Instant) -> Sent {
    let late = due.elapsed();
    let exchange = async {
        let answer = wire.get(&sending.kind.path(sending.number), &sending.client()).await?;
        let status = answer.status().as_u16();
        answer.into_body().collect().await?;
        hyper::Result::Ok(status)
    };
    let end = match timeout(PATIENCE, exchange).await {
        Ok(Ok(status)) => End::Answered(status),
        Ok(Err(_)) => End::BrokeOff,
        Err(_) => End::GaveUp,
    };
    Sent { at: sending.at, attacks: sending.attacks, end, took: due.elapsed(), late }
}
