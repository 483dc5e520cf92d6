//! Connections: judged before their handshake, remembered while they are open, ended where that is decided. And the
//! errors of HTTP/2 callers, which are told when a stream or a connection is over.

use super::{Decision, Engine, InstanceId};
use crate::config::plan::{Needs, Origin, Plan, Supply};
use crate::connections::{Connection, ConnectionId, Connections, ContextId, Ending, GRACE};
use crate::detect::rules::Rate;
use crate::identity::key::Caller;
use crate::identity::subjects::{Keys, Subjects};
use crate::policy::Cause;
use crate::request::fault::Fault;
use crate::request::fingerprint::Fingerprints;
use crate::request::{Request, address};
use crate::shared::Store;
use crate::telemetry::metrics::{Closing, ErrorFate, Metric};
use crate::time::Nanos;
use std::rc::Rc;

impl<S: Store + Clone> Engine<S> {
    /// A network filter begins to tell of connections.
    pub fn attach(&mut self) {
        self.companions += 1;
    }

    /// A network filter has gone.
    pub fn detach(&mut self) {
        self.companions = self.companions.saturating_sub(1);
    }

    /// Does a network filter tell of connections?
    pub fn has_companion(&self) -> bool {
        self.companions > 0
    }

    /// The configuration that judges the connections of the network filter of this name: that of the HTTP filter of its
    /// name, else the latest.
    pub fn judge_of(&self, name: &str) -> Option<InstanceId> {
        let there =
            |place: &Option<super::Instance>| Some((place.as_ref()?.number, *place.as_ref()?.name == *name));
        let rated = self.instances.iter().enumerate().filter_map(|(at, place)| Some((there(place)?, at)));
        rated.max_by_key(|((number, same), _)| (*same, *number)).map(|(_, at)| InstanceId(at))
    }

    /// Judges a connection before its handshake, and remembers it if it may stay. `request` has what is known of it so far.
    pub fn on_connection(
        &mut self,
        id: InstanceId,
        connection: ConnectionId,
        context: ContextId,
        request: &Request,
        now: Nanos,
    ) -> Decision {
        let now = self.read_clock(now);
        self.serve(id, now);
        self.metrics.count(Metric::Connections);
        let decision = self.judge(id, Rate::Connections, request, now).unwrap_or_default();
        if !decision.rulings.refuse() {
            self.remember(id, connection, context, request);
        }
        decision
    }

    /// A connection has ended, or its filter is gone.
    pub fn on_disconnect(&mut self, connection: ConnectionId) {
        if let Some(connections) = &mut self.connections {
            connections.strike(connection);
            self.count_open();
        }
    }

    /// Judges an error of the caller. `None`: it is charged to nobody, as others share its connection.
    pub fn on_fault(
        &mut self,
        id: InstanceId,
        fault: Fault,
        connection: Option<ConnectionId>,
        request: &Request,
        now: Nanos,
    ) -> Option<Decision> {
        let now = self.read_clock(now);
        let shared = self.is_shared(connection, request);
        self.metrics.count_fault(fault, if shared { ErrorFate::Shared } else { ErrorFate::Charged });
        if shared {
            return None;
        }
        self.judge(id, Rate::Errors, request, now)
    }

    /// Notes something of an open connection: that it is a proxy's, as a request came over it that names another address than
    /// its peer's; that it speaks HTTP/1.
    pub fn note(&mut self, connection: ConnectionId, note: impl FnOnce(&mut Connection)) {
        if let Some(known) = self.connections.as_mut().and_then(|all| all.get_mut(connection)) {
            note(known);
        }
    }

    /// Is a breach of the protocol for a stream to tell of? One that is the stream's alone, and leaves the connection open,
    /// always is. One that ends the connection is told of by the network filter; where none knows it, by the first stream.
    pub fn tells(&mut self, connection: ConnectionId, is_streams: bool) -> bool {
        match self.connections.as_mut().and_then(|all| all.get_mut(connection)) {
            Some(known) => {
                known.told |= is_streams;
                is_streams
            }
            None => is_streams || !self.is_told_of(connection),
        }
    }

    /// Has this breach of the protocol been told already? Envoy tells of it at each stream of the connection.
    fn is_told_of(&mut self, connection: ConnectionId) -> bool {
        let told = self.faulty.contains(&connection.0);
        if !told {
            self.faulty.rotate_right(1);
            self.faulty.first_mut().into_iter().for_each(|latest| *latest = connection.0);
        }
        told
    }

    /// A configuration that is in force.
    pub fn plan(&self, id: InstanceId) -> Option<&Rc<Plan>> {
        self.instance(id).map(|instance| &instance.plan)
    }

    /// What is known of an open connection.
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.as_ref()?.get(id)
    }

    /// The fingerprints of an open connection, where they were read by the methods of this configuration.
    pub fn fingerprints(&self, id: InstanceId, connection: ConnectionId) -> Option<Fingerprints> {
        let methods = self.instance(id)?.methods;
        self.connection(connection).filter(|known| known.methods == methods).map(|known| known.fingerprints)
    }

    /// Asks for the end of the connection over which a request came, of which some may still be to come. One of a proxy
    /// goes on, for all others who use it.
    pub fn end(&mut self, connection: ConnectionId, request: &Request, is_whole: bool) -> Ending {
        let caller = request.source.and_then(address::parse);
        let after = (!is_whole).then_some(self.clock.last() + GRACE);
        let connections = self.connections.as_mut();
        let ending = connections.map_or(Ending::Unknown, |all| all.end(connection, caller, after));
        match ending {
            Ending::Due => {}
            Ending::Shared => self.metrics.count_closing(Closing::Shared),
            Ending::Unknown => self.metrics.count_closing(Closing::Unknown),
        }
        ending
    }

    /// The next connection that the host should end.
    pub fn due_to_end(&mut self) -> Option<ContextId> {
        let now = self.clock.last();
        self.connections.as_mut()?.due(now)
    }

    /// Counts the fingerprints that the host did not have, of those that it looked for: from these origins.
    pub fn count_fingerprints(
        &mut self,
        id: InstanceId,
        fingerprints: &Fingerprints,
        looked_for: impl Fn(&Origin) -> bool,
    ) {
        let Some(instance) = self.instances.get(id.0).and_then(Option::as_ref) else { return };
        let looked_for = instance.plan.fingerprints.iter().filter(|supply| looked_for(&supply.from));
        let is_there = |supply: &Supply| fingerprints.get(supply.method.place).is_some();
        let (mut there, mut absent) = (0, 0);
        for supply in looked_for {
            if is_there(supply) {
                there += 1;
            } else {
                absent += 1;
                self.metrics.count_unavailable(supply.method.layout);
            }
        }
        if there > 0 && absent > 0 {
            self.metrics.count(Metric::FingerprintsMissing);
        }
    }

    fn remember(&mut self, id: InstanceId, connection: ConnectionId, context: ContextId, request: &Request) {
        let Some(super::Instance { plan, memos, methods, needs, .. }) =
            self.instances.get_mut(id.0).and_then(Option::as_mut)
        else {
            return;
        };
        let Some(serving) = &self.serving else { return };
        let caller = Caller::of(&plan.identity, request);
        let peer = caller.source.address();
        let (seed, _) = serving.exchange.seed();
        let client = Subjects::of(caller, &plan.keys, seed, memos).get(Keys::CLIENT);
        // What was not looked for is not known to be absent.
        let methods = if needs.fingerprints { *methods } else { 0 };
        let fingerprints = *request.fingerprints;
        let entry = Connection { context, peer, client, fingerprints, methods, ..Connection::default() };
        let connections = self.connections.get_or_insert_default();
        if !connections.enter(connection, entry) {
            self.metrics.count(Metric::ConnectionsUntracked);
        }
        self.count_open();
    }

    /// Do others than its caller use the connection of this request? Where the connection is unknown, those of one that was
    /// handed on do.
    fn is_shared(&mut self, connection: Option<ConnectionId>, request: &Request) -> bool {
        let caller = request.source.and_then(address::parse);
        let known = connection.zip(self.connections.as_mut()).and_then(|(id, all)| all.is_shared(id, caller));
        known.unwrap_or_else(|| request.source.is_none() || request.is_handed_on())
    }

    fn count_open(&mut self) {
        let open = self.connections.as_ref().map_or(0, Connections::len);
        self.metrics.set(Metric::ConnectionsOpen, open as u64);
    }
}

impl Decision {
    /// The rule whose fingerprints decide a connection's end before its handshake.
    pub(super) fn rejects_by(&self) -> Option<u16> {
        let ruling = self.rulings.enforced.filter(|ruling| ruling.answer().refuses())?;
        match ruling.cause {
            Cause::Rule(rule) if self.happens == Rate::Connections => Some(rule),
            _ => None,
        }
    }
}

impl Needs {
    /// Of a connection, what can be known before its first request.
    pub fn of_connection(self) -> Needs {
        Needs { network: self.network, fingerprints: self.fingerprints, ..Needs::default() }
    }
}
