//! What ends a program that runs for minutes.

use tokio::signal::unix::{SignalKind, signal};

/// Ctrl-C, or a polite kill.
pub async fn told_to_stop() {
    let mut terminate = signal(SignalKind::terminate()).unwrap();
    let mut interrupt = signal(SignalKind::interrupt()).unwrap();
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
