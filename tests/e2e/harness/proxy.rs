//! The real Envoy as a child process: started with the real module, reconfigured while it runs, ended with the test.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;
use tokio::net::TcpSocket;

use super::client::{Ask, Client, Protocol};
use super::dial::Dial;
use super::envoy::{self, Files, Front};
use super::mmdb;
use super::observe::{self, AccessLine, ConnectionLine, Metrics};
use super::raw::RawConnection;
use super::streams::Streams;
use super::upstream::Upstream;
use super::wait::until;

/// The name of the listener that every proxy has.
const MAIN: &str = "weir";

/// Proxies of ordinary tests share the machine, one that measures (`alone`) has it to itself.
static MACHINE: RwLock<()> = RwLock::new(());

#[expect(dead_code, reason = "held, never looked at")]
enum Place {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

/// How Envoy took a new configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    Accepted,
    Rejected,
}

/// What a proxy shall be, before it is started.
pub struct Builder {
    weir: String,
    workers: usize,
    front: Front,
    more_listeners: Vec<(String, String)>,
    drain_seconds: u32,
    alone: bool,
}

impl Builder {
    pub fn workers(self, workers: usize) -> Builder {
        Builder { workers, ..self }
    }

    /// The client is the TCP peer (with `trusted_hops` entries of X-Forwarded-For believed), as at an edge.
    pub fn use_remote_address(mut self, trusted_hops: u32) -> Builder {
        self.front.use_remote_address = true;
        self.front.trusted_hops = trusted_hops;
        self
    }

    /// Requests whose path begins so take the route of this name.
    pub fn route(mut self, name: &str, prefix: &str) -> Builder {
        self.front.routes.push((name.to_owned(), prefix.to_owned()));
        self
    }

    /// Another listener beside the main one, with its own Weir configuration in the same VM, under its own plugin name.
    pub fn listener(mut self, name: &str, weir: impl ToString) -> Builder {
        self.more_listeners.push((name.to_owned(), weir.to_string()));
        self
    }

    /// Speaks TLS alone and writes each client's fingerprints into the filter states `weir.ja3` and `weir.ja4`.
    ///
    /// `Proxy::with(config).tls().start(&upstream).await`, then `proxy.http1()`, `proxy.dial().openssl(get("/"))`.
    pub fn tls(mut self) -> Builder {
        self.front.network.tls = true;
        self
    }

    /// Writes a fixed text (or one of Envoy's formats) into a filter state of each new connection, with TLS or without.
    ///
    /// `Proxy::with(config).fingerprint_state("weir.method", "some-value")`
    pub fn fingerprint_state(mut self, name: &str, text: &str) -> Builder {
        self.front.network.states.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Envoy looks up the TCP peer's network in this table: filter state `envoy.geoip`, field `x-asn`.
    ///
    /// `Proxy::with(config).use_remote_address(0).geoip(&[("127.0.0.4/30", 64500)])`: of 127.0.0.4 to 127.0.0.7.
    pub fn geoip(mut self, table: &[(&str, u32)]) -> Builder {
        let numbers = table.iter().map(|(network, number)| ((*network).to_owned(), *number));
        self.front.network.numbers = Some(numbers.collect());
        self
    }

    /// Adds Weir as network filter (`root_id` `weir_l4`) to each listener, under its name and in the HTTP filter's VM.
    ///
    /// `Proxy::with(config).companion().tls()`
    pub fn companion(mut self) -> Builder {
        self.front.network.companion = Some(String::new());
        self
    }

    /// The same under one name on all listeners: `Proxy::with(config).listener("other", config).companion_called("weir")`.
    pub fn companion_called(mut self, name: &str) -> Builder {
        self.front.network.companion_name = Some(name.to_owned());
        self.companion()
    }

    /// The same with a configuration of its own: `Proxy::with(config).companion_with("{}")`.
    pub fn companion_with(mut self, configuration: &str) -> Builder {
        self.front.network.companion = Some(configuration.to_owned());
        self
    }

    /// Changes each listener's Envoy configuration before Envoy sees it. The connection manager is then still its only
    /// network filter: `tls`, `fingerprint_state`, `geoip` and `companion` add theirs afterwards.
    pub fn edit_listener(mut self, edit: fn(&mut Value)) -> Builder {
        self.front.edit = edit;
        self
    }

    /// How long connections of a replaced configuration go on (0: they end with the update).
    pub fn drain_seconds(self, drain_seconds: u32) -> Builder {
        Builder { drain_seconds, ..self }
    }

    /// No other proxy runs meanwhile: for tests that measure rates.
    pub fn alone(self) -> Builder {
        Builder { alone: true, ..self }
    }

    /// Starts Envoy; a configuration that it refuses fails the test.
    pub async fn start(self, upstream: &Upstream) -> Proxy {
        let (proxy, update) = self.start_whatever(upstream).await;
        assert_eq!(update, Update::Accepted, "Envoy refused the first configuration");
        proxy
    }

    /// Starts Envoy with a configuration that it has to refuse: it then runs without listeners.
    pub async fn start_refused(self, upstream: &Upstream) -> Proxy {
        let (proxy, update) = self.start_whatever(upstream).await;
        assert_eq!(update, Update::Rejected, "Envoy accepted a configuration that it should refuse");
        proxy
    }

    async fn start_whatever(self, upstream: &Upstream) -> (Proxy, Update) {
        let place = match self.alone {
            true => Place::Alone(MACHINE.write().unwrap_or_else(|e| e.into_inner())),
            false => Place::Shared(MACHINE.read().unwrap_or_else(|e| e.into_inner())),
        };
        let mut listeners = vec![Listener::on_a_free_port(MAIN.to_owned(), self.weir)];
        for (name, weir) in self.more_listeners {
            listeners.push(Listener::on_a_free_port(name, weir));
        }
        let folder = Folder::create();
        let envoy = binary("WEIR_ENVOY", "target/envoy/envoy", "make envoy");
        let files = folder.files(binary("WEIR_WASM", "target/weir.wasm", "make wasm"));

        if let Some(numbers) = &self.front.network.numbers {
            fs::write(&files.numbers, mmdb::of_networks(numbers)).unwrap();
        }
        write_listeners(&folder, 1, &listeners, &self.front, &files);
        let bootstrap = envoy::bootstrap(&folder.listeners(), upstream.address);
        fs::write(folder.bootstrap(), serde_json::to_vec_pretty(&bootstrap).unwrap()).unwrap();
        let child = spawn(&envoy, &folder, self.workers, self.drain_seconds);

        let mut proxy = Proxy {
            admin: SocketAddr::from(([127, 0, 0, 1], 0)),
            child,
            listeners,
            front: self.front,
            folder,
            files,
            accepted: 0,
            rejected: 0,
            drains: self.drain_seconds > 0,
            _place: place,
        };
        proxy.admin = proxy.admin_address().await;
        let update = proxy.update_settles().await;
        (proxy, update)
    }
}

/// A running Envoy. Dropping it ends the process.
pub struct Proxy {
    admin: SocketAddr,
    child: Child,
    listeners: Vec<Listener>,
    front: Front,
    folder: Folder,
    files: Files,
    /// Envoy's verdicts on the listeners' files so far.
    accepted: u64,
    rejected: u64,
    /// Whether connections of a replaced configuration may go on.
    drains: bool,
    _place: Place,
}

struct Listener {
    name: String,
    weir: String,
    /// Bound like Envoy's own sockets and never listening: keeps the port from every other test, takes no connection.
    port: TcpSocket,
}

impl Listener {
    fn on_a_free_port(name: String, weir: String) -> Listener {
        let port = TcpSocket::new_v4().unwrap();
        port.set_reuseport(true).unwrap();
        port.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        Listener { name, weir, port }
    }

    fn address(&self) -> SocketAddr {
        self.port.local_addr().unwrap()
    }
}

impl Proxy {
    /// A proxy with this Weir configuration: a JSON value, or any text.
    pub fn with(weir: impl ToString) -> Builder {
        Builder {
            weir: weir.to_string(),
            workers: 1,
            front: Front::default(),
            more_listeners: Vec::new(),
            drain_seconds: 0,
            alone: false,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address_of(MAIN)
    }

    pub fn address_of(&self, listener: &str) -> SocketAddr {
        self.listeners.iter().find(|l| l.name == listener).expect("a listener of this proxy").address()
    }

    /// A new HTTP/1.1 client of the main listener.
    pub fn http1(&self) -> Client {
        self.dial().http1()
    }

    /// A new HTTP/2 client of the main listener.
    pub fn http2(&self) -> Client {
        self.dial().http2()
    }

    /// A connection to the main listener, with TLS where that speaks it: `proxy.dial().from("127.0.0.5").http2()`.
    pub fn dial(&self) -> Dial {
        self.dial_of(MAIN)
    }

    /// The same for another listener: `proxy.dial_of("second").http1()`.
    pub fn dial_of(&self, listener: &str) -> Dial {
        Dial { tls: self.front.network.tls, ..Dial::to(self.address_of(listener)) }
    }

    /// One client for each worker, in the order of workers: each has sent this request once, so that every worker serves.
    pub async fn http1_of_each_worker(&self, ask: Ask) -> Vec<Client> {
        let mut before = self.connections_per_worker().await;
        let mut clients: Vec<Option<Client>> = before.iter().map(|_| None).collect();
        while clients.iter().any(Option::is_none) {
            // Which worker gets a connection is the kernel's choice.
            let mut client = self.http1();
            client.send(ask.clone()).await;
            let after = self.connections_per_worker().await;
            let worker = (0..after.len()).find(|&at| after[at] > before[at]).expect("a worker has it");
            clients[worker] = Some(client);
            before = after;
        }
        clients.into_iter().flatten().collect()
    }

    /// Bare TCP, even where the listener speaks TLS: `proxy.raw().await.send(b"any bytes").await`.
    pub async fn raw(&self) -> RawConnection {
        self.dial().plain().raw(Protocol::Http1).await.expect("the proxy listens")
    }

    /// An HTTP/2 connection whose streams end as the test wills.
    ///
    /// `proxy.streams().await.reset_at_once(20, &get("/delay/5000")).await`
    pub async fn streams(&self) -> Streams {
        self.dial().streams().await.expect("the proxy takes the connection")
    }

    /// Gives the main listener's Weir another configuration and waits until every worker serves by Envoy's verdict.
    pub async fn reconfigure(&mut self, weir: impl ToString) -> Update {
        let before = std::mem::replace(&mut self.listeners[0].weir, weir.to_string());
        let version = self.accepted + self.rejected + 1;
        write_listeners(&self.folder, version, &self.listeners, &self.front, &self.files);
        let update = self.update_settles().await;
        if update == Update::Rejected {
            self.listeners[0].weir = before;
        }
        update
    }

    /// Envoy's counters and gauges, and Weir's with their labels, at this moment.
    pub async fn metrics(&self) -> Metrics {
        let text = self.admin("/stats").await;
        Metrics::parse(&text, &self.admin("/stats/prometheus").await)
    }

    /// Waits until a Weir metric (the sum over the series that carry these labels) is exactly `value`.
    pub async fn metric_becomes(&self, name: &str, labels: &[(&str, &str)], value: u64) {
        until(&format!("{name}{labels:?} to be {value}"), async || {
            let metrics = self.metrics().await;
            match metrics.weir(name, labels) {
                Some(now) if now == value => Ok(()),
                now => Err(format!("it is {now:?} in\n{}", metrics.weir_text())),
            }
        })
        .await;
    }

    /// Weir's events so far, oldest first.
    pub fn events(&self) -> Vec<Value> {
        observe::events(&self.log())
    }

    /// Waits until at least `n` events are like that, and returns all that are.
    pub async fn events_where(&self, n: usize, what: &str, is_so: impl Fn(&Value) -> bool) -> Vec<Value> {
        until(&format!("{n} events: {what}"), async || {
            let (like, other): (Vec<_>, Vec<_>) = self.events().into_iter().partition(|event| is_so(event));
            if like.len() >= n { Ok(like) } else { Err(format!("{like:#?}, and others: {other:#?}")) }
        })
        .await
    }

    /// Waits until the access log holds `n` requests or more, and returns them.
    pub async fn access_log(&self, n: usize) -> Vec<AccessLine> {
        until(&format!("{n} lines of access log"), async || {
            let lines = observe::access_log(&fs::read_to_string(&self.files.access_log).unwrap_or_default());
            if lines.len() >= n { Ok(lines) } else { Err(format!("{lines:#?}")) }
        })
        .await
    }

    /// Waits until `n` connections or more have ended, and returns them: `proxy.connection_log(1).await[0].ja4`.
    pub async fn connection_log(&self, n: usize) -> Vec<ConnectionLine> {
        until(&format!("{n} ended connections"), async || {
            let text = fs::read_to_string(&self.files.connection_log).unwrap_or_default();
            let lines = observe::connection_log(&text);
            if lines.len() >= n { Ok(lines) } else { Err(format!("{lines:#?}")) }
        })
        .await
    }

    /// Envoy's log so far, Weir's own lines included.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.log()).unwrap_or_default()).into_owned()
    }

    /// Waits until Envoy's log contains this text.
    pub async fn log_contains(&self, text: &str) {
        let log = || self.log();
        until(&format!("{text:?} in Envoy's log"), async || match log().contains(text) {
            true => Ok(()),
            false => Err("it is not there".to_owned()),
        })
        .await;
    }

    /// How many connections each worker of the main listener has taken.
    pub async fn connections_per_worker(&self) -> Vec<u64> {
        let metrics = self.metrics().await;
        let prefix = format!("listener.127.0.0.1_{}.worker_", self.address().port());
        metrics.where_name(|name| name.starts_with(&prefix) && name.ends_with(".downstream_cx_total"))
    }

    /// Fails the test if a worker's VM has died: a panic, a trap, a reload after either.
    pub async fn assert_never_trapped(&self) {
        let log = self.log();
        for sign in ["panicked", "Function: proxy_", "Caught signal"] {
            let line = log.lines().find(|line| line.contains(sign));
            assert_eq!(line, None, "a trap");
        }
        let reloads = self.metrics().await.where_name(|name| name.contains(".vm_reload"));
        assert!(reloads.iter().all(|n| *n == 0), "VMs were reloaded: {reloads:?}");
    }

    /// The answer of Envoy's admin listener.
    pub async fn admin(&self, path: &str) -> String {
        let answer = Client::new(self.admin, Protocol::Http1).send(super::client::get(path)).await;
        String::from_utf8_lossy(&answer.body).into_owned()
    }

    async fn admin_address(&mut self) -> SocketAddr {
        let file = self.folder.admin();
        let child = &mut self.child;
        until("Envoy to start", async || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("Envoy ended at once: {status}");
            }
            let text = fs::read_to_string(&file).map_err(|e| e.to_string())?;
            text.parse().map_err(|_| format!("the admin address is {text:?}"))
        })
        .await
    }

    /// Waits for Envoy's verdict on the latest listeners' file, and until nothing of an older one is left on any worker.
    async fn update_settles(&mut self) -> Update {
        let (accepted, rejected) = until("Envoy's verdict on its listeners", async || {
            let metrics = self.metrics().await;
            let accepted = metrics.envoy("listener_manager.lds.update_success");
            let rejected = metrics.envoy("listener_manager.lds.update_rejected");
            let all_there =
                accepted + rejected > self.accepted + self.rejected && metrics.envoy("server.live") == 1;
            let moving = metrics.where_name(|name| {
                name.starts_with("listener_manager.total_")
                    && (name.ends_with("_warming") || name.ends_with("_draining") && !self.drains)
            });
            match all_there && moving.iter().all(|n| *n == 0) {
                true => Ok((accepted, rejected)),
                false => {
                    Err(format!("{accepted} accepted, {rejected} rejected, {moving:?} warming or draining"))
                }
            }
        })
        .await;
        let update = if rejected > self.rejected { Update::Rejected } else { Update::Accepted };
        (self.accepted, self.rejected) = (accepted, rejected);
        update
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Ended by its handle: nothing else on the machine can be hit.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let tail = lines[lines.len().saturating_sub(60)..].join("\n");
            eprintln!("--- the end of {} ---\n{tail}", self.folder.log().display());
        } else {
            let _ = fs::remove_dir_all(&self.folder.0);
        }
    }
}

/// The files of one proxy, gone when its test has passed.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Folder {
        let test = std::thread::current().name().unwrap_or("unnamed").replace("::", ".");
        let path = project().join("target/e2e").join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn bootstrap(&self) -> PathBuf {
        self.0.join("bootstrap.json")
    }

    fn listeners(&self) -> PathBuf {
        self.0.join("listeners.json")
    }

    fn admin(&self) -> PathBuf {
        self.0.join("admin.txt")
    }

    fn log(&self) -> PathBuf {
        self.0.join("envoy.log")
    }

    fn files(&self, wasm: PathBuf) -> Files {
        Files {
            wasm,
            access_log: self.0.join("access.json"),
            connection_log: self.0.join("connections.json"),
            numbers: self.0.join("numbers.mmdb"),
        }
    }
}

/// Envoy watches for a rename onto the file: written beside it, then moved, it is never read half.
fn write_listeners(folder: &Folder, version: u64, listeners: &[Listener], front: &Front, files: &Files) {
    let resources =
        listeners.iter().map(|l| envoy::listener(&l.name, l.address().port(), front, &l.weir, files));
    let content = envoy::listeners(version, resources.collect());
    let fresh = folder.0.join("listeners.next.json");
    fs::write(&fresh, serde_json::to_vec_pretty(&content).unwrap()).unwrap();
    fs::rename(&fresh, folder.listeners()).unwrap();
}

fn spawn(envoy: &Path, folder: &Folder, workers: usize, drain_seconds: u32) -> Child {
    let log = File::create(folder.log()).unwrap();
    Command::new(envoy)
        .arg("--config-path")
        .arg(folder.bootstrap())
        .arg("--admin-address-path")
        .arg(folder.admin())
        .args(["--disable-hot-restart", "--concurrency", &workers.to_string()])
        .args(["--drain-time-s", &drain_seconds.to_string(), "--drain-strategy", "immediate"])
        .args(["--file-flush-interval-msec", "50"])
        .args(["--log-level", "warning", "--component-log-level", "wasm:info,config:info"])
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|e| panic!("{} does not start: {e}", envoy.display()))
}

/// The file that a variable names, else its default place in the project; one clear line where there is none.
pub fn binary(variable: &str, default: &str, mend: &str) -> PathBuf {
    let path = std::env::var_os(variable).map_or_else(|| project().join(default), PathBuf::from);
    assert!(path.is_file(), "{} is missing: run `{mend}`, or set {variable}", path.display());
    path
}

pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
