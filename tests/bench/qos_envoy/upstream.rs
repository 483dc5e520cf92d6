//! The service behind Envoy: this program again, as a process of its own.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::thread;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::kind::Kind;
use super::slots::Slots;

/// The argument that makes this program the service.
pub const ARGUMENT: &str = "upstream";

/// The path that tells [`Slots::work`].
pub const WORK: &str = "/work";

/// Streams of a connection: the queue is where requests wait, never the protocol.
const STREAMS: u32 = 1_000_000;

/// Serves HTTP/2 on a port that it says on standard output, until standard input ends: with whoever started it, however
/// that ends.
///
/// # Errors
/// There is no port, or nobody to tell it to.
pub fn serve() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        io::stdout().flush()?;
        let slots = Slots::open();
        tokio::select! {
            () = accept(listener, slots) => {}
            () = end_of_input() => {}
        }
        Ok(())
    })
}

async fn end_of_input() {
    let (tell, ended) = oneshot::channel();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let _ = tell.send(());
    });
    let _ = ended.await;
}

async fn accept(listener: TcpListener, slots: Slots) {
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let slots = slots.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, slots.clone()));
            // A connection that Envoy drops is not an event here.
            let _ = http2::Builder::new(TokioExecutor::new())
                .max_concurrent_streams(STREAMS)
                .max_pending_accept_reset_streams(STREAMS as usize)
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

async fn answer(request: Request<Incoming>, slots: Slots) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    let text = match Kind::of_path(path) {
        Some((kind, number)) => {
            slots.take(kind.service(number)).await;
            "served\n".to_owned()
        }
        None if path == WORK => {
            let work = slots.work();
            format!("{} {}", work.stated, work.taken)
        }
        None => return Ok(Response::builder().status(404).body(Full::default()).unwrap()),
    };
    Ok(Response::new(Full::from(text)))
}
