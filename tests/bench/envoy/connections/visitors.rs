//! Clients of which each request is one connection: TCP, a whole TLS handshake, one request, and the end.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::certificate::{Certificate, NAME};
use crate::answer::{header, length, status};

/// Addresses of a crowd, each with a connection under way: as few as [`crate::load`] has, for the same reason.
const ADDRESSES: u8 = 8;

/// Nothing takes as long as this, unless it never ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who comes, which also says from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// Anybody.
    Welcome,
    /// Whom a ban, or a list of an operator's, names.
    Banned,
    /// Who has a ClientHello that a rule names: it offers no protocol (ALPN).
    Tool,
    /// Who may open one connection an hour.
    Hasty,
}

impl Crowd {
    /// Its network, a /24.
    pub fn network(self) -> String {
        self.address(0).to_string()
    }

    fn address(self, host: u8) -> Ipv4Addr {
        let network = match self {
            Crowd::Welcome => 1,
            Crowd::Banned => 2,
            Crowd::Tool => 3,
            Crowd::Hasty => 4,
        };
        Ipv4Addr::new(127, 0, network, host)
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With an answer.
    Answered(u16),
    /// Envoy closed it before the handshake was done.
    BeforeHandshake,
    /// Envoy closed it after the handshake, without an answer.
    AfterHandshake,
}

/// A crowd in front of one Envoy.
#[derive(Clone)]
pub struct Visitors {
    to: SocketAddr,
    crowd: Crowd,
    connector: TlsConnector,
}

impl Visitors {
    pub fn new(to: SocketAddr, crowd: Crowd, certificate: &Certificate) -> Visitors {
        let connector = TlsConnector::from(Arc::new(client(crowd, certificate)));
        Visitors { to, crowd, connector }
    }

    /// One connection from each address: how they ended.
    pub fn each(&self, runtime: &Runtime, path: &str) -> io::Result<Vec<End>> {
        runtime.block_on(async {
            let mut ends = Vec::new();
            for host in 1..=ADDRESSES {
                ends.push(self.visit(host, path).await?.0);
            }
            Ok(ends)
        })
    }

    /// So many connections, of which some are always under way, that must end like this.
    pub fn run(&self, runtime: &Runtime, connections: usize, end: End) -> io::Result<()> {
        runtime.block_on(async {
            let mut callers = JoinSet::new();
            for host in 1..=ADDRESSES {
                let (visitors, share) = (self.clone(), share(connections, host));
                callers.spawn(async move { visitors.expect(host, share, end).await });
            }
            while let Some(done) = callers.join_next().await {
                done.map_err(io::Error::other)??;
            }
            Ok(())
        })
    }

    /// How long each of so many connections takes, one after the other: from the first packet to its end or answer.
    pub fn delays(&self, runtime: &Runtime, connections: usize) -> io::Result<Vec<Duration>> {
        runtime.block_on(async {
            let mut delays = Vec::with_capacity(connections);
            for n in 0..connections {
                let begin = Instant::now();
                self.visit(n as u8 % ADDRESSES + 1, "/").await?;
                delays.push(begin.elapsed());
            }
            Ok(delays)
        })
    }

    /// What a rule for this crowd has to name. Only an Envoy that computes fingerprints tells.
    pub fn ja4(&self, runtime: &Runtime) -> io::Result<String> {
        let (_, answer) = runtime.block_on(self.visit(1, "/ja4"))?;
        let ja4: Option<Vec<u8>> = header(&answer, "x-ja4").map(|rest| until_space(rest).to_vec());
        ja4.and_then(|ja4| String::from_utf8(ja4).ok()).ok_or_else(|| io::Error::other("Envoy tells no JA4"))
    }

    async fn expect(self, host: u8, connections: usize, expected: End) -> io::Result<()> {
        for _ in 0..connections {
            let (end, _) = self.visit(host, "/").await?;
            if end != expected {
                return Err(io::Error::other(format!("{:?}: {end:?}, not {expected:?}", self.crowd)));
            }
        }
        Ok(())
    }

    async fn visit(&self, host: u8, path: &str) -> io::Result<(End, Vec<u8>)> {
        let visit = async {
            match self.shake(host).await {
                Ok(stream) => ask(stream, path).await,
                Err(error) if is_closed(&error) => Ok((End::BeforeHandshake, Vec::new())),
                Err(error) => Err(error),
            }
        };
        tokio::time::timeout(PATIENCE, visit).await?
    }

    async fn shake(&self, host: u8) -> io::Result<TlsStream<TcpStream>> {
        let socket = TcpSocket::new_v4()?;
        // Ports of connections that are over may be taken again.
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from((self.crowd.address(host), 0)))?;
        let socket = socket.connect(self.to).await?;
        socket.set_nodelay(true)?;
        let name = NAME.try_into().map_err(io::Error::other)?;
        self.connector.connect(name, socket).await
    }
}

/// One request and its answer.
async fn ask(mut stream: TlsStream<TcpStream>, path: &str) -> io::Result<(End, Vec<u8>)> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {NAME}\r\nuser-agent: bench\r\naccept: */*\r\n\r\n");
    let mut answer = Vec::new();
    match exchange(&mut stream, request.as_bytes(), &mut answer).await {
        Ok(true) => {
            stream.shutdown().await?;
            Ok((End::Answered(status(&answer)), answer))
        }
        Ok(false) => Ok((End::AfterHandshake, answer)),
        Err(error) if is_closed(&error) => Ok((End::AfterHandshake, answer)),
        Err(error) => Err(error),
    }
}

/// Whether there was a whole answer.
async fn exchange(
    stream: &mut TlsStream<TcpStream>,
    request: &[u8],
    answer: &mut Vec<u8>,
) -> io::Result<bool> {
    stream.write_all(request).await?;
    while length(answer).is_none_or(|whole| answer.len() < whole) {
        if stream.read_buf(answer).await? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What falls to one address.
fn share(connections: usize, host: u8) -> usize {
    let (all, nth) = (usize::from(ADDRESSES), usize::from(host - 1));
    connections / all + usize::from(nth < connections % all)
}

fn until_space(text: &[u8]) -> &[u8] {
    text.split(u8::is_ascii_whitespace).next().unwrap_or_default()
}

fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe | ConnectionAborted | NotConnected)
}

fn client(crowd: Crowd, certificate: &Certificate) -> ClientConfig {
    let mut trusted = RootCertStore::empty();
    trusted.add(certificate.der.clone()).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let mut config = versions.unwrap().with_root_certificates(trusted).with_no_client_auth();
    // As of somebody who was never here: every handshake is a whole one.
    config.resumption = Resumption::disabled();
    if crowd != Crowd::Tool {
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
    }
    config
}
