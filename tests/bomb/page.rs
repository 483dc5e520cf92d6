//! A page on localhost that draws the show while it goes on.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::stop::Stop;

/// A browser sends its request at once; who does not is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// The page, served while this value lives.
pub struct Page {
    pub address: SocketAddr,
    picture: Arc<Mutex<String>>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Page {
    /// On this port of 127.0.0.1, on any for 0.
    pub fn serve(port: u16) -> Result<Page, String> {
        let listener = TcpListener::bind(("127.0.0.1", port)).map_err(|e| format!("port {port}: {e}"))?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        let (picture, stop) = (Arc::<Mutex<String>>::default(), Stop::default());
        let (current, until) = (Arc::clone(&picture), stop.clone());
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if until.is_said() {
                    return;
                }
                let svg = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // A reader that goes away is none of the show's business.
                let _ = stream.and_then(|stream| answer(stream, &svg));
            }
        });
        Ok(Page { address, picture, stop, thread: Some(thread) })
    }

    /// What is shown from now on.
    pub fn show(&self, svg: &str) {
        svg.clone_into(&mut self.picture.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.stop.say();
        // Wakes the thread where it waits for readers.
        let woken = TcpStream::connect(self.address);
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, svg: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(&stream).lines();
    let asked = lines.next().transpose()?.unwrap_or_default();
    // To the end of the request: closing with something unread would reset the connection.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let (status, kind, body) = match asked.split(' ').take(2).collect::<Vec<_>>()[..] {
        ["GET", "/"] => ("200 OK", "text/html; charset=utf-8", HTML),
        ["GET", "/bomb.svg"] => ("200 OK", "image/svg+xml", svg),
        _ => ("404 Not Found", "text/plain", "nothing here\n"),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Puts the picture into itself, so that it is light or dark as the browser is.
const HTML: &str = r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Weir: the cardinality bomb</title>
<style>
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #fff }
  main svg { width: min(100vw, 140vh); height: auto; display: block }
  p { font: 14px system-ui, sans-serif; color: #59636e; margin: 0; min-height: 2em }
  @media (prefers-color-scheme: dark) { body { background: #0d1117 } p { color: #9198a1 } }
</style>
<main></main>
<p></p>
<script>
  const [main, note] = ["main", "p"].map(name => document.querySelector(name));
  const timer = setInterval(draw, 1000);
  async function draw() {
    try {
      main.innerHTML = await (await fetch("bomb.svg")).text();
    } catch {
      clearInterval(timer);
      note.textContent = "The show is over. The picture is in target/bomb/bomb.svg.";
    }
  }
  draw();
</script>
</html>
"#;
