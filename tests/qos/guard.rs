//! What stands between callers and upstreams.

use crate::clients::Call;
use crate::upstream::Id;
use weir::time::Nanos;

/// What is done with a request that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// It waits: a tick lets it go on, or refuses it.
    Hold,
    Refuse,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With the upstream's answer.
    Answered(u16),
    /// Its client has lost patience.
    Left,
    /// The proxy has.
    Expired,
    /// The guard refused it.
    Refused,
}

/// What a tick does with a request that was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    Pass(Id),
    Refuse(Id),
}

/// What a guard says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    pub engaged: bool,
    pub hard: bool,
    pub stress: f64,
    pub level: f64,
}

/// It knows arrivals, answers and ends, and the time of each. Every request that arrives completes, refused ones too.
pub trait Guard {
    fn arrive(&mut self, id: Id, call: &Call, now: Nanos) -> Verdict;

    /// An answer's headers come from the upstream.
    fn answer(&mut self, _id: Id, _call: &Call, _status: u16, _now: Nanos) {}

    fn complete(&mut self, _id: Id, _call: &Call, _end: End, _now: Nanos) {}

    /// Every 50 ms, for each worker, as long as its event loop has time.
    fn tick(&mut self, _worker: usize, _now: Nanos, _released: &mut Vec<Release>) {}

    /// Of the first worker, for the first site's upstream.
    fn standing(&self) -> Standing {
        Standing::default()
    }

    /// How often an upstream was declared unreachable.
    fn unreachable(&mut self) -> u64 {
        0
    }

    /// An external classifier's word on a client.
    fn classify(&mut self, _client: u32, _qos: u8, _now: Nanos) {}
}
