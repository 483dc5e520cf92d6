//! Which connections this worker has open: of whom, with which fingerprints, and where the host finds each to end it.
//! The network filter enters them before the handshake; requests find theirs by the connection's id, so that they need
//! not ask the host again for what holds for all of them.
//!
//! A connection that finds no room is judged like any other, and then unknown: its requests ask the host, and it can't
//! be ended.

use crate::counters::register::Register;
use crate::hash::SubjectHash;
use crate::request::fingerprint::Fingerprints;
use crate::time::Nanos;
use core::net::IpAddr;
use std::collections::VecDeque;

/// Connections that a worker knows: with their fingerprints some 6 MB.
pub const ROOM: u32 = 16_384;

/// A connection's number in the process, as Envoy counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionId(pub u64);

/// The host's name for the network filter on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextId(pub u32);

/// One open connection.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// By which the host ends it.
    pub context: ContextId,
    /// Who opened it; `None`: no address that can be read.
    pub peer: Option<IpAddr>,
    /// The client that it is counted for.
    pub client: Option<SubjectHash>,
    /// What its ClientHello says of the peer's software …
    pub fingerprints: Fingerprints,
    /// … under the methods of this digest.
    pub methods: u64,
    /// It has carried a request of another address than its peer's: a proxy's connection, which many clients share.
    pub shared: bool,
    /// It speaks HTTP/1: nothing on it is an error of HTTP/2.
    pub speaks_http1: bool,
    /// One of its streams has told of a breach of the protocol, which may be the connection's end.
    pub told: bool,
    /// It is to be ended, as soon as the host can.
    pub ending: bool,
}

/// How one asks for a connection's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It ends as soon as the host can.
    Due,
    /// It is a proxy's, and others than this caller use it: it goes on.
    Shared,
    /// No network filter has told of it.
    Unknown,
}

/// All open connections of a worker.
pub struct Connections {
    open: Register<Connection>,
    /// How many each client has.
    clients: Register<u32>,
    /// To be ended, each once: as soon as the host can …
    due: VecDeque<u64>,
    /// … and from a moment on, in its order.
    later: VecDeque<(Nanos, u64)>,
}

/// A caller that is still sending its request must have time to read the answer: what it sends into a connection that is
/// closed makes its system throw away what it has not read yet. Envoy's own `delayed_close_timeout` is as long.
pub const GRACE: Nanos = Nanos::from_secs(1);

impl Default for Connections {
    fn default() -> Connections {
        Connections {
            open: Register::new(ROOM),
            clients: Register::new(ROOM),
            due: VecDeque::with_capacity(ROOM as usize),
            later: VecDeque::with_capacity(ROOM as usize),
        }
    }
}

impl Connections {
    /// Bytes of all of it, exactly.
    pub const MEMORY_BYTES: u64 = Register::<Connection>::memory_bytes(ROOM)
        + Register::<u32>::memory_bytes(ROOM)
        + ROOM as u64 * size_of::<u64>() as u64
        + ROOM as u64 * size_of::<(Nanos, u64)>() as u64;

    /// How many are open.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Is none open?
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How many connections a client has, those without room aside.
    pub fn of(&self, client: SubjectHash) -> u32 {
        self.clients.get(client.0).copied().unwrap_or(0)
    }

    /// A connection that is open.
    pub fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.open.get(id.0)
    }

    /// The same, to note something of it.
    pub fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.open.get_mut(id.0)
    }

    /// Enters a connection. `false`: there is no room.
    pub fn enter(&mut self, id: ConnectionId, connection: Connection) -> bool {
        self.strike(id); // Envoy gives no number twice
        let client = connection.client;
        let entered = self.open.enter(id.0, connection);
        if let Some(client) = client.filter(|_| entered) {
            let count = self.of(client) + 1;
            self.clients.enter(client.0, count); // there are no more clients than connections
        }
        entered
    }

    /// A connection has ended. Returns what was known of it.
    pub fn strike(&mut self, id: ConnectionId) -> Option<Connection> {
        let connection = self.open.strike(id.0)?;
        let client = connection.client.map(|client| client.0);
        if let Some((client, count)) = client.and_then(|client| Some((client, self.clients.get_mut(client)?)))
        {
            *count -= 1;
            if *count == 0 {
                self.clients.strike(client);
            }
        }
        Some(connection)
    }

    /// Does `caller` share the connection with others? One on which somebody else than its peer calls is a proxy's from
    /// then on. `None`: the connection is unknown.
    pub fn is_shared(&mut self, id: ConnectionId, caller: Option<IpAddr>) -> Option<bool> {
        let connection = self.open.get_mut(id.0)?;
        connection.shared |= caller != connection.peer;
        Some(connection.shared)
    }

    /// Asks for the end of the connection over which `caller` calls: `after` that time, where it is still sending.
    pub fn end(&mut self, id: ConnectionId, caller: Option<IpAddr>, after: Option<Nanos>) -> Ending {
        match self.is_shared(id, caller) {
            None => return Ending::Unknown,
            Some(true) => return Ending::Shared,
            Some(false) => {}
        }
        if let Some(connection) = self.open.get_mut(id.0).filter(|connection| !connection.ending) {
            if self.due.len().max(self.later.len()) == ROOM as usize {
                return Ending::Unknown; // as many as that have ended by themselves, and the host has not come round yet
            }
            connection.ending = true;
            match after {
                None => self.due.push_back(id.0),
                Some(time) => self.later.push_back((time, id.0)),
            }
        }
        Ending::Due
    }

    /// The next connection to end, if it is still open.
    pub fn due(&mut self, now: Nanos) -> Option<ContextId> {
        while let Some(id) = self.due.pop_front().or_else(|| self.waited(now)) {
            if let Some(connection) = self.open.get(id) {
                return Some(connection.context);
            }
        }
        None
    }

    /// The clock is another: nobody waits for a moment that it knows nothing of.
    pub fn start_over(&mut self) {
        self.later.iter_mut().for_each(|(time, _)| *time = Nanos::ZERO);
    }

    fn waited(&mut self, now: Nanos) -> Option<u64> {
        let (time, _) = self.later.front()?;
        if *time > now { None } else { self.later.pop_front().map(|(_, id)| id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PEER: Option<IpAddr> = Some(IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 1)));
    const OTHER: Option<IpAddr> = Some(IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 2)));

    fn connection(context: u32, client: u64) -> Connection {
        let (context, client) = (ContextId(context), Some(SubjectHash(client)));
        Connection { context, peer: PEER, client, ..Connection::default() }
    }

    #[test]
    fn a_client_has_as_many_connections_as_are_open() {
        let mut connections = Connections::default();
        for id in 0..3 {
            assert!(connections.enter(ConnectionId(id), connection(1, 7)));
        }
        assert_eq!((connections.len(), connections.of(SubjectHash(7))), (3, 3));
        connections.strike(ConnectionId(1));
        connections.strike(ConnectionId(1));
        assert_eq!(connections.of(SubjectHash(7)), 2);
        assert!(connections.enter(ConnectionId(2), connection(1, 8)), "a number that comes again");
        assert_eq!([7, 8].map(|client| connections.of(SubjectHash(client))), [1, 1]);
    }

    #[test]
    fn a_connection_is_ended_once_and_not_if_it_has_ended_by_itself() {
        let mut connections = Connections::default();
        connections.enter(ConnectionId(1), connection(10, 7));
        connections.enter(ConnectionId(2), connection(20, 7));
        let ends = [1, 1, 2, 3].map(|id| connections.end(ConnectionId(id), PEER, None));
        assert_eq!(ends, [Ending::Due, Ending::Due, Ending::Due, Ending::Unknown]);
        connections.strike(ConnectionId(1));
        assert_eq!(connections.due(Nanos::ZERO), Some(ContextId(20)));
        assert_eq!(connections.due(Nanos::ZERO), None);
    }

    #[test]
    fn who_is_still_sending_has_time_to_read_the_answer() {
        let mut connections = Connections::default();
        connections.enter(ConnectionId(1), connection(10, 7));
        connections.enter(ConnectionId(2), connection(20, 7));
        let now = Nanos::from_secs(5);
        connections.end(ConnectionId(1), PEER, Some(now + GRACE));
        connections.end(ConnectionId(2), PEER, None);
        assert_eq!([connections.due(now), connections.due(now)], [Some(ContextId(20)), None]);
        assert_eq!(connections.due(now + GRACE), Some(ContextId(10)));

        connections.enter(ConnectionId(3), connection(30, 7));
        connections.end(ConnectionId(3), PEER, Some(now + GRACE));
        connections.start_over();
        assert_eq!(connections.due(Nanos::ZERO), Some(ContextId(30)), "the clock has gone back");
    }

    #[test]
    fn connections_that_have_ended_by_themselves_take_no_more_than_the_room_there_is() {
        let mut connections = Connections::default();
        for id in 0..3 * u64::from(ROOM) {
            connections.enter(ConnectionId(id), connection(1, 7));
            connections.end(ConnectionId(id), PEER, (id % 2 == 0).then_some(GRACE));
            connections.strike(ConnectionId(id));
        }
        assert!(
            connections.due.capacity() < 2 * ROOM as usize
                && connections.later.capacity() < 2 * ROOM as usize
        );
        assert_eq!(connections.due(GRACE), None);
    }

    #[test]
    fn a_connection_that_carried_a_request_of_somebody_else_is_never_ended() {
        let mut connections = Connections::default();
        connections.enter(ConnectionId(1), connection(10, 7));
        assert_eq!(connections.is_shared(ConnectionId(1), PEER), Some(false));
        assert_eq!(connections.end(ConnectionId(1), OTHER, None), Ending::Shared);
        assert_eq!(connections.end(ConnectionId(1), PEER, None), Ending::Shared, "nor for its peer's own");
        assert_eq!(connections.due(Nanos::ZERO), None);
    }

    #[test]
    fn what_finds_no_room_is_unknown_and_counted_for_nobody() {
        let mut connections = Connections::default();
        for id in 0..u64::from(ROOM) {
            assert!(connections.enter(ConnectionId(id), connection(1, 7)));
        }
        assert!(!connections.enter(ConnectionId(u64::MAX), connection(1, 8)));
        assert_eq!((connections.of(SubjectHash(7)), connections.of(SubjectHash(8))), (ROOM, 0));
    }

    proptest! {
        #[test]
        fn when_all_have_ended_nothing_is_left(acts in proptest::collection::vec((any::<bool>(), 0u64..40, 0u64..5), 0..200)) {
            let mut connections = Connections::default();
            for (opens, id, client) in acts {
                if opens {
                    connections.enter(ConnectionId(id), connection(id as u32, client));
                } else {
                    connections.strike(ConnectionId(id));
                }
            }
            for id in 0..40 {
                connections.strike(ConnectionId(id));
            }
            prop_assert!(connections.is_empty() && connections.clients.is_empty());
        }
    }
}
