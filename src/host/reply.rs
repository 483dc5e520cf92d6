//! Sends replies of our own and marks the stream for the access log.

use super::abi::{self, Status};
use crate::policy::{Mode, Ruling};
use crate::reply::Reply;

/// Answers the request in place of the upstream.
pub fn send(reply: &mut Reply) -> Result<(), Status> {
    abi::send_local_response(
        reply.status,
        reply.details,
        reply.body.as_bytes(),
        reply.headers.encode(),
        reply.grpc_status,
    )
}

/// Sets the filter state `wasm.weir.decision` and `wasm.weir.reason`.
pub fn mark(ruling: &Ruling, reason: &str) {
    let action = ruling.response.actions.answer.name();
    let _ = match ruling.response.mode {
        Mode::Enforce => abi::set_property("weir.decision", action.as_bytes()),
        Mode::Observe => abi::set_property("weir.decision", format!("observe:{action}").as_bytes()),
    };
    let _ = abi::set_property("weir.reason", reason.as_bytes());
}
