//! The client that behaves: it asks a few times per second, with a token of its own, and wants an answer each time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::answer::{length, status};
use super::stop::Stop;

/// 20 per second: far below every limit here.
const EVERY: Duration = Duration::from_millis(50);

/// A person would have left.
const PATIENCE: Duration = Duration::from_secs(2);

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: shop.test\r\nx-forwarded-for: 203.0.113.7\r\n\
    x-api-key: its-own\r\n\r\n";

/// How one request went.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub at: Instant,
    pub served: bool,
    pub latency: Duration,
}

/// The client, asking. It stops with this value.
pub struct Good {
    asked: Arc<Mutex<Vec<Asked>>>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Good {
    pub fn start(to: SocketAddr) -> Good {
        let (asked, stop) = (Arc::<Mutex<Vec<Asked>>>::default(), Stop::default());
        let (told, until) = (Arc::clone(&asked), stop.clone());
        let thread = thread::spawn(move || ask(to, &told, &until));
        Good { asked, stop, thread: Some(thread) }
    }

    /// What it asked until then.
    pub fn asked_until(&self, then: Instant) -> Vec<Asked> {
        let mut asked = self.asked();
        asked.retain(|one| one.at + one.latency <= then);
        asked
    }

    /// All that it asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Good {
    fn drop(&mut self) {
        self.stop.say();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn ask(to: SocketAddr, told: &Mutex<Vec<Asked>>, until: &Stop) {
    let mut stream = None;
    while !until.is_said() {
        let at = Instant::now();
        let served = exchange(to, &mut stream).is_ok_and(|status| status == 200);
        let asked = Asked { at, served, latency: at.elapsed() };
        told.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        // It does not make up for what it missed while it waited: nobody who behaves would.
        thread::sleep(EVERY.saturating_sub(at.elapsed()));
    }
}

/// One request and its answer's status, over the connection that there is.
fn exchange(to: SocketAddr, stream: &mut Option<TcpStream>) -> io::Result<u16> {
    let mut open = match stream.take() {
        Some(open) => open,
        None => connect(to)?,
    };
    open.write_all(REQUEST)?;
    let answer = receive(&mut open)?;
    *stream = Some(open);
    Ok(status(&answer))
}

fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    let mut part = [0; 2048];
    loop {
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => answer.extend_from_slice(&part[..read]),
        }
        if length(&answer).is_some_and(|whole| whole <= answer.len()) {
            return Ok(answer);
        }
    }
}
