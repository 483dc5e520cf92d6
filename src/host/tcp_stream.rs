//! One connection: judged before its handshake, remembered while it is open, and its end told.

use super::attributes::{Facts, connection_id, fault};
use super::{Worker, abi, clock, events, with_worker};
use crate::config::plan::{Needs, Plan};
use crate::connections::{ConnectionId, ContextId};
use crate::engine::{Decision, InstanceId};
use crate::request::Request;
use crate::request::fault::Fault;
use crate::telemetry::metrics::Metric;
use crate::time::Nanos;
use proxy_wasm::traits::{Context, StreamContext};
use proxy_wasm::types::Action;
use std::rc::Rc;

/// The network filter on one connection.
pub struct TcpStream {
    context: u32,
    /// The network filter's name in Envoy's configuration.
    name: Rc<str>,
    connection: Option<ConnectionId>,
}

impl TcpStream {
    /// The connection of this context.
    pub fn new(context: u32, name: Rc<str>) -> TcpStream {
        TcpStream { context, name, connection: None }
    }

    fn judge(&self) -> Option<(InstanceId, Needs, Rc<Plan>)> {
        let found = with_worker(|worker| {
            let instance = worker.engine.judge_of(&self.name)?;
            Some((instance, worker.engine.needs(instance), Rc::clone(worker.engine.plan(instance)?)))
        });
        found.flatten()
    }

    /// Judges a breach of the protocol, which has ended the connection. Of one that is not known nobody can tell by now
    /// whether it spoke HTTP/2.
    fn tell_of_fault(&self, connection: ConnectionId) {
        let Some((instance, needs, plan)) = self.judge().filter(|(_, needs, _)| needs.errors) else { return };
        if fault(true) != Some(Fault::Protocol) {
            return;
        }
        let speaks_http2 = |worker: &mut Worker| {
            worker.engine.connection(connection).is_some_and(|known| !known.speaks_http1 && !known.told)
        };
        if with_worker(speaks_http2) != Some(true) {
            return;
        }
        let mut facts = Facts::of_connection(needs.of_connection(), &plan);
        if needs.fingerprints {
            facts.find_fingerprints(instance, &plan);
        }
        with_worker(|worker| {
            worker.judge_fault(instance, Fault::Protocol, Some(connection), &facts.request());
        });
    }

    fn end(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        self.tell_of_fault(connection);
        with_worker(|worker| worker.engine.on_disconnect(connection));
    }
}

impl Context for TcpStream {}

impl StreamContext for TcpStream {
    /// After Envoy has read the ClientHello, and before it answers it.
    fn on_new_connection(&mut self) -> Action {
        let Some((instance, needs, plan)) = self.judge() else {
            with_worker(Worker::miss_judge);
            return Action::Continue;
        };
        let Some(connection) = connection_id() else { return Action::Continue };
        let needs = needs.of_connection();
        let mut facts = Facts::of_connection(needs, &plan);
        if needs.fingerprints {
            facts.look_for_fingerprints(&plan);
        }
        let now = clock::now();
        let decision = with_worker(|worker| {
            worker.count_fingerprints(instance, needs, &facts);
            worker.judge_connection(instance, connection, ContextId(self.context), &facts.request(), now)
        });
        let Some(decision) = decision else { return Action::Continue };
        if let Some(proxy) = decision.suspect {
            events::warn_of_suspect(proxy);
        }
        if decision.rulings.refuse() {
            return reject();
        }
        self.connection = Some(connection);
        Action::Continue
    }

    fn on_log(&mut self) {
        self.end();
    }
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        self.end();
    }
}

/// Closes the connection that is called about. The peer sees its end in place of a handshake.
fn reject() -> Action {
    if abi::close_connection().is_ok() {
        return Action::Pause;
    }
    with_worker(|worker| worker.engine.metrics.count(Metric::ConnectionsRejectFailed));
    Action::Continue
}

/// What comes before the other of the two filters is configured: so much is no mistake, as after a reload of the module.
const ALONE: u32 = 16;

impl Worker {
    fn miss_judge(&mut self) {
        self.unjudged = self.unjudged.saturating_add(1);
        if self.unjudged == ALONE {
            events::warn_of_no_judge();
        }
    }

    /// Requests come, connections are to be counted, and nobody tells of any.
    pub fn miss_companion(&mut self, needs: Needs) {
        if !needs.connections || self.engine.has_companion() {
            return;
        }
        self.untold = self.untold.saturating_add(1);
        if self.untold == ALONE {
            events::warn_of_no_companion();
        }
    }

    fn judge_connection(
        &mut self,
        instance: InstanceId,
        connection: ConnectionId,
        context: ContextId,
        request: &Request,
        now: Nanos,
    ) -> Decision {
        let decision = self.engine.on_connection(instance, connection, context, request, now);
        self.listen_at_once();
        self.tell_of(instance, &decision, request, now);
        decision
    }

    /// Judges an error of the caller, and ends its connection where that is what follows.
    pub fn judge_fault(
        &mut self,
        instance: InstanceId,
        fault: Fault,
        connection: Option<ConnectionId>,
        request: &Request,
    ) {
        let now = clock::now();
        let decision = self.engine.on_fault(instance, fault, connection, request, now);
        let Some(decision) = decision else { return };
        self.tell_of(instance, &decision, request, now);
        if decision.rulings.end_connection() && fault == Fault::Reset {
            self.end_connection(connection, request, true, &decision);
        }
    }

    /// Tells the other workers and the log of what was decided about no request.
    fn tell_of(&mut self, instance: InstanceId, decision: &Decision, request: &Request, now: Nanos) {
        if decision.banned.is_some() {
            self.notify();
        }
        if decision.is_told() {
            self.write_events(instance, decision, request, now);
        }
    }
}
