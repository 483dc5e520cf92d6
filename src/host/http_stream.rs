//! One request: facts in, a decision out, the decision carried out.

use super::attributes::{Ending, Facts, connection_id, fault, is_streams, speaks_http1};
use super::root::Filter;
use super::{Worker, abi, clock, events, reply, with_worker};
use crate::config::plan::{Needs, Origin};
use crate::connections::ConnectionId;
use crate::engine::{Decision, InstanceId, Ticket};
use crate::policy;
use crate::policy::tarpit::StreamId;
use crate::request::Request;
use crate::request::fault::Fault;
use crate::request::outcome::Outcome;
use crate::time::Nanos;
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;
use std::rc::Rc;

/// The HTTP filter on one stream.
pub struct HttpStream {
    id: StreamId,
    /// `None` where the root never got a configuration: then everything passes.
    filter: Option<Rc<Filter>>,
    ticket: Option<Ticket>,
    /// The request was held, and may be still.
    held: bool,
    /// A response has begun: the upstream's, or one of our own.
    answered: bool,
    /// What the response is to say of why the request was decided so.
    why: Option<Box<str>>,
}

/// How a decision was carried out.
#[derive(PartialEq, Eq)]
enum Carried {
    Passes,
    Held,
    Answered,
}

impl HttpStream {
    /// The stream of this context, of a filter.
    pub fn new(id: u32, filter: Option<Rc<Filter>>) -> HttpStream {
        HttpStream { id: StreamId(id), filter, ticket: None, held: false, answered: false, why: None }
    }

    /// Judges what the caller did wrong, where a rule counts that. What breaks the protocol ends the connection, of which
    /// the network filter tells, if there is one; without it each stream tells, and one is heard.
    fn tell_of_fault(&self) {
        let Some(Filter { instance, plan }) = self.filter.as_deref() else { return };
        let needs = with_worker(|worker| worker.engine.needs(*instance)).unwrap_or_default();
        let Some(fault) = (if needs.errors { fault(self.answered) } else { None }) else { return };
        let connection = connection_id();
        if fault == Fault::Protocol && !tells_of_breach(connection) {
            return;
        }
        let facts = Facts::read(*instance, needs, plan);
        with_worker(|worker| worker.judge_fault(*instance, fault, connection, &facts.request()));
    }

    /// The request has ended so, or begins anew.
    fn end(&mut self, outcome: &Outcome) {
        let held = core::mem::take(&mut self.held);
        self.why = None;
        let Some(ticket) = self.ticket.take() else { return };
        with_worker(|worker| {
            if held {
                worker.engine.leave(self.id);
            }
            worker.engine.on_complete(ticket, outcome);
        });
    }

    /// How the request ended, where that is to be learned.
    fn ending(&self) -> Ending {
        match self.ticket.as_ref().and_then(Ticket::wants_outcome) {
            Some(is_grpc) => Ending::read(is_grpc),
            None => Ending::default(),
        }
    }
}

impl Context for HttpStream {}

impl HttpContext for HttpStream {
    fn on_http_request_headers(&mut self, _count: usize, end_of_stream: bool) -> Action {
        let Some(filter) = self.filter.clone() else { return Action::Continue };
        let Filter { instance, plan } = &*filter;
        let needs = with_worker(|worker| worker.engine.needs(*instance)).unwrap_or_default();
        let mut facts = Facts::read(*instance, needs, plan);
        note_if_shared(needs, &facts);
        let now = clock::now();
        let judged = with_worker(|worker| {
            worker.miss_companion(needs);
            worker.count_fingerprints(*instance, needs, &facts);
            worker.judge(*instance, &facts.request(), now)
        });
        let Some((decision, ticket)) = judged else { return Action::Continue };
        self.end(&Outcome::default()); // a stream that Envoy sends through the filters again
        self.ticket = Some(ticket);
        if let Some(proxy) = decision.suspect {
            events::warn_of_suspect(proxy);
        }
        if !decision.is_told() {
            return Action::Continue;
        }
        facts.complete();
        let outcome = with_worker(|worker| {
            self.why = worker.tell(*instance, &decision, &facts.request(), now);
            let outcome = worker.carry_out(*instance, &decision, &facts.request(), self.id, now);
            if outcome == Carried::Answered {
                worker.close_after_reply(&decision, &facts.request(), end_of_stream);
            }
            outcome
        });
        let outcome = outcome.unwrap_or(Carried::Passes);
        self.held = outcome == Carried::Held;
        if outcome == Carried::Passes { Action::Continue } else { Action::Pause }
    }

    /// Comes for replies of our own too, after the request's callback has returned.
    fn on_http_response_headers(&mut self, _count: usize, _end_of_stream: bool) -> Action {
        self.answered = true;
        let why_header = self.filter.as_ref().and_then(|filter| filter.plan.policy.why_header.as_deref());
        let _ = match (why_header, self.why.take()) {
            (Some(name), Some(text)) => abi::set_response_header(name, &text),
            (Some(name), None) => abi::remove_response_header(name), // nobody else speaks for Weir
            (None, _) => Ok(()),
        };
        Action::Continue
    }

    /// May come without any other callback: Envoy also logs requests that its codec refused.
    fn on_log(&mut self) {
        self.tell_of_fault();
        let ending = self.ending();
        self.end(&ending.outcome());
    }
}

impl Drop for HttpStream {
    fn drop(&mut self) {
        self.end(&Outcome::default());
    }
}

/// Is it this stream that tells of a breach of the protocol?
fn tells_of_breach(connection: Option<ConnectionId>) -> bool {
    let Some(connection) = connection else { return false };
    if speaks_http1() {
        with_worker(|worker| worker.engine.note(connection, |known| known.speaks_http1 = true));
        return false;
    }
    let is_streams = is_streams();
    with_worker(|worker| worker.engine.tells(connection, is_streams)).unwrap_or_default()
}

/// Notes a proxy's connection when a request comes over it, so that nobody ends it, or is charged for it.
fn note_if_shared(needs: Needs, facts: &Facts) {
    let matters = needs.sharing && facts.request().is_handed_on();
    if !matters || with_worker(|worker| worker.engine.has_companion()) != Some(true) {
        return;
    }
    if let Some(connection) = connection_id() {
        with_worker(|worker| worker.engine.note(connection, |known| known.shared = true));
    }
}

impl Worker {
    fn judge(&mut self, instance: InstanceId, request: &Request, now: Nanos) -> (Decision, Ticket) {
        let judged = self.engine.on_request(instance, request, now);
        self.listen_at_once();
        if judged.0.banned.is_some() {
            self.notify();
        }
        judged
    }

    /// Writes events and marks the stream. What the response is to say of it comes back.
    fn tell(
        &mut self,
        instance: InstanceId,
        decision: &Decision,
        request: &Request,
        now: Nanos,
    ) -> Option<Box<str>> {
        self.write_events(instance, decision, request, now);
        if let Some(shown) = decision.ruling() {
            reply::mark(shown, self.engine.reason());
        }
        self.engine.why(instance).map(|(_, text)| text.into())
    }

    /// Counts what was decided, and writes the events of it.
    pub fn write_events(&mut self, instance: InstanceId, decision: &Decision, request: &Request, now: Nanos) {
        for event in self.engine.report(instance, decision, request, now) {
            self.write(instance, &event);
        }
    }

    /// Counts the fingerprints that were looked for.
    pub fn count_fingerprints(&mut self, instance: InstanceId, needs: Needs, facts: &Facts) {
        if needs.fingerprints {
            let looked_for = |from: &Origin| facts.looked_for(from);
            self.engine.count_fingerprints(instance, facts.request().fingerprints, looked_for);
        }
    }

    fn carry_out(
        &mut self,
        instance: InstanceId,
        decision: &Decision,
        request: &Request,
        stream: StreamId,
        now: Nanos,
    ) -> Carried {
        let answer = decision.action();
        if answer == Some(policy::Action::Tarpit) && self.engine.hold(instance, stream, now) {
            return Carried::Held;
        }
        if !self.engine.write_reply(instance, decision, request, &mut self.reply) {
            return Carried::Passes;
        }
        match reply::send(&mut self.reply) {
            Ok(()) => Carried::Answered,
            Err(_) => {
                answer.into_iter().for_each(|action| self.engine.metrics.count_failed(action));
                Carried::Passes
            }
        }
    }
}
