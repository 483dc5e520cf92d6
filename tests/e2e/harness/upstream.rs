//! The service behind the proxy: counts what reaches it and answers as the path says.
//!
//! `/status/503` answers 503, `/flaky` too while it is [failing](Upstream::fail), `/delay/200` answers after 200 ms,
//! `/late/200` answers at once and ends after 200 ms, `/work/200/…` takes one of its slots for 200 ms and waits until one is free
//! ([`Upstream::with_slots`]), `/echo` answers with the request's body, a gRPC request gets
//! `grpc-status: 0` in the trailers, for `/grpc-status/14` that status, for `/plain` none, everything else 200 and `hello`. What is posted
//! to `/events` is kept.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

type Body = UnsyncBoxBody<Bytes, Infallible>;
/// What the upstream has seen, and how it answers.
struct State {
    seen: Mutex<Vec<Parts>>,
    posted: Mutex<Vec<Bytes>>,
    fails: AtomicBool,
    /// First come, first served.
    slots: Semaphore,
}

type Seen = Arc<State>;

pub struct Upstream {
    pub address: SocketAddr,
    seen: Seen,
    accepting: JoinHandle<()>,
}

impl Upstream {
    pub async fn start() -> Upstream {
        Upstream::with_slots(Semaphore::MAX_PERMITS).await
    }

    /// One that works at so many requests at a time, of those that are work, and lets the others wait.
    pub async fn with_slots(slots: usize) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(State {
            seen: Mutex::default(),
            posted: Mutex::default(),
            fails: AtomicBool::new(false),
            slots: Semaphore::new(slots),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&seen)));
        Upstream { address, seen, accepting }
    }

    /// How many requests reached the upstream.
    pub fn total(&self) -> usize {
        self.seen.seen.lock().unwrap().len()
    }

    /// How many of them were for exactly this path (with its query, as it came).
    pub fn requests(&self, path: &str) -> usize {
        let for_path = |parts: &&Parts| parts.uri.path_and_query().is_some_and(|p| p.as_str() == path);
        self.seen.seen.lock().unwrap().iter().filter(for_path).count()
    }

    /// From now on `/flaky` fails, or does not.
    pub fn fail(&self, fails: bool) {
        self.seen.fails.store(fails, Ordering::SeqCst);
    }

    /// The lines that were posted to `/events`.
    pub fn posted_lines(&self) -> Vec<serde_json::Value> {
        let posted = self.seen.posted.lock().unwrap();
        let lines =
            posted.iter().flat_map(|body| body.split(|byte| *byte == b'\n')).filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    /// The headers of the latest request.
    pub fn last_headers(&self) -> HeaderMap {
        self.seen.seen.lock().unwrap().last().expect("no request reached the upstream").headers.clone()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, seen: Seen) {
    while let Ok((socket, _)) = listener.accept().await {
        let seen = Arc::clone(&seen);
        let service = service_fn(move |request| answer(request, Arc::clone(&seen)));
        tokio::spawn(async move {
            // A connection that Envoy drops is not an event here.
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

async fn answer(request: Request<Incoming>, seen: Seen) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let is_grpc = parts
        .headers
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc") && path != "/plain");
    seen.seen.lock().unwrap().push(parts);
    // Read to the end, so that the connection can serve the next request.
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();

    if path == "/events" {
        seen.posted.lock().unwrap().push(body.clone());
    }
    if let Some(ms) = path.strip_prefix("/delay/").and_then(|ms| ms.parse().ok()) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    if let Some(work) = path.strip_prefix("/work/") {
        let ms = work.split('/').next().and_then(|ms| ms.parse().ok()).expect("/work/ and milliseconds");
        // Done to its end, also when the caller has left: what is overloaded seldom notices that.
        let _ = tokio::spawn(work_for(Duration::from_millis(ms), Arc::clone(&seen))).await;
    }
    let fails = path == "/flaky" && seen.fails.load(Ordering::SeqCst);
    let usual = if fails { 503_u16 } else { 200 };
    let status = path.strip_prefix("/status/").and_then(|code| code.parse().ok()).unwrap_or(usual);
    let response = Response::builder().status(status);
    let response = if is_grpc {
        response
            .header("content-type", "application/grpc")
            .body(grpc_body(path.strip_prefix("/grpc-status/").unwrap_or("0")))
    } else if let Some(ms) = path.strip_prefix("/late/").and_then(|ms| ms.parse().ok()) {
        response.body(late_body(Duration::from_millis(ms)))
    } else {
        let answer = if path == "/echo" { body } else { Bytes::from_static(b"hello") };
        response.header("content-type", "text/plain").body(Full::from(answer).boxed_unsync())
    };
    Ok(response.unwrap())
}

async fn work_for(time: Duration, seen: Seen) {
    let _slot = seen.slots.acquire().await;
    tokio::time::sleep(time).await;
}

/// One empty message, then the trailers with the status.
fn grpc_body(status: &str) -> Body {
    let status = HeaderValue::from_str(status).unwrap();
    let trailers = HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), status)]);
    Full::from(&[0; 5][..]).with_trailers(std::future::ready(Some(Ok(trailers)))).boxed_unsync()
}

/// Its end, which has no trailers, is to come.
fn late_body(after: Duration) -> Body {
    let end = async move {
        tokio::time::sleep(after).await;
        None
    };
    Full::from(&b"hello"[..]).with_trailers(end).boxed_unsync()
}
