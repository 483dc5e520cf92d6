//! Requests over a few keep-alive connections, from one thread, and what came back.
//!
//! Every connection always has one request under way: the thread reads the answer of one, sends the next on it and
//! goes on to its neighbour. Envoy's worker is thus busy all the time, and the client needs one core at most.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::answer::{length, status};

/// Clients among whom [`Callers::Many`] choose: as many as Weir's table holds by default.
pub const MANY: u32 = 50_000;

/// Requests under way. Few: a queue in front of the worker makes batches, and those hide what one request costs.
const CONNECTIONS: usize = 8;

/// A header section as a browser sends it, with an API key. About 600 bytes.
const HEAD: &str = "GET /catalog/items?page=2&sort=price HTTP/1.1\r\n\
    host: shop.example.com\r\n\
    user-agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n\
    accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    accept-language: en-GB,en;q=0.7,de;q=0.3\r\n\
    accept-encoding: gzip, deflate, br, zstd\r\n\
    referer: https://shop.example.com/catalog\r\n\
    cookie: session=4f1c2b7a9d; theme=dark; consent=1\r\n";

/// Whose requests these are. Envoy takes the last entry of X-Forwarded-For for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// All from one address.
    One,
    /// Each from one of [`MANY`], at random: the same sequence for the same seed.
    Many { seed: u64 },
    /// Each of [`MANY`] in turn, so that all are known afterwards.
    Each,
}

impl Callers {
    /// The caller of request `n`.
    fn at(self, n: usize) -> u32 {
        match self {
            Callers::One => 0,
            Callers::Many { seed } => (scatter(seed.wrapping_add(n as u64)) % u64::from(MANY)) as u32,
            Callers::Each => (n % MANY as usize) as u32,
        }
    }
}

/// SplitMix64's finalizer: neighbours in, unrelated numbers out.
fn scatter(x: u64) -> u64 {
    let x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Answers by what they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// 200.
    pub served: usize,
    /// 429.
    pub refused: usize,
}

impl Answers {
    fn count(&mut self, status: u16) -> io::Result<()> {
        match status {
            200 => self.served += 1,
            429 => self.refused += 1,
            other => return Err(io::Error::other(format!("Envoy answered {other}"))),
        }
        Ok(())
    }
}

/// Keep-alive connections to one Envoy.
pub struct Connections(Vec<Connection>);

impl Connections {
    /// Connects.
    pub fn open(to: SocketAddr) -> io::Result<Connections> {
        (0..CONNECTIONS).map(|_| Connection::open(to)).collect::<io::Result<_>>().map(Connections)
    }

    /// Sends `requests` requests (at least one per connection) and reads all answers.
    pub fn run(&mut self, requests: usize, callers: Callers) -> io::Result<Answers> {
        let mut answers = Answers::default();
        let width = self.0.len();
        for (n, connection) in self.0.iter_mut().enumerate() {
            connection.send(callers.at(n))?;
        }
        for n in width..requests {
            let connection = &mut self.0[n % width];
            answers.count(connection.receive()?)?;
            connection.send(callers.at(n))?;
        }
        for n in requests..requests + width {
            answers.count(self.0[n % width].receive()?)?;
        }
        Ok(answers)
    }

    /// How long each of `requests` requests takes when it is the only one under way.
    pub fn latencies(&mut self, requests: usize, callers: Callers) -> io::Result<Vec<Duration>> {
        let one_by_one = |n| {
            let connection = &mut self.0[0];
            let begin = Instant::now();
            connection.send(callers.at(n))?;
            connection.receive()?;
            Ok(begin.elapsed())
        };
        (0..requests).map(one_by_one).collect()
    }
}

struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    fn open(to: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Connection { stream, out: HEAD.as_bytes().to_vec(), answer: vec![0; 4096] })
    }

    fn send(&mut self, caller: u32) -> io::Result<()> {
        self.out.truncate(HEAD.len());
        let [_, _, high, low] = caller.to_be_bytes();
        write!(self.out, "x-api-key: key-{caller:06}\r\nx-forwarded-for: 198.18.{high}.{low}\r\n\r\n")?;
        self.stream.write_all(&self.out)
    }

    /// Reads one answer and returns its status.
    fn receive(&mut self) -> io::Result<u16> {
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.answer[filled..])?;
            if read == 0 {
                return Err(io::Error::other("Envoy closed a connection, or its answer is too long"));
            }
            filled += read;
            if let Some(whole) = length(&self.answer[..filled])
                && whole <= filled
            {
                return if whole == filled {
                    Ok(status(&self.answer))
                } else {
                    Err(io::Error::other("more than one answer"))
                };
            }
        }
    }
}
