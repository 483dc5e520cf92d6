//! Requests that are held for a while and then let pass: a caller that waits for each answer comes more slowly, and one
//! that does not has nothing of it.
//!
//! At most so many at once over all workers of the process. With each exchange a worker claims what it holds and its share
//! of what nobody has claimed; of that it may use what the claims of the others leave. All see each other's claims in the
//! order of the exchange, and nobody uses more than it has claimed, so together they never hold more. Who comes beyond
//! passes at once. A caller that leaves frees its place at once.
//!
//! 16 bytes per place, allocated when the worker begins to serve. A tick and a caller that leaves look through those
//! who are held: 10,000 at most, some microseconds.

use crate::time::Nanos;

/// How long, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a request is held.
    pub delay: Nanos,
    /// Requests held at once by all workers.
    pub max_concurrent: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { delay: Nanos::from_secs(3), max_concurrent: 1_000 }
    }
}

impl Settings {
    /// Bytes that [`Tarpit::new`] allocates.
    pub fn memory_bytes(&self) -> u64 {
        u64::from(self.max_concurrent) * size_of::<Held>() as u64
    }
}

/// A request that the host knows by a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamId(pub u32);

#[derive(Clone, Copy)]
struct Held {
    stream: StreamId,
    due: Nanos,
}

/// The requests that one worker holds.
pub struct Tarpit {
    held: Vec<Held>,
    /// Places that may still be taken before the next exchange.
    free: u32,
    /// What the others had claimed at the last exchange.
    others: u32,
    skipped: u64,
}

impl Tarpit {
    /// Nobody is held, and nobody can be before places are [granted](Tarpit::grant).
    pub fn new(settings: &Settings) -> Tarpit {
        Tarpit { held: Vec::with_capacity(settings.max_concurrent as usize), free: 0, others: 0, skipped: 0 }
    }

    /// Makes room for as many as these settings allow, where that is more.
    pub fn resize(&mut self, settings: &Settings) {
        let missing = (settings.max_concurrent as usize).saturating_sub(self.held.len());
        self.held.reserve_exact(missing);
    }

    /// What to claim with the next exchange: all that is held, and this worker's share of what nobody has claimed.
    pub fn claim(&self, settings: &Settings, live: u32) -> u32 {
        let taken = self.others.saturating_add(self.held());
        self.held() + settings.max_concurrent.saturating_sub(taken).div_ceil(live.max(1))
    }

    /// Takes the places that were claimed, as far as the others' claims leave them.
    pub fn grant(&mut self, settings: &Settings, claimed: u32, others: u32) {
        self.others = others;
        let usable = settings.max_concurrent.saturating_sub(others).min(claimed);
        self.free = usable.saturating_sub(self.held());
    }

    /// Holds a request, if there is a place.
    pub fn hold(&mut self, settings: &Settings, stream: StreamId, now: Nanos) -> bool {
        let has_room = self.free > 0 && self.held.len() < self.held.capacity();
        if has_room {
            self.free -= 1;
            self.held.push(Held { stream, due: now + settings.delay });
        } else {
            self.skipped += 1;
        }
        has_room
    }

    /// One whose time is over, and who leaves with that.
    pub fn due(&mut self, now: Nanos) -> Option<StreamId> {
        let place = self.held.iter().position(|held| held.due <= now)?;
        Some(self.held.swap_remove(place).stream)
    }

    /// A caller has left. Its place is free at once.
    pub fn leave(&mut self, stream: StreamId) {
        if let Some(place) = self.held.iter().position(|held| held.stream == stream) {
            self.held.swap_remove(place);
            self.free += 1;
        }
    }

    /// Requests that are held.
    pub fn held(&self) -> u32 {
        u32::try_from(self.held.len()).unwrap_or(u32::MAX)
    }

    /// Requests that passed at once, as there was no place.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The clock has been another: what is held goes on now.
    pub fn release_all(&mut self) {
        self.held.iter_mut().for_each(|held| held.due = Nanos::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const SETTINGS: Settings = Settings { delay: Nanos::from_secs(3), max_concurrent: 4 };
    const NOW: Nanos = Nanos::from_secs(100);

    fn tarpit() -> Tarpit {
        let mut tarpit = Tarpit::new(&SETTINGS);
        tarpit.grant(&SETTINGS, 4, 0);
        tarpit
    }

    fn held(tarpit: &mut Tarpit, streams: core::ops::Range<u32>, now: Nanos) -> usize {
        streams.filter(|&id| tarpit.hold(&SETTINGS, StreamId(id), now)).count()
    }

    #[test]
    fn a_request_is_held_for_the_delay_and_goes_on_once() {
        let mut tarpit = tarpit();
        assert!(tarpit.hold(&SETTINGS, StreamId(7), NOW));
        assert_eq!(tarpit.due(NOW + Nanos::from_millis(2_999)), None);
        assert_eq!(tarpit.due(NOW + Nanos::from_secs(3)), Some(StreamId(7)));
        assert_eq!(tarpit.due(NOW + Nanos::from_secs(4)), None);
    }

    #[test]
    fn beyond_the_last_place_requests_pass_at_once_and_are_counted() {
        let mut tarpit = tarpit();
        assert_eq!(held(&mut tarpit, 0..10, NOW), 4);
        assert_eq!(tarpit.skipped(), 6);
    }

    /// Three workers that exchange in any order, hold as many as they can and let some go.
    fn exchanges(acts: &[(usize, u8)]) -> u32 {
        let mut workers: [Tarpit; 3] = core::array::from_fn(|_| Tarpit::new(&SETTINGS));
        let mut claims = [0; 3];
        let (mut stream, mut most) = (0, 0);
        for &(at, act) in acts {
            let worker = &mut workers[at % 3];
            match act % 4 {
                0 => {
                    claims[at % 3] = worker.claim(&SETTINGS, 3);
                    let others = claims.iter().sum::<u32>() - claims[at % 3];
                    worker.grant(&SETTINGS, claims[at % 3], others);
                }
                1 => drop(worker.due(Nanos::MAX)),
                _ => {
                    stream += 1;
                    worker.hold(&SETTINGS, StreamId(stream), NOW);
                }
            }
            most = most.max(workers.iter().map(Tarpit::held).sum());
        }
        most
    }

    proptest! {
        #[test]
        fn workers_together_never_hold_more_than_there_are_places(acts in vec((0usize..3, any::<u8>()), 0..300)) {
            prop_assert!(exchanges(&acts) <= SETTINGS.max_concurrent);
        }
    }

    #[test]
    fn workers_together_use_all_of_the_places() {
        let acts: Vec<(usize, u8)> = (0..120).map(|n| (n, if n / 3 % 2 == 0 { 0 } else { 2 })).collect();
        assert_eq!(exchanges(&acts), SETTINGS.max_concurrent);
    }

    #[test]
    fn who_leaves_frees_its_place_at_once_and_is_never_let_on() {
        let mut tarpit = tarpit();
        held(&mut tarpit, 0..4, NOW);
        tarpit.leave(StreamId(2));
        tarpit.leave(StreamId(2));
        tarpit.leave(StreamId(99));
        assert_eq!(held(&mut tarpit, 10..12, NOW), 1);
        let mut on = Vec::new();
        while let Some(StreamId(id)) = tarpit.due(NOW + Nanos::from_secs(3)) {
            on.push(id);
        }
        on.sort_unstable();
        assert_eq!(on, [0, 1, 3, 10]);
    }

    #[test]
    fn holding_never_allocates_more_than_was_reserved() {
        let mut tarpit = Tarpit::new(&SETTINGS);
        let larger = Settings { max_concurrent: 1_000_000, ..SETTINGS };
        tarpit.grant(&larger, 1_000_000, 0);
        let held = (0..100).filter(|&id| tarpit.hold(&larger, StreamId(id), NOW)).count();
        assert_eq!(held, tarpit.held.capacity());
    }
}
