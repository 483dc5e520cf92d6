//! One HTTP/2 connection, and requests over it in anybody's name.

use std::net::SocketAddr;

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

/// As many as one likes of these send over the same connection.
#[derive(Clone)]
pub struct Wire(SendRequest<Empty<Bytes>>);

impl Wire {
    pub async fn open(to: SocketAddr) -> Result<Wire, Box<dyn std::error::Error + Send + Sync>> {
        let socket = TcpStream::connect(to).await?;
        socket.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        Ok(Wire(sender))
    }

    /// Sends a request of this client, as the load balancer in front of an Envoy hands it on.
    pub async fn get(&mut self, path: &str, client: &str) -> hyper::Result<Response<Incoming>> {
        let request = Request::get(format!("http://shop.test{path}")).header("x-forwarded-for", client);
        self.0.send_request(request.body(Empty::new()).unwrap()).await
    }
}
