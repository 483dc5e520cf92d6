//! Many connections of which each is short: opened and dropped, half open, or for one request.

use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::client::{Ask, Client, Lost, Protocol};
use super::dial::Dial;

/// As many at once, so that a test neither floods the machine nor waits for each.
const AT_ONCE: usize = 16;

/// How one request on a connection of its own went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// The status of a whole answer.
    Answered(u16),
    /// The proxy closed before the TLS handshake was done.
    ClosedInHandshake,
    /// The proxy closed later (without TLS: at any time), and no whole answer came.
    ClosedUnanswered,
}

impl Client {
    /// As `try_send`, for tests that only ask how it went: `proxy.http1().attempt(get("/")).await`.
    pub async fn attempt(&mut self, ask: Ask) -> Tried {
        match self.try_send(ask).await {
            Ok(answer) => Tried::Answered(answer.status.as_u16()),
            Err(Lost::InHandshake) => Tried::ClosedInHandshake,
            Err(Lost::InHttp(_)) => Tried::ClosedUnanswered,
        }
    }
}

impl Dial {
    /// Opens so many connections and drops each at once, without a byte: `proxy.dial().open_and_drop(100).await`.
    ///
    /// A TLS listener waits for the ClientHello first: its network filters see none of these.
    pub async fn open_and_drop(self, n: usize) {
        each(n, || async move { drop(self.tcp().await) }).await;
    }

    /// Opens so many connections and drops each after the TLS handshake. Returns how many got so far.
    ///
    /// `assert_eq!(proxy.dial().shake_and_drop(10).await, 10)`
    pub async fn shake_and_drop(self, n: usize) -> usize {
        assert!(self.tls, "without TLS nothing tells that the proxy has taken a connection");
        let shaken = each(n, || async move { self.connect(Protocol::Http1).await.is_ok() }).await;
        shaken.into_iter().filter(|done| *done).count()
    }

    /// Sends the request so often, by HTTP/1.1 and each time on a new connection, some at once, in no order.
    ///
    /// `proxy.dial().from("127.0.0.5").ask_anew(30, &get("/")).await`
    pub async fn ask_anew(self, n: usize, ask: &Ask) -> Vec<Tried> {
        each(n, || {
            let ask = ask.clone();
            async move { self.http1().attempt(ask).await }
        })
        .await
    }

    /// Opens so many connections that say nothing as long as they live: `let silent = proxy.dial().silent(10).await;`
    pub async fn silent(self, n: usize) -> Vec<TcpStream> {
        each(n, || async move { self.tcp().await }).await.into_iter().flatten().collect()
    }
}

async fn each<T, F>(n: usize, one: impl Fn() -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (mut running, mut done) = (JoinSet::new(), Vec::with_capacity(n));
    for _ in 0..n {
        if running.len() == AT_ONCE {
            done.push(running.join_next().await.expect("one is running").unwrap());
        }
        running.spawn(one());
    }
    done.extend(running.join_all().await);
    done
}
