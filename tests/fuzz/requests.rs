//! What a client sends.

use proptest::collection::vec;
use proptest::prelude::*;
use weir::connections::{ConnectionId, ContextId};
use weir::policy::tarpit::StreamId;
use weir::reply::Reply;
use weir::request::Request;
use weir::request::fault::Fault;
use weir::request::fingerprint::{Fingerprints, Layout};
use weir::request::headers::{Headers, Pairs};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

use super::{EVERYTHING, engine, support, text};

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        ":method",
        ":path",
        ":authority",
        "accept",
        "origin",
        "access-control-request-method",
        "content-type",
        "authorization",
        "x-api-key",
        "cookie",
        "x-tenant",
        "x-forwarded-for",
    ])
}

fn headers() -> impl Strategy<Value = Vec<u8>> {
    let well_formed = || {
        vec((name(), text()), 0..12).prop_map(|pairs| {
            let mut blob = Pairs::default();
            pairs.iter().for_each(|(name, value)| blob.push(name, value));
            blob.encode().to_vec()
        })
    };
    let cut = (well_formed(), any::<prop::sample::Index>())
        .prop_map(|(blob, end)| blob[..end.index(blob.len())].to_vec());
    prop_oneof![4 => well_formed(), 1 => cut, 1 => vec(any::<u8>(), 0..120)]
}

proptest! {
    #[test]
    fn any_request_at_any_time_gets_a_decision_and_an_answer(
        requests in vec((prop::option::of(text()), prop::option::of(text()), headers(), any::<u64>()), 1..12),
    ) {
        let mut engine = engine(&MemStore::default(), 1);
        let id = engine.configure("weir", support::plan(EVERYTHING), Nanos::ZERO);
        let mut reply = Reply::default();
        for (source, route, headers, now) in &requests {
            let mut fingerprints = Fingerprints::NONE;
            let value = route.as_deref().unwrap_or_default();
            [Layout::Ja3, Layout::Ja4, Layout::Opaque].into_iter().enumerate().for_each(|(place, layout)| fingerprints.set(place, layout, value));
            let request = Request { unix: Some(*now as u32), source: source.as_deref(), route: route.as_deref(), network: route.as_deref(), fingerprints: &fingerprints, headers: Headers::parse(headers) };
            let connection = ConnectionId(*now % 8);
            let opened = engine.on_connection(id, connection, ContextId(*now as u32), &request, Nanos(*now));
            let (decision, ticket) = engine.on_request(id, &request, Nanos(*now));
            let refuses = decision.action().is_some_and(|action| action.refuses()) || decision.answer.is_some();
            prop_assert_eq!(engine.write_reply(id, &decision, &request, &mut reply), refuses);
            let fault = if now % 2 == 0 { Fault::Reset } else { Fault::Protocol };
            let faulted = engine.on_fault(id, fault, (now % 3 > 0).then_some(connection), &request, Nanos(*now));
            for decision in [&opened, &decision].into_iter().chain(&faulted) {
                for event in engine.report(id, decision, &request, Nanos(*now)) {
                    prop_assert!(serde_json::from_str::<serde_json::Value>(&event.to_json(*now)).is_ok());
                }
            }
            engine.end(connection, &request, now % 7 == 0);
            if now % 5 == 0 {
                engine.on_disconnect(connection);
            }
            while engine.due_to_end().is_some() {}
            let why = engine.why(id).map(|(_, why)| why).unwrap_or_default();
            prop_assert!(why.bytes().all(|b| b == b' ' || b.is_ascii_graphic()), "a header is one line: {why:?}");
            engine.hold(id, StreamId(*now as u32), Nanos(*now));
            engine.on_complete(ticket, &support::FAILED);
            engine.hear(headers, Nanos(*now));
            engine.on_tick(Nanos(now.wrapping_mul(3)));
            while engine.due().is_some() {}
            engine.notify(|_, _| ());
        }
    }
}
