//! A real browser: headless Chromium, told what to do by chromedriver (the W3C's WebDriver, JSON over HTTP).
//!
//! ```ignore
//! let mut browser = Browser::start(Options::default()).await;
//! browser.open(&format!("http://{}/shop?a=1", proxy.address())).await;
//! browser.shows("hello").await;
//! assert!(browser.cookie("weir").await.is_some());
//! browser.screenshot("solved").await; // target/e2e/screenshots/solved.png
//! ```
//!
//! `WEIR_CHROMEDRIVER` and `WEIR_CHROMIUM` name other binaries. Each browser is a process, a profile and a port of its
//! own, and gone with its test.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Protocol, delete, get, request};
use super::proxy::project;
use super::wait::until;

/// A browser on a machine under load may need this long to start, or to load a page.
const PATIENCE: Duration = Duration::from_secs(60);

/// What kind of browser, before it is started.
///
/// `Browser::start(Options { scripts: false, ..Options::default() }).await`
#[derive(Clone)]
pub struct Options {
    pub scripts: bool,
    pub cookies: bool,
    /// Prefers dark pages.
    pub dark: bool,
    /// A phone's small screen.
    pub phone: bool,
    /// Sent with every request, as in `[("x-forwarded-for", "203.0.113.7")]`.
    pub headers: Vec<(&'static str, &'static str)>,
    /// More of Chromium's own switches.
    pub switches: Vec<&'static str>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            scripts: true,
            cookies: true,
            dark: false,
            phone: false,
            headers: Vec::new(),
            switches: Vec::new(),
        }
    }
}

impl Options {
    /// WebDriver's word for a new session with such a browser.
    fn capabilities(&self, profile: &Path) -> Value {
        let profile = format!("--user-data-dir={}", profile.display());
        let mut switches = vec![
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--window-size=1000,700",
            &profile,
        ];
        switches.extend(&self.switches);
        // The values of a content setting: 1 allows, 2 blocks.
        let setting = |allowed: bool| if allowed { 1 } else { 2 };
        let mut chromium = json!({
            "args": switches,
            "prefs": {
                "profile.managed_default_content_settings.javascript": setting(self.scripts),
                "profile.managed_default_content_settings.cookies": setting(self.cookies),
            },
        });
        if self.phone {
            // A headless window can't be this narrow.
            chromium["mobileEmulation"] =
                json!({ "deviceMetrics": { "width": 360, "height": 640, "pixelRatio": 2.0, "touch": true } });
        }
        if let Some(path) = std::env::var_os("WEIR_CHROMIUM") {
            chromium["binary"] = json!(path.to_string_lossy());
        }
        json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "acceptInsecureCerts": true,
            "goog:chromeOptions": chromium,
            "goog:loggingPrefs": { "browser": "ALL" },
        } } })
    }
}

/// One of a browser's tabs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tab(String);

/// A running browser with one tab in front. Dropping it ends the processes.
pub struct Browser {
    driver: Driver,
    /// `/session/0123…`
    session: String,
    /// Chromium's process, should it outlive its driver.
    process: Option<u64>,
    options: Options,
}

impl Browser {
    pub async fn start(options: Options) -> Browser {
        let mut driver = Driver::start().await;
        let wanted = options.capabilities(&driver.scratch.join("profile"));
        let granted = driver.call("POST", "/session", Some(wanted)).await.expect("a session");
        let session = format!("/session/{}", granted["sessionId"].as_str().unwrap());
        let process = granted["capabilities"]["goog:processID"].as_u64();
        let mut browser = Browser { driver, session, process, options };
        browser.prepare_tab().await;
        browser
    }

    /// Goes to a URL and waits until what is there has loaded: the challenge, say, not what follows it.
    pub async fn open(&mut self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    /// What the address bar shows.
    pub async fn url(&mut self) -> String {
        text_of(self.ask("GET", "/url", None).await)
    }

    pub async fn title(&mut self) -> String {
        text_of(self.ask("GET", "/title", None).await)
    }

    /// The document as markup, as it is now.
    pub async fn source(&mut self) -> String {
        text_of(self.ask("GET", "/source", None).await)
    }

    /// The text that a person sees. None while one page gives way to the next.
    pub async fn text(&mut self) -> String {
        self.try_run("return document.body ? document.body.innerText : ''")
            .await
            .map_or(String::new(), text_of)
    }

    /// Waits until the page shows this text: `browser.shows("hello").await`.
    pub async fn shows(&mut self, text: &str) {
        until(&format!("the browser to show {text:?}"), async || {
            let shown = self.text().await;
            if shown.contains(text) { Ok(()) } else { Err(format!("it shows {shown:?}")) }
        })
        .await;
    }

    /// The value of an expression's script: `browser.run("return navigator.cookieEnabled").await`.
    pub async fn run(&mut self, script: &str) -> Value {
        self.try_run(script).await.unwrap_or_else(|e| panic!("{script}: {e}"))
    }

    async fn try_run(&mut self, script: &str) -> Result<Value, String> {
        self.try_ask("POST", "/execute/sync", Some(json!({ "script": script, "args": [] }))).await
    }

    /// What a script gives to the function that is its last argument:
    /// `browser.run_async("setTimeout(() => arguments[0](1), 10)").await`, where arrow functions have none of their own.
    pub async fn run_async(&mut self, script: &str) -> Value {
        self.post("/execute/async", json!({ "script": script, "args": [] })).await
    }

    /// The cookies that the page in front would send, as WebDriver tells them.
    pub async fn cookies(&mut self) -> Vec<Value> {
        self.ask("GET", "/cookie", None).await.as_array().unwrap().clone()
    }

    /// One of them: `browser.cookie("weir").await.unwrap()["httpOnly"]`.
    pub async fn cookie(&mut self, name: &str) -> Option<Value> {
        self.cookies().await.into_iter().find(|cookie| cookie["name"] == name)
    }

    pub async fn delete_cookies(&mut self) {
        self.ask("DELETE", "/cookie", None).await;
    }

    /// The tab in front.
    pub async fn tab(&mut self) -> Tab {
        Tab(text_of(self.ask("GET", "/window", None).await))
    }

    /// Opens another tab and brings it to the front.
    pub async fn new_tab(&mut self) -> Tab {
        let opened = self.post("/window/new", json!({ "type": "tab" })).await;
        let tab = Tab(opened["handle"].as_str().unwrap().to_owned());
        self.switch(&tab).await;
        self.prepare_tab().await;
        tab
    }

    pub async fn switch(&mut self, tab: &Tab) {
        self.post("/window", json!({ "handle": tab.0 })).await;
    }

    /// What the browser itself complained of since this was last asked: refused by a policy, not found, not understood.
    pub async fn complaints(&mut self) -> Vec<String> {
        let lines = self.post("/se/log", json!({ "type": "browser" })).await;
        lines.as_array().unwrap().iter().map(|line| line["message"].as_str().unwrap().to_owned()).collect()
    }

    /// Leaves a picture of the tab in front in target/e2e/screenshots/.
    pub async fn screenshot(&mut self, name: &str) -> PathBuf {
        let picture = text_of(self.ask("GET", "/screenshot", None).await);
        let folder = project().join("target/e2e/screenshots");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.png"));
        fs::write(&path, base64(&picture)).unwrap();
        path
    }

    /// Chromium's own protocol, for what WebDriver has no word for.
    pub async fn devtools(&mut self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await
    }

    /// What holds for one tab alone.
    async fn prepare_tab(&mut self) {
        if self.options.dark {
            let feature = json!({ "name": "prefers-color-scheme", "value": "dark" });
            self.devtools("Emulation.setEmulatedMedia", json!({ "features": [feature] })).await;
        }
        if !self.options.headers.is_empty() {
            let headers: serde_json::Map<_, _> =
                self.options.headers.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            self.devtools("Network.enable", json!({})).await;
            self.devtools("Network.setExtraHTTPHeaders", json!({ "headers": headers })).await;
        }
    }

    async fn post(&mut self, command: &str, body: Value) -> Value {
        self.ask("POST", command, Some(body)).await
    }

    async fn ask(&mut self, method: &str, command: &str, body: Option<Value>) -> Value {
        self.try_ask(method, command, body).await.unwrap_or_else(|e| panic!("{method} {command}: {e}"))
    }

    async fn try_ask(&mut self, method: &str, command: &str, body: Option<Value>) -> Result<Value, String> {
        self.driver.call(method, &format!("{}{command}", self.session), body).await
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // chromedriver ends Chromium, waits for it and then answers.
        let ended = self.driver.end(&self.session).is_ok();
        if let Some(process) = self.process.filter(|_| !ended) {
            let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
        }
    }
}

/// The process that tells Chromium what to do.
struct Driver {
    child: Child,
    client: Client,
    address: SocketAddr,
    /// Its log, left behind by a test that fails.
    folder: PathBuf,
    /// The profile, and what Chromium puts into temporary folders: sockets too, so its name has to be short.
    scratch: PathBuf,
}

impl Driver {
    async fn start() -> Driver {
        let (folder, scratch) = own_folders();
        let log = folder.join("chromedriver.log");
        let output = File::create(&log).unwrap();
        let path = chromedriver();
        let mut child = Command::new(&path)
            .arg("--port=0")
            .env("TMPDIR", &scratch)
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap_or_else(|e| panic!("{} does not start: {e}", path.display()));
        let port = until("chromedriver to start", async || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("chromedriver ended at once: {status}, see {}", log.display());
            }
            let text = fs::read_to_string(&log).unwrap_or_default();
            port_in(&text).ok_or(text)
        })
        .await;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        Driver { child, client: Client::new(address, Protocol::Http1), address, folder, scratch }
    }

    /// One command. What WebDriver calls an error is one: the kind and the first line of its message.
    async fn call(&mut self, method: &str, path: &str, body: Option<Value>) -> Result<Value, String> {
        let ask = match (method, body) {
            ("GET", _) => get(path),
            ("DELETE", _) => delete(path),
            (method, body) => {
                let body = body.unwrap_or_default().to_string();
                request(method, path).header("content-type", "application/json").body(body.as_bytes())
            }
        };
        // It answers to those alone who call it by this name.
        let ask = ask.host("127.0.0.1");
        let answer = self.client.send_within(PATIENCE, ask).await.expect("chromedriver answers");
        let value = answer.json()["value"].take();
        match answer.status.is_success() {
            true => Ok(value),
            false => Err(format!("{}: {}", value["error"], first_line(&value["message"]))),
        }
    }

    /// Ends the session from where nothing can be awaited.
    fn end(&self, session: &str) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(stream, "DELETE {session} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")?;
        stream.read_exact(&mut [0; 12])
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Ended by its handle: nothing else on the machine can be hit.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.scratch);
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// `ChromeDriver was started successfully on port 41231.`
fn port_in(log: &str) -> Option<u16> {
    let (_, rest) = log.split_once("successfully on port ")?;
    rest.split_once('.')?.0.parse().ok()
}

fn chromedriver() -> PathBuf {
    if let Some(path) = std::env::var_os("WEIR_CHROMEDRIVER") {
        return PathBuf::from(path);
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&search).chain(["/usr/bin".into(), "/usr/lib/chromium".into()]);
    let found = folders.map(|folder| folder.join("chromedriver")).find(|path| path.is_file());
    found.expect("chromedriver is missing: run scripts/chromium.sh, or set WEIR_CHROMEDRIVER")
}

/// Folders of its own for each of a test's browsers: the lasting one and the temporary one.
fn own_folders() -> (PathBuf, PathBuf) {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let test = std::thread::current().name().unwrap_or("unnamed").replace("::", ".");
    let folder = project().join("target/e2e").join(format!("{test}.browser{number}"));
    let scratch = std::env::temp_dir().join(format!("weir-browser-{}-{number}", std::process::id()));
    for path in [&folder, &scratch] {
        let _ = fs::remove_dir_all(path);
        fs::create_dir_all(path).unwrap();
    }
    (folder, scratch)
}

fn text_of(value: Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn first_line(message: &Value) -> &str {
    message.as_str().unwrap_or_default().lines().next().unwrap_or_default()
}

/// Base64 of RFC 4648 §4 as WebDriver sends pictures: no line breaks, `=` at the end alone.
fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group.iter().fold(0, |bits, c| bits << 6 | u32::from(value(*c)));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}
