//! How one key of a request stands in this bucket of time, and to which of its keys a request counts.
//!
//! The narrowest key that explains a departure takes it, and what somebody does alone is nobody else's:
//!
//! * A client that surges, or has had as much as its own floor in this bucket, counts no more for its route and its
//!   network: what surges there is the doing of many.
//! * A client of a credential that many use, and a credential of a client that many share (an office), count for the
//!   wider one in the same measure. Narrower is who usually sends less than half.
//! * Where address and credential are one and the same caller, both count, and one burst is one signal.

use super::moment::Moment;
use super::settings::{Dimension, Judge};
use super::tally::Tally;
use super::verdict;
use crate::detect::signal::{Evidence, Signal};
use crate::hash::SubjectHash;

/// One key of a request.
#[derive(Clone, Copy)]
pub struct Stand {
    /// Its signal, if it is surging.
    pub signal: Option<Signal>,
    /// Its surge has gone on for two whole buckets.
    lasts: bool,
    /// It has had more in this bucket than its floor.
    spent: bool,
    /// Events of a usual bucket.
    usual: f32,
}

impl Stand {
    /// How a key stands, by its tally.
    pub fn of(
        dimension: Dimension,
        subject: SubjectHash,
        judge: &Judge,
        tally: &Tally,
        at: &Moment,
    ) -> Stand {
        let view = tally.view();
        let factor = view.ratio(at.elapsed());
        let kind = dimension.kind();
        let signal = || Signal {
            kind,
            weight: verdict::weight(judge.weight, factor, kind.escalates()),
            subject,
            evidence: Evidence {
                count: view.count,
                baseline: tally.mean(),
                threshold: view.threshold,
                factor,
            },
        };
        Stand {
            signal: (factor > 1.0).then(signal),
            lasts: tally.lasts(),
            spent: view.count as f32 > judge.floor,
            usual: tally.mean(),
        }
    }

    /// Is its traffic its own doing, and of nothing that it is a part of?
    pub fn stands_alone(&self) -> bool {
        self.spent || self.signal.is_some()
    }

    /// Is it usually less than half of another? Of what is not known yet that can't be said.
    fn is_part_of(&self, whole: &Stand) -> bool {
        self.usual > 0.0 && self.usual < whole.usual / 2.0
    }
}

/// Whether a request counts for its client and for its credential, by how these stand before it.
pub fn callers(source: Option<&Stand>, consumer: Option<&Stand>) -> [bool; 2] {
    let (Some(source), Some(consumer)) = (source, consumer) else { return [true, true] };
    let takes = |part: &Stand, whole: &Stand| part.stands_alone() && part.is_part_of(whole);
    [!takes(consumer, source), !takes(source, consumer)]
}

/// Does a request of these callers count for its route and its network? The client alone has a share in these, where it is
/// known: of a credential there may be any number.
pub fn counts_for_all(source: Option<&Stand>, consumer: Option<&Stand>) -> bool {
    let surges = |stand: Option<&Stand>| stand.is_some_and(|stand| stand.signal.is_some());
    let alone = source.or(consumer).is_some_and(Stand::stands_alone);
    !alone && !surges(consumer)
}

/// A burst of one caller is seen twice, by its address and by its credential, and is still one burst: of the two the
/// heavier is raised. A burst may lie across the end of a bucket, so only what has gone on for two whole ones is none any
/// more: then both are raised, and add up. So whoever is logged in and opens a page of two hundred pictures is no worse
/// than a stranger who does.
pub fn without_echo(source: Option<&Stand>, consumer: Option<&Stand>) -> [Option<Signal>; 2] {
    let signal = |stand: Option<&Stand>| stand.and_then(|stand| stand.signal);
    let lasts = |stand: Option<&Stand>| stand.is_some_and(|stand| stand.lasts);
    match (signal(source), signal(consumer)) {
        (Some(first), Some(second)) if !(lasts(source) && lasts(consumer)) => {
            if first.weight > second.weight { [Some(first), None] } else { [None, Some(second)] }
        }
        (first, second) => [first, second],
    }
}
