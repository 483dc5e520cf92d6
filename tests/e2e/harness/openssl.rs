//! A TLS client with another ClientHello than rustls: OpenSSL in Python. Its JA3 and JA4 are the same every time.

use std::io::Write;
use std::process::{Command, Stdio};

use super::client::Ask;
use super::connections::Tried;
use super::dial::Dial;

/// Prints the status of one HTTP/1.1 request, or where the proxy closed.
const CLIENT: &str = r#"
import socket, ssl, sys
address, port, source, ciphers = sys.argv[1:5]
request = sys.stdin.buffer.read()
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.set_alpn_protocols(["http/1.1"])
if ciphers:
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
CLOSED = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
try:
    plain = socket.create_connection((address, int(port)), 15, (source, 0) if source else None)
    tls = context.wrap_socket(plain, server_hostname="weir.test")
except CLOSED:
    sys.exit(print("handshake"))
try:
    tls.sendall(request)
    line = tls.makefile("rb").readline()
except CLOSED:
    line = b""
print(line.split()[1].decode() if line.startswith(b"HTTP/1.1 ") else "closed")
"#;

impl Dial {
    /// Sends one request by OpenSSL on a connection of its own.
    ///
    /// `proxy.dial().from("127.0.0.5").openssl(get("/")).await`
    pub async fn openssl(self, ask: Ask) -> Tried {
        self.openssl_with("", ask).await
    }

    /// The same by TLS 1.2 with these ciphers alone, which is another fingerprint again.
    ///
    /// `proxy.dial().openssl_with("ECDHE-ECDSA-AES128-GCM-SHA256", get("/")).await`
    pub async fn openssl_with(self, ciphers: &'static str, ask: Ask) -> Tried {
        assert!(self.tls, "OpenSSL is for TLS listeners");
        // Envoy's upstream lives on this thread: it must not wait for a process.
        let said = tokio::task::spawn_blocking(move || run(self, ciphers, &ask.into_bytes()));
        match said.await.unwrap().trim() {
            "handshake" => Tried::ClosedInHandshake,
            "closed" => Tried::ClosedUnanswered,
            status => Tried::Answered(status.parse().unwrap_or_else(|_| panic!("it says {status:?}"))),
        }
    }
}

fn run(dial: Dial, ciphers: &str, request: &[u8]) -> String {
    let source = dial.from.map(|ip| ip.to_string()).unwrap_or_default();
    let (address, port) = (dial.to.ip().to_string(), dial.to.port().to_string());
    let mut child = Command::new("python3")
        .args(["-c", CLIENT, &address, &port, &source, ciphers])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is there");
    child.stdin.take().unwrap().write_all(request).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the OpenSSL client failed");
    String::from_utf8(output.stdout).unwrap()
}
