//! A client without manners: any bytes over TCP, and what the proxy says to them.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::dial::Wire;
use super::frames::{self, Frame};

pub struct RawConnection {
    socket: Box<dyn Wire>,
    /// Read from the socket, not yet handed out.
    left: Vec<u8>,
}

/// An HTTP/1.1 answer, cut into status and text.
#[derive(Debug)]
pub struct RawAnswer {
    pub status: u16,
    pub text: String,
}

impl RawConnection {
    /// What `proxy.dial().raw(protocol)` gives.
    pub fn over(socket: Box<dyn Wire>) -> RawConnection {
        RawConnection { socket, left: Vec::new() }
    }

    /// Sends the bytes; a proxy that has already hung up is no failure.
    pub async fn send(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes).await;
        let _ = self.socket.flush().await;
    }

    /// Says that nothing more will come, and goes on reading.
    pub async fn send_end(&mut self) {
        let _ = self.socket.shutdown().await;
    }

    /// The next HTTP/1.1 answer, `None` when the proxy closes instead or says something else.
    pub async fn answer(&mut self) -> Option<RawAnswer> {
        loop {
            if let Some(answer) = self.complete_answer() {
                return Some(answer);
            }
            self.read_more().await?;
        }
    }

    /// The error of the GOAWAY that ends an HTTP/2 connection, `None` when it is closed without: `raw.goaway().await`.
    pub async fn goaway(&mut self) -> Option<u32> {
        loop {
            if let Frame::GoAway { error } = self.frame().await? {
                return Some(error);
            }
        }
    }

    /// Whether an HTTP/2 stream gets an answer's headers, rather than a reset or a closed connection.
    ///
    /// `assert!(raw.answered(1).await)`
    pub async fn answered(&mut self, id: u32) -> bool {
        loop {
            match self.frame().await {
                Some(Frame::Answer { stream }) if stream == id => return true,
                Some(Frame::Reset { stream }) if stream == id => return false,
                // Where this names an error Envoy closes a second later.
                Some(Frame::GoAway { error }) if error != 0 => return false,
                Some(_) => {}
                None => return false,
            }
        }
    }

    /// The next HTTP/2 frame, `None` when the proxy closes instead.
    async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = frames::take(&mut self.left) {
                return Some(frame);
            }
            self.read_more().await?;
        }
    }

    async fn read_more(&mut self) -> Option<()> {
        let mut chunk = [0; 16 * 1024];
        match timeout(Duration::from_secs(5), self.socket.read(&mut chunk)).await {
            Ok(Ok(n)) if n > 0 => self.left.extend_from_slice(&chunk[..n]),
            _ => return None,
        }
        Some(())
    }

    /// Whether the proxy closes the connection, whatever it says before.
    pub async fn closes(&mut self) -> bool {
        let mut rest = Vec::new();
        timeout(Duration::from_secs(5), self.socket.read_to_end(&mut rest)).await.is_ok()
    }

    fn complete_answer(&mut self) -> Option<RawAnswer> {
        let text = String::from_utf8_lossy(&self.left).into_owned();
        let head_end = text.find("\r\n\r\n")? + 4;
        let head = text[..head_end].to_ascii_lowercase();
        let status = head.strip_prefix("http/1.1 ")?.get(..3)?.parse().ok()?;
        let body_size =
            head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        let end = head_end + body_size.unwrap_or(0_usize);
        if text.len() < end {
            return None;
        }
        self.left.drain(..end);
        Some(RawAnswer { status, text: text[..end].to_owned() })
    }
}
