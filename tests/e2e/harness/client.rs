//! Clients that keep their connection: HTTP/1.1, HTTP/2 with prior knowledge, gRPC-shaped requests over the latter.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::time::timeout;

use super::dial::{Dial, Wire};
use super::wait::{DEADLINE, until};

/// A request to be sent, over and over if need be.
#[derive(Clone)]
pub struct Ask {
    method: Method,
    /// Path and query as they go over the wire: nothing is normalised.
    path: String,
    host: String,
    headers: HeaderMap,
    body: Bytes,
}

pub fn request(method: &str, path: &str) -> Ask {
    Ask {
        method: method.parse().unwrap(),
        path: path.to_owned(),
        host: "weir.test".to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
    }
}

pub fn get(path: &str) -> Ask {
    request("GET", path)
}

pub fn post(path: &str) -> Ask {
    request("POST", path)
}

pub fn options(path: &str) -> Ask {
    request("OPTIONS", path)
}

pub fn delete(path: &str) -> Ask {
    request("DELETE", path)
}

/// A unary gRPC call with an empty message.
pub fn grpc(path: &str) -> Ask {
    post(path).header("content-type", "application/grpc").header("te", "trailers").body(&[0; 5])
}

impl Ask {
    /// The client that Envoy shall see: its address goes into X-Forwarded-For.
    pub fn client(self, address: &str) -> Ask {
        self.header("x-forwarded-for", address)
    }

    pub fn header(self, name: &str, value: &str) -> Ask {
        self.header_bytes(name, value.as_bytes())
    }

    /// Any bytes that the wire can carry, UTF-8 or not.
    pub fn header_bytes(mut self, name: &str, value: &[u8]) -> Ask {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        self.headers.append(name, HeaderValue::from_bytes(value).unwrap());
        self
    }

    pub fn host(mut self, host: &str) -> Ask {
        host.clone_into(&mut self.host);
        self
    }

    pub fn body(mut self, body: &[u8]) -> Ask {
        self.body = Bytes::copy_from_slice(body);
        self
    }

    pub fn into_request(self, protocol: Protocol, scheme: &str) -> Request<Full<Bytes>> {
        let uri: Uri = match protocol {
            Protocol::Http1 => self.path.parse(),
            Protocol::Http2 => format!("{scheme}://{}{}", self.host, self.path).parse(),
        }
        .unwrap_or_else(|e| panic!("{} is not a path that a client can send: {e}", self.path));
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers;
        if protocol == Protocol::Http1 {
            request.headers_mut().insert("host", self.host.parse().unwrap());
        }
        request
    }

    /// As HTTP/1.1 writes it, for clients that only carry bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes =
            format!("{} {} HTTP/1.1\r\nhost: {}\r\n", self.method, self.path, self.host).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        bytes.extend(format!("content-length: {}\r\n\r\n", self.body.len()).as_bytes());
        bytes.extend(&self.body);
        bytes
    }
}

/// What came back, read to the end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub trailers: HeaderMap,
}

impl Answer {
    /// The value of a header; of several with one name the first.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The value of a header that has to be there and a number.
    pub fn number(&self, name: &str) -> u64 {
        let text = self.header(name).unwrap_or_else(|| panic!("no {name} in {self:#?}"));
        text.parse().unwrap_or_else(|_| panic!("{name}: {text} is not a whole number"))
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {:?}", self.body))
    }

    /// The status of a gRPC call, wherever it stands: in the trailers, or in the headers of an answer without body.
    pub fn grpc_status(&self) -> Option<&str> {
        let value = self.trailers.get("grpc-status").or_else(|| self.headers.get("grpc-status"));
        value.map(|value| value.to_str().unwrap())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    Http2,
}

/// Why no whole answer came.
#[derive(Debug)]
pub enum Lost {
    /// The proxy closed before the TLS handshake was done.
    InHandshake,
    /// The connection, the stream or the answer broke off.
    InHttp(#[expect(dead_code, reason = "shown where a test fails")] Box<dyn Error + Send + Sync>),
}

impl Lost {
    pub fn http(error: impl Error + Send + Sync + 'static) -> Lost {
        Lost::InHttp(Box::new(error))
    }
}

/// One connection, opened with the first request and again when the proxy has closed it.
pub struct Client {
    dial: Dial,
    protocol: Protocol,
    connection: Option<Connection>,
    opened: usize,
}

enum Connection {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    pub fn new(address: SocketAddr, protocol: Protocol) -> Client {
        Client::over(Dial::to(address), protocol)
    }

    /// What `proxy.dial().http1()` gives.
    pub fn over(dial: Dial, protocol: Protocol) -> Client {
        Client { dial, protocol, connection: None, opened: 0 }
    }

    /// Connects from this address, which is the client's where the proxy goes by the TCP peer.
    ///
    /// `proxy.http1().from("127.0.0.5").send(get("/")).await`
    pub fn from(self, address: &str) -> Client {
        Client { dial: self.dial.from(address), ..self }
    }

    /// Sends one request and reads the whole answer. A connection error fails the test, and so does no answer in time.
    pub async fn send(&mut self, ask: Ask) -> Answer {
        self.try_send(ask).await.expect("the proxy answers")
    }

    /// Sends the same request `n` times, one after the other.
    pub async fn send_times(&mut self, n: usize, ask: Ask) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(n);
        for _ in 0..n {
            answers.push(self.send(ask.clone()).await);
        }
        answers
    }

    /// As `send`, for requests that the proxy may answer by closing. An answer is whole, whatever was closed after it.
    ///
    /// `assert!(matches!(client.try_send(get("/")).await, Err(Lost::InHandshake)))`
    pub async fn try_send(&mut self, ask: Ask) -> Result<Answer, Lost> {
        self.send_within(DEADLINE, ask).await
    }

    /// The same, for those who take their time: `client.send_within(Duration::from_secs(60), post("/session"))`.
    pub async fn send_within(&mut self, deadline: Duration, ask: Ask) -> Result<Answer, Lost> {
        timeout(deadline, self.exchange(ask)).await.expect("an answer in time")
    }

    /// How often the client has connected: 1 as long as the proxy leaves its first connection open.
    ///
    /// `assert_eq!(client.opened(), 1)`
    pub fn opened(&self) -> usize {
        self.opened
    }

    /// Whether the proxy has closed the connection by now: `client.is_closed()`. One that never was is not closed.
    pub fn is_closed(&self) -> bool {
        match &self.connection {
            Some(Connection::Http1(sender)) => sender.is_closed(),
            Some(Connection::Http2(sender)) => sender.is_closed(),
            None => false,
        }
    }

    /// Waits until the proxy closes the connection, which fails the test if it doesn't: `client.closes().await`.
    pub async fn closes(&self) {
        assert!(self.connection.is_some(), "there is no connection to be closed");
        until("the proxy to close the connection", async || match self.is_closed() {
            true => Ok(()),
            false => Err("it is open".to_owned()),
        })
        .await;
    }

    async fn exchange(&mut self, ask: Ask) -> Result<Answer, Lost> {
        let request = ask.into_request(self.protocol, self.dial.scheme());
        let response = match self.connected().await? {
            Connection::Http1(sender) => sender.send_request(request).await,
            Connection::Http2(sender) => sender.send_request(request).await,
        };
        read(response.map_err(Lost::http)?).await.map_err(Lost::http)
    }

    async fn connected(&mut self) -> Result<&mut Connection, Lost> {
        let usable = match &mut self.connection {
            Some(Connection::Http1(sender)) => sender.ready().await.is_ok(),
            Some(Connection::Http2(sender)) => sender.ready().await.is_ok(),
            None => false,
        };
        if !usable {
            self.opened += 1;
            let wire = self.dial.connect(self.protocol).await?;
            self.connection = Some(speak(self.protocol, TokioIo::new(wire)).await.map_err(Lost::http)?);
        }
        Ok(self.connection.as_mut().unwrap())
    }
}

async fn speak(protocol: Protocol, io: TokioIo<Box<dyn Wire>>) -> hyper::Result<Connection> {
    Ok(match protocol {
        Protocol::Http1 => {
            let (sender, connection) = http1::handshake(io).await?;
            tokio::spawn(connection);
            Connection::Http1(sender)
        }
        Protocol::Http2 => {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            Connection::Http2(sender)
        }
    })
}

async fn read(response: Response<Incoming>) -> hyper::Result<Answer> {
    let (parts, body) = response.into_parts();
    let body = body.collect().await?;
    let trailers = body.trailers().cloned().unwrap_or_default();
    Ok(Answer { status: parts.status, headers: parts.headers, body: body.to_bytes(), trailers })
}
