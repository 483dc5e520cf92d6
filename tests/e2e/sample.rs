//! envoy/envoy.yaml, which operators copy, filled in as `make run` does it: the real Envoy takes it, and it does what its
//! comments say.

use std::fs::{self, File};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::harness::wait::until;
use crate::harness::{Client, Protocol, Upstream, binary, get, project};

/// Loopback is network 64500 there. Made with mmdb_writer, numbers as u32, the width in which Envoy reads them.
const NETWORKS: &str = "testdata/networks.mmdb";

/// What the scripts leave in the folder of a test, and what Envoy writes there.
struct Files(PathBuf);

impl Files {
    /// A certificate, and the sample with free ports, with or without a database of networks.
    fn make(test: &str, upstream: SocketAddr, networks: Option<&str>) -> Files {
        let folder = project().join("target/e2e").join(test);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let files = Files(folder);
        succeeds(script("certificate.sh").arg(files.0.join("tls")));

        let mut render = script("render.py");
        for (option, value) in [("listen", "0"), ("tls", "0"), ("admin", "0")] {
            render.args([&format!("--{option}-port"), value]);
        }
        render.args(["--upstream", &upstream.to_string(), "--config", "envoy/weir.json"]);
        render.arg("--wasm").arg(binary("WEIR_WASM", "target/weir.wasm", "make wasm"));
        render.arg("--certificate").arg(files.certificate());
        render.arg("--key").arg(files.0.join("tls/key.pem"));
        render.arg("--out").arg(files.configuration());
        succeeds(render.args(networks.map(|path| format!("--asn-db={path}"))));
        files
    }

    fn certificate(&self) -> PathBuf {
        self.0.join("tls/certificate.pem")
    }

    fn configuration(&self) -> PathBuf {
        self.0.join("envoy.yaml")
    }

    fn admin(&self) -> PathBuf {
        self.0.join("admin.txt")
    }

    fn access_log(&self) -> PathBuf {
        self.0.join("access.txt")
    }

    fn envoy(&self) -> Command {
        let mut envoy = Command::new(binary("WEIR_ENVOY", "target/envoy/envoy", "make envoy"));
        envoy.arg("--config-path").arg(self.configuration()).args([
            "--disable-hot-restart",
            "--concurrency",
            "1",
        ]);
        envoy
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn script(name: &str) -> Command {
    let mut command = Command::new(project().join("scripts").join(name));
    command.current_dir(project());
    command
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The sample's Envoy while it runs. Dropping it ends the process.
struct Sample {
    child: Child,
    files: Files,
    plain: SocketAddr,
    tls: SocketAddr,
}

impl Sample {
    async fn start(test: &str, upstream: &Upstream, networks: Option<&str>) -> Sample {
        let files = Files::make(test, upstream.address, networks);
        let child = files
            .envoy()
            .arg("--admin-address-path")
            .arg(files.admin())
            .args(["--file-flush-interval-msec", "50"])
            .stdout(File::create(files.access_log()).unwrap())
            .stderr(File::create(files.0.join("envoy.log")).unwrap())
            .spawn()
            .unwrap();
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut sample = Sample { child, files, plain: nowhere, tls: nowhere };
        let listeners = sample.listeners().await;
        (sample.plain, sample.tls) = (address(&listeners, "ingress"), address(&listeners, "ingress_tls"));
        sample
    }

    /// Envoy's listeners, once both are open.
    async fn listeners(&mut self) -> Value {
        until("Envoy to listen", async || {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("Envoy ended at once: {status}");
            }
            let admin = fs::read_to_string(self.files.admin()).map_err(|e| e.to_string())?;
            let admin = admin.parse().map_err(|_| format!("the admin address is {admin:?}"))?;
            let answer = Client::new(admin, Protocol::Http1).send(get("/listeners?format=json")).await;
            let listeners = answer.json();
            match listeners["listener_statuses"].as_array().is_some_and(|open| open.len() == 2) {
                true => Ok(listeners),
                false => Err(listeners.to_string()),
            }
        })
        .await
    }

    /// A GET over TLS by a client that trusts the sample's certificate and no other.
    async fn get_over_tls(&self, path: &str, headers: &str) -> String {
        let mut client = Command::new("openssl");
        client.args(["s_client", "-quiet", "-verify_return_error", "-connect", &self.tls.to_string()]);
        client.arg("-CAfile").arg(self.files.certificate());
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
        // The upstream answers in this test's own thread.
        tokio::task::spawn_blocking(move || said(&mut client, &request)).await.unwrap()
    }

    /// The value of a field of the access log, for the request with this path.
    async fn logged(&self, path: &str, field: &str) -> String {
        let text = until(&format!("{path} in the access log"), async || {
            let text = fs::read_to_string(self.files.access_log()).unwrap_or_default();
            let line = text.lines().find(|line| line.contains(&format!(" {path} ")));
            line.map(str::to_owned).ok_or(text.clone())
        })
        .await;
        let word = text.split(' ').find_map(|word| word.strip_prefix(&format!("{field}=")));
        word.unwrap_or_else(|| panic!("no {field} in {text}")).to_owned()
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        // Ended by its handle: nothing else on the machine can be hit.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address(listeners: &Value, name: &str) -> SocketAddr {
    let all = listeners["listener_statuses"].as_array().unwrap();
    let port =
        &all.iter().find(|one| one["name"] == name).unwrap()["local_address"]["socket_address"]["port_value"];
    SocketAddr::from(([127, 0, 0, 1], port.as_u64().unwrap().try_into().unwrap()))
}

/// What a program answers to this on its standard input.
fn said(command: &mut Command, input: &str) -> String {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned()
}

fn is_accepted(test: &str, networks: Option<&str>) {
    let files = Files::make(test, SocketAddr::from(([127, 0, 0, 1], 9)), networks);
    let output = succeeds(files.envoy().args(["--mode", "validate"]));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("OK"), "{said}");
}

#[test]
fn envoy_accepts_the_sample() {
    is_accepted("sample.plain", None);
}

#[test]
fn envoy_accepts_the_sample_with_a_database_of_networks() {
    is_accepted("sample.networks", Some(NETWORKS));
}

#[tokio::test]
async fn the_sample_shows_who_calls_and_no_header_changes_it() {
    let upstream = Upstream::start().await;
    let sample = Sample::start("sample.callers", &upstream, Some(NETWORKS)).await;

    let answer = sample.get_over_tls("/tls", "").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let forged = "x-asn: 1\r\nja3: 1\r\nja4: 1\r\nweir.ja3: 1\r\nweir.ja4: 1\r\nenvoy.geoip: 1\r\nx-forwarded-for: 203.0.113.1\r\n";
    sample.get_over_tls("/forged", forged).await;
    for (field, length) in [("ja3", 32), ("ja4", 36)] {
        let fingerprint = sample.logged("/tls", field).await;
        assert_eq!(fingerprint.len(), length, "{field} is {fingerprint}");
        assert_eq!(sample.logged("/forged", field).await, fingerprint);
    }
    assert_eq!(sample.logged("/tls", "asn").await, "64500");
    assert_eq!(sample.logged("/forged", "asn").await, "64500");

    let forged = get("/plain").header("weir.ja4", "1").header("ja4", "1").header("x-asn", "1");
    let answer = Client::new(sample.plain, Protocol::Http1).send(forged).await;
    assert_eq!(answer.status, 200);
    for (field, value) in [("ja3", "-"), ("ja4", "-"), ("asn", "64500")] {
        assert_eq!(sample.logged("/plain", field).await, value);
    }
}

#[tokio::test]
async fn without_a_database_nobody_has_a_network() {
    let upstream = Upstream::start().await;
    let sample = Sample::start("sample.nobody", &upstream, None).await;
    Client::new(sample.plain, Protocol::Http2).send(get("/").header("x-asn", "1")).await;
    assert_eq!(sample.logged("/", "asn").await, "-");
}

#[test]
fn a_certificate_that_is_there_stays() {
    let folder = project().join("target/e2e/sample.certificate");
    let _ = fs::remove_dir_all(&folder);
    let made = |folder: &Path| {
        succeeds(script("certificate.sh").arg(folder));
        (fs::read(folder.join("certificate.pem")).unwrap(), fs::read(folder.join("key.pem")).unwrap())
    };
    let first = made(&folder);
    assert_eq!(made(&folder), first);

    fs::write(folder.join("certificate.pem"), "expired, or broken").unwrap();
    let second = made(&folder);
    assert_ne!(second.0, first.0);
    assert_ne!(second.1, first.1, "a certificate beside another one's key");
}
