//! Ends connections after a reply, through the context that the network filter has of each. Never in the callback that
//! answers: Envoy would call back into contexts that are gone.

use super::abi;
use super::attributes::connection_id;
use super::{Worker, events, with_worker};
use crate::connections::{ConnectionId, ContextId, Ending};
use crate::engine::Decision;
use crate::policy::Action;
use crate::request::Request;
use crate::telemetry::metrics::Closing;

impl Worker {
    /// Has the connection ended over which a request came that was answered, where that is what follows.
    pub fn close_after_reply(&mut self, decision: &Decision, request: &Request, is_whole: bool) {
        if decision.rulings.end_connection() {
            let connection = if self.engine.has_companion() { connection_id() } else { None };
            self.end_connection(connection, request, is_whole, decision);
        }
    }

    /// Has a connection ended with the next tick: by then the reply is on its way. While it is not, Envoy would go on with
    /// the other streams of a connection that is to end, and complain about each piece of their answers.
    pub fn end_connection(
        &mut self,
        connection: Option<ConnectionId>,
        request: &Request,
        is_whole: bool,
        decision: &Decision,
    ) {
        let ending =
            connection.map_or(Ending::Unknown, |connection| self.engine.end(connection, request, is_whole));
        if ending == Ending::Unknown {
            self.cannot_end(decision);
        }
    }

    /// No network filter has told of the connection: the action `close` is no more than a denial.
    fn cannot_end(&mut self, decision: &Decision) {
        let asked = decision.rulings.enforced.is_some_and(|ruling| ruling.response.actions.close);
        if !asked {
            return; // the connection of somebody who is banned: its requests are refused, and that is all
        }
        self.engine.metrics.count_failed(Action::Close);
        if !core::mem::replace(&mut self.said_close_fails, true) {
            events::warn_that_close_fails();
        }
    }
}

/// Ends one connection, if one is due. Its context may be gone.
pub fn end_one() -> bool {
    let Some(ContextId(context)) = with_worker(|worker| worker.engine.due_to_end()).flatten() else {
        return false;
    };
    let ended = abi::set_effective_context(context).and_then(|()| abi::close_connection());
    let outcome = if ended.is_ok() { Closing::Closed } else { Closing::Failed };
    with_worker(|worker| {
        worker.engine.metrics.count_closing(outcome);
        if ended.is_err() {
            worker.engine.metrics.count_failed(Action::Close);
        }
    });
    true
}
