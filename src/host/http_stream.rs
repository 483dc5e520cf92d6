//! One request: facts in, a decision out, the decision carried out.

use super::attributes::Facts;
use super::{Worker, clock, events, reply, with_worker};
use crate::engine::{Decision, InstanceId, Ticket};
use crate::request::Request;
use crate::time::Nanos;
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;

/// The HTTP filter on one stream.
pub struct HttpStream {
    /// `None` where the root never got a configuration: then everything passes.
    instance: Option<InstanceId>,
    ticket: Option<Ticket>,
}

impl HttpStream {
    /// A stream of the filter `instance`.
    pub fn new(instance: Option<InstanceId>) -> HttpStream {
        HttpStream { instance, ticket: None }
    }

    fn complete(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            with_worker(|worker| worker.engine.on_complete(ticket));
        }
    }
}

impl Context for HttpStream {}

impl HttpContext for HttpStream {
    fn on_http_request_headers(&mut self, _count: usize, _end_of_stream: bool) -> Action {
        let Some(instance) = self.instance else { return Action::Continue };
        let mut facts = Facts::read(with_worker(|worker| worker.engine.needs(instance)).unwrap_or_default());
        let now = clock::now();
        let judged = with_worker(|worker| worker.engine.on_request(instance, &facts.request(), now));
        let Some((decision, ticket)) = judged else { return Action::Continue };
        self.complete(); // a stream that Envoy sends through the filters again begins anew
        self.ticket = Some(ticket);
        if let Some(proxy) = decision.suspect {
            events::warn_of_suspect(proxy);
        }
        if decision.ruling().is_none() {
            return Action::Continue;
        }
        facts.complete();
        let act = |worker: &mut Worker| worker.carry_out(instance, &decision, &facts.request(), now);
        with_worker(act).unwrap_or(Action::Continue)
    }

    /// May come without any other callback: Envoy also logs requests that its codec refused.
    fn on_log(&mut self) {
        self.complete();
    }
}

impl Drop for HttpStream {
    fn drop(&mut self) {
        self.complete();
    }
}

impl Worker {
    fn carry_out(
        &mut self,
        instance: InstanceId,
        decision: &Decision,
        request: &Request,
        now: Nanos,
    ) -> Action {
        let event = self.engine.report(instance, &decision.rulings, request, now);
        if let Some(event) = event {
            self.engine.metrics.count_event(events::tell(&event));
        }
        if let Some(shown) = decision.ruling() {
            reply::mark(shown, self.engine.reason());
        }
        let Some(ruling) = decision.rulings.enforced.filter(|ruling| self.reply.write(ruling, request))
        else {
            return Action::Continue;
        };
        match reply::send(&mut self.reply) {
            Ok(()) => Action::Pause,
            Err(_) => {
                self.engine.metrics.count_failed(ruling.response.actions.answer);
                Action::Continue
            }
        }
    }
}
