//! Clients that keep their connection: HTTP/1.1, HTTP/2 with prior knowledge, gRPC-shaped requests over the latter.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::wait::DEADLINE;

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

    fn into_request(self, protocol: Protocol) -> Request<Full<Bytes>> {
        let uri: Uri = match protocol {
            Protocol::Http1 => self.path.parse(),
            Protocol::Http2 => format!("http://{}{}", self.host, self.path).parse(),
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

/// One connection, opened with the first request and again when the proxy has closed it.
pub struct Client {
    address: SocketAddr,
    protocol: Protocol,
    connection: Option<Connection>,
}

enum Connection {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    pub fn new(address: SocketAddr, protocol: Protocol) -> Client {
        Client { address, protocol, connection: None }
    }

    /// Sends one request and reads the whole answer. A connection error fails the test, and so does no answer in time.
    pub async fn send(&mut self, ask: Ask) -> Answer {
        let answer = timeout(DEADLINE, self.try_send(ask)).await.expect("the proxy answers in time");
        answer.expect("the proxy answers")
    }

    /// Sends the same request `n` times, one after the other.
    pub async fn send_times(&mut self, n: usize, ask: Ask) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(n);
        for _ in 0..n {
            answers.push(self.send(ask.clone()).await);
        }
        answers
    }

    /// As `send`, for requests that the proxy may answer by closing.
    pub async fn try_send(&mut self, ask: Ask) -> hyper::Result<Answer> {
        let request = ask.into_request(self.protocol);
        let response = match self.connected().await? {
            Connection::Http1(sender) => sender.send_request(request).await?,
            Connection::Http2(sender) => sender.send_request(request).await?,
        };
        read(response).await
    }

    async fn connected(&mut self) -> hyper::Result<&mut Connection> {
        let usable = match &mut self.connection {
            Some(Connection::Http1(sender)) => sender.ready().await.is_ok(),
            Some(Connection::Http2(sender)) => sender.ready().await.is_ok(),
            None => false,
        };
        if !usable {
            self.connection = Some(self.connect().await?);
        }
        Ok(self.connection.as_mut().unwrap())
    }

    async fn connect(&self) -> hyper::Result<Connection> {
        let socket = TcpStream::connect(self.address).await.expect("the proxy listens");
        socket.set_nodelay(true).unwrap();
        let io = TokioIo::new(socket);
        Ok(match self.protocol {
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
}

async fn read(response: Response<Incoming>) -> hyper::Result<Answer> {
    let (parts, body) = response.into_parts();
    let body = body.collect().await?;
    let trailers = body.trailers().cloned().unwrap_or_default();
    Ok(Answer { status: parts.status, headers: parts.headers, body: body.to_bytes(), trailers })
}
