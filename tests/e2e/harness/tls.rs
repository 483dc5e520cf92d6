//! The certificate of TLS listeners, made anew by each run, and the client (rustls) that trusts it and nothing else.
//!
//! rustls shuffles the extensions of each ClientHello: its JA3 is another every time, its JA4 (which sorts them) stays.
//! A story that needs a steady JA3 takes the client of [`super::openssl`].

use std::io;
use std::sync::{Arc, LazyLock};

use rcgen::CertifiedKey;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, crypto};
use tokio_rustls::{TlsConnector, rustls::pki_types::CertificateDer};

use super::client::{Lost, Protocol};

const NAME: &str = "weir.test";

pub struct Certificate {
    pub chain_pem: String,
    pub key_pem: String,
    der: CertificateDer<'static>,
}

/// The one certificate of this run.
pub fn certificate() -> &'static Certificate {
    static MADE: LazyLock<Certificate> = LazyLock::new(|| {
        let CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
        Certificate { chain_pem: cert.pem(), key_pem: signing_key.serialize_pem(), der: cert.der().clone() }
    });
    &MADE
}

/// Shakes hands over a fresh connection and offers one protocol.
pub async fn connect(socket: TcpStream, protocol: Protocol) -> Result<TlsStream<TcpStream>, Lost> {
    let connector = TlsConnector::from(Arc::new(client(protocol)));
    let shaken = connector.connect(NAME.try_into().unwrap(), socket).await;
    shaken.map_err(|e| match is_closed(&e) {
        true => Lost::InHandshake,
        false => panic!("the handshake failed, but not because the proxy closed: {e}"),
    })
}

/// The bytes of a ClientHello, of which a test may send a part: `raw.send(&tls::hello()[..20]).await`.
pub fn hello() -> Vec<u8> {
    let config = Arc::new(client(Protocol::Http1));
    let mut bytes = Vec::new();
    let mut session = ClientConnection::new(config, NAME.try_into().unwrap()).unwrap();
    session.write_tls(&mut bytes).unwrap();
    bytes
}

/// Whether a socket's error says that the other side is gone.
pub fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe | ConnectionAborted | NotConnected)
}

fn client(protocol: Protocol) -> ClientConfig {
    let mut trusted = RootCertStore::empty();
    trusted.add(certificate().der.clone()).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = versions.unwrap().with_root_certificates(trusted).with_no_client_auth();
    config.alpn_protocols = vec![match protocol {
        Protocol::Http1 => b"http/1.1".to_vec(),
        Protocol::Http2 => b"h2".to_vec(),
    }];
    config
}
