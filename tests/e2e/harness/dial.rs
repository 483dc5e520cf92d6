//! Where a client connects, from which address, and how: the beginning of every kind of client.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};

use super::client::{Client, Lost, Protocol};
use super::raw::RawConnection;
use super::streams::Streams;
use super::tls;

/// A connection to be made, over and over if need be.
///
/// `proxy.dial().from("127.0.0.5").http1().send(get("/")).await`
#[derive(Clone, Copy, Debug)]
pub struct Dial {
    pub to: SocketAddr,
    pub from: Option<IpAddr>,
    pub tls: bool,
}

/// A connection, whatever carries it.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

impl Dial {
    pub fn to(to: SocketAddr) -> Dial {
        Dial { to, from: None, tls: false }
    }

    /// The client's own address: `from("127.0.0.5")`. Any 127.x.y.z will do, as Linux has them all.
    pub fn from(self, address: &str) -> Dial {
        Dial { from: Some(address.parse().unwrap()), ..self }
    }

    /// Speaks TLS: `Dial::to(address).tls()`. What `proxy.dial()` gives already does where the listener does.
    pub fn tls(self) -> Dial {
        Dial { tls: true, ..self }
    }

    /// Speaks no TLS, even to a TLS listener: `proxy.dial().plain().http1()`.
    pub fn plain(self) -> Dial {
        Dial { tls: false, ..self }
    }

    /// A client that keeps its connection: `proxy.dial().from("127.0.0.5").http1()`.
    pub fn http1(self) -> Client {
        Client::over(self, Protocol::Http1)
    }

    /// The same for HTTP/2: `proxy.dial().http2()`.
    pub fn http2(self) -> Client {
        Client::over(self, Protocol::Http2)
    }

    /// An HTTP/2 connection whose streams end as the test wills: `proxy.dial().streams().await?`.
    pub async fn streams(self) -> Result<Streams, Lost> {
        Streams::open(self).await
    }

    /// Bytes of the test's own, inside TLS unless `plain`, in the name of this protocol.
    ///
    /// `proxy.dial().raw(Protocol::Http2).await?`
    pub async fn raw(self, protocol: Protocol) -> Result<RawConnection, Lost> {
        Ok(RawConnection::over(self.connect(protocol).await?))
    }

    /// Connects, and shakes hands where it is TLS.
    pub async fn connect(self, protocol: Protocol) -> Result<Box<dyn Wire>, Lost> {
        let socket = self.tcp().await?;
        match self.tls {
            true => Ok(Box::new(tls::connect(socket, protocol).await?)),
            false => Ok(Box::new(socket)),
        }
    }

    pub fn scheme(self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }

    /// The bare connection, before any TLS.
    pub async fn tcp(self) -> Result<TcpStream, Lost> {
        self.try_tcp().await.map_err(|error| match tls::is_closed(&error) {
            // Accepted and closed again before this task looked.
            true if self.tls => Lost::InHandshake,
            true => Lost::http(error),
            false => panic!("the proxy does not listen: {error}"),
        })
    }

    async fn try_tcp(self) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        if let Some(from) = self.from {
            socket.bind(SocketAddr::new(from, 0))?;
        }
        let stream = socket.connect(self.to).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
