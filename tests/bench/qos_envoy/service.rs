//! The handle of the service's process.

use std::env;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use http_body_util::BodyExt;

use super::slots::Work;
use super::upstream::{ARGUMENT, WORK};
use super::wire::Wire;

/// A running service. It ends with this value.
pub struct Service {
    child: Child,
    pub address: SocketAddr,
}

impl Service {
    /// # Errors
    /// It does not start, or does not say where it listens.
    pub fn start() -> io::Result<Service> {
        let mut child = Command::new(env::current_exe()?)
            .arg(ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        match line.trim().parse() {
            Ok(address) => Ok(Service { child, address }),
            Err(_) => {
                end(&mut child);
                Err(io::Error::other(format!("the service says {line:?} in place of its address")))
            }
        }
    }

    /// What it has done so far.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn work(&self) -> Result<Work, String> {
        let mut wire = Wire::open(self.address).await.map_err(|e| e.to_string())?;
        let answer = wire.get(WORK, "127.0.0.1").await.map_err(|e| e.to_string())?;
        let body = answer.into_body().collect().await.map_err(|e| e.to_string())?.to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        let numbers = text.split_once(' ').and_then(|(stated, taken)| {
            Some(Work { stated: stated.parse().ok()?, taken: taken.parse().ok()? })
        });
        numbers.ok_or(text)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// By handle: this child and no other process.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
