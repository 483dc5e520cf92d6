//! One connection of the attack.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::attack::Tally;
use super::clients::request;
use super::wire::{self, Said};

/// So many requests may be without answer while more are sent.
const OPEN: u64 = 16;

/// Room for the answers of a batch.
const READ: usize = 16 * 1024;

/// A connection and its buffers, which are used over and over.
pub struct Lane {
    socket: TcpStream,
    out: Vec<u8>,
    read: Vec<u8>,
    /// The next request's; a client's are odd and rise.
    stream: u32,
    /// Requests without answer.
    open: u64,
}

impl Lane {
    pub async fn open(to: SocketAddr) -> io::Result<Lane> {
        let socket = TcpStream::connect(to).await?;
        socket.set_nodelay(true)?;
        let mut out = Vec::new();
        wire::preface(&mut out);
        Ok(Lane { socket, out, read: Vec::with_capacity(READ), stream: 1, open: 0 })
    }

    /// Sends requests of these clients, and takes the answers that there are.
    pub async fn send(&mut self, clients: Range<u64>, tally: &Tally) -> io::Result<()> {
        let requests = clients.end - clients.start;
        for client in clients {
            request(client, self.stream, &mut self.out);
            self.stream += 2;
        }
        self.flush().await?;
        self.open += requests;
        tally.sent(requests);
        self.take_what_is_there(tally)?;
        self.wait_for_answers(OPEN, tally).await
    }

    /// Waits until no more than so many requests are without answer.
    pub async fn wait_for_answers(&mut self, open: u64, tally: &Tally) -> io::Result<()> {
        while self.open > open {
            self.flush().await?;
            self.read.reserve(READ);
            if self.socket.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.take_frames(tally)?;
        }
        Ok(())
    }

    fn take_what_is_there(&mut self, tally: &Tally) -> io::Result<()> {
        self.read.reserve(READ);
        match self.socket.try_read_buf(&mut self.read) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => self.take_frames(tally),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(e) => Err(e),
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        if !self.out.is_empty() {
            self.socket.write_all(&self.out).await?;
            self.out.clear();
        }
        Ok(())
    }

    /// Counts the answers that are there, and forgets them.
    fn take_frames(&mut self, tally: &Tally) -> io::Result<()> {
        let mut begin = 0;
        while let Some((said, length)) = wire::take(&self.read[begin..], &mut self.out) {
            begin += length;
            match said {
                Said::Answer(status) => {
                    tally.answered(status);
                    self.open = self.open.saturating_sub(1);
                }
                Said::Reset | Said::GoAway => return Err(io::ErrorKind::ConnectionReset.into()),
                Said::Other => {}
            }
        }
        self.read.drain(..begin);
        Ok(())
    }
}
