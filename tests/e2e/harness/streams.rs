//! An HTTP/2 connection whose streams end as the test wills: answered, reset at once, reset half-way.

use h2::Reason;
use h2::client::{ResponseFuture, SendRequest};
use hyper::body::Bytes;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use super::client::{Ask, Lost, Protocol};
use super::dial::Dial;
use super::wait::DEADLINE;

/// `let mut streams = proxy.streams().await;`
pub struct Streams {
    sender: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
    scheme: &'static str,
}

/// How the proxy ended an HTTP/2 connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a GOAWAY that names this error (1 is PROTOCOL_ERROR, 11 ENHANCE_YOUR_CALM).
    GoAway(u32),
    /// Without an error: closed as it was, or after a GOAWAY that names none.
    Closed,
}

impl Streams {
    pub async fn open(dial: Dial) -> Result<Streams, Lost> {
        let wire = dial.connect(Protocol::Http2).await?;
        let (sender, connection) = h2::client::handshake(wire).await.map_err(Lost::http)?;
        Ok(Streams { sender, connection: tokio::spawn(connection), scheme: dial.scheme() })
    }

    /// Sends so many requests and resets each at once. Returns how many were sent before the proxy was seen to close.
    ///
    /// `streams.reset_at_once(20, &get("/delay/5000")).await`: with a slow path no answer is faster than the reset.
    pub async fn reset_at_once(&mut self, n: usize, ask: &Ask) -> usize {
        for sent in 0..n {
            let Some((_answer, mut stream)) = self.request(ask).await else { return sent };
            // Here the connection's task writes HEADERS. Reset before that, nothing of the stream would be sent.
            yield_now().await;
            stream.send_reset(Reason::CANCEL);
        }
        yield_now().await;
        n
    }

    /// Resets a stream after its answer's headers have come, and returns the status; `None` when none came.
    ///
    /// `streams.reset_after_headers(&get("/late/5000")).await`: of that path's answer the end is still to come.
    pub async fn reset_after_headers(&mut self, ask: &Ask) -> Option<u16> {
        let (answer, mut stream) = self.request(ask).await?;
        let answer = in_time(answer).await?;
        stream.send_reset(Reason::CANCEL);
        yield_now().await;
        Some(answer.status().as_u16())
    }

    /// Reads an answer to its end and returns the status; `None` when the stream or the connection broke off.
    ///
    /// `assert_eq!(streams.finish(&get("/")).await, Some(200))`
    pub async fn finish(&mut self, ask: &Ask) -> Option<u16> {
        let (answer, _stream) = self.request(ask).await?;
        let answer = in_time(answer).await?;
        let status = answer.status().as_u16();
        let mut body = answer.into_body();
        while let Some(chunk) = body.data().await {
            body.flow_control().release_capacity(chunk.ok()?.len()).ok()?;
        }
        Some(status)
    }

    /// Leaves a request without waiting for its answer: it is open as long as what is returned lives.
    ///
    /// `let open = streams.leave_open(&get("/delay/5000")).await;`
    pub async fn leave_open(&mut self, ask: &Ask) -> Option<ResponseFuture> {
        let (answer, _stream) = self.request(ask).await?;
        yield_now().await;
        Some(answer)
    }

    /// Whether the connection has ended by now: `streams.is_closed()`.
    pub fn is_closed(&self) -> bool {
        self.connection.is_finished()
    }

    /// Waits until the proxy closes, and says how: `assert_eq!(streams.ending().await, Ending::Closed)`.
    pub async fn ending(self) -> Ending {
        let ended = timeout(DEADLINE, self.connection).await.expect("the proxy closes in time").unwrap();
        // Dropped before, the connection would end by itself.
        drop(self.sender);
        match ended {
            Err(error) if error.is_go_away() => Ending::GoAway(error.reason().map_or(0, u32::from)),
            _ => Ending::Closed,
        }
    }

    async fn request(&mut self, ask: &Ask) -> Option<(ResponseFuture, h2::SendStream<Bytes>)> {
        let request = ask.clone().into_request(Protocol::Http2, self.scheme).map(|_body| ());
        self.sender = timeout(DEADLINE, self.sender.clone().ready()).await.expect("a free stream").ok()?;
        self.sender.send_request(request, true).ok()
    }
}

async fn in_time(answer: ResponseFuture) -> Option<hyper::Response<h2::RecvStream>> {
    timeout(DEADLINE, answer).await.expect("the proxy answers in time").ok()
}
