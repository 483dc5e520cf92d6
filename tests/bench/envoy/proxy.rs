//! One Envoy as a child process: started, weighed and ended by its handle.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::front::Front;

/// Compiling a module of half a megabyte, three instances of it, on a busy machine.
const START_WITHIN: Duration = Duration::from_secs(60);

/// A running Envoy. It ends with this value, also when the bench panics.
pub struct Proxy {
    child: Child,
    /// Where its only listener is.
    pub address: SocketAddr,
    admin: SocketAddr,
    /// From its start until it was ready for traffic.
    pub ready_after: Duration,
}

impl Proxy {
    /// Starts an Envoy with one worker that answers every request by itself.
    ///
    /// # Errors
    /// It does not become ready: the message has the end of its log.
    pub fn start(envoy: &Path, folder: &Path, front: &Front) -> Result<Proxy, String> {
        Proxy::start_with(1, envoy, folder, front)
    }

    /// The same with so many workers.
    ///
    /// # Errors
    /// As above.
    pub fn start_with(workers: usize, envoy: &Path, folder: &Path, front: &Front) -> Result<Proxy, String> {
        let files = Files::in_folder(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let begin = Instant::now();
        let start = || {
            fs::write(&files.bootstrap, front.bootstrap().to_string())?;
            let log = File::create(&files.log)?;
            Command::new(envoy)
                .args([
                    "--concurrency",
                    &workers.to_string(),
                    "--disable-hot-restart",
                    "--log-level",
                    "warning",
                ])
                .arg("--config-path")
                .arg(&files.bootstrap)
                .arg("--admin-address-path")
                .arg(&files.admin)
                .stdin(Stdio::null())
                .stdout(log.try_clone()?)
                .stderr(log)
                .spawn()
        };
        let child = start().map_err(|e| format!("{}: {e}", envoy.display()))?;
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut proxy = Proxy { child, address: nowhere, admin: nowhere, ready_after: Duration::ZERO };
        proxy.admin = proxy.wait_for_traffic(&files, begin)?;
        proxy.ready_after = begin.elapsed();
        proxy.address = listener(proxy.admin).map_err(|e| format!("admin interface of Envoy: {e}"))?;
        Ok(proxy)
    }

    fn wait_for_traffic(&mut self, files: &Files, begin: Instant) -> Result<SocketAddr, String> {
        while begin.elapsed() < START_WITHIN {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("Envoy ended with {status}:\n{}", files.end_of_log()));
            }
            let admin = fs::read_to_string(&files.admin).ok().and_then(|text| text.trim().parse().ok());
            if let Some(admin) = admin
                && get(admin, "/ready").is_ok_and(|answer| answer.contains("LIVE"))
            {
                return Ok(admin);
            }
            sleep(Duration::from_millis(5));
        }
        Err(format!("Envoy is not ready after {START_WITHIN:?}:\n{}", files.end_of_log()))
    }

    /// CPU time that all its threads have spent so far, to the nanosecond once they sleep.
    pub fn cpu(&self) -> io::Result<Duration> {
        // The kernel books a running thread's time when it stops: let the worker finish its last loop.
        sleep(Duration::from_millis(2));
        let mut nanos = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            nanos += text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0);
        }
        Ok(Duration::from_nanos(nanos))
    }

    /// What its admin interface answers, status and headers included.
    pub fn ask(&self, path: &str) -> io::Result<String> {
        get(self.admin, path)
    }

    /// TLS handshakes that it has finished so far, as it counts them itself.
    pub fn handshakes(&self) -> io::Result<usize> {
        let answer = self.ask("/stats?filter=^listener\\..*ssl\\.handshake$")?;
        let counts = answer.lines().filter_map(|line| line.split_once("ssl.handshake: "));
        Ok(counts.filter_map(|(_, count)| count.trim().parse::<usize>().ok()).sum())
    }

    /// Memory that it has resident now.
    pub fn resident_kib(&self) -> io::Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        Ok(line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // By handle: this child and no other process. It has nothing to save.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Files {
    bootstrap: PathBuf,
    admin: PathBuf,
    log: PathBuf,
}

impl Files {
    fn in_folder(folder: &Path) -> io::Result<Files> {
        fs::create_dir_all(folder)?;
        let file = |name| folder.join(name);
        let files = Files { bootstrap: file("envoy.json"), admin: file("admin"), log: file("log") };
        match fs::remove_file(&files.admin) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(files),
        }
    }

    fn end_of_log(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

/// Where the one listener is: "bench::127.0.0.1:40213".
fn listener(admin: SocketAddr) -> Result<SocketAddr, String> {
    let answer = get(admin, "/listeners").map_err(|e| e.to_string())?;
    let address = answer.lines().find_map(|line| line.strip_prefix("bench::"));
    address.and_then(|text| text.trim().parse().ok()).ok_or(answer)
}

fn get(from: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(from)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
