//! Polling with a deadline: the only way tests wait for something to happen.

use std::time::{Duration, Instant};

/// Long for a machine under load, short for a person who looks at a hanging test.
pub const DEADLINE: Duration = Duration::from_secs(15);

const STEP: Duration = Duration::from_millis(15);

/// Asks until `probe` gives a value. Panics with `what` and the last thing known when the deadline passes.
pub async fn until<T>(what: &str, mut probe: impl AsyncFnMut() -> Result<T, String>) -> T {
    let started = Instant::now();
    loop {
        match probe().await {
            Ok(value) => return value,
            Err(last) if started.elapsed() > DEADLINE => panic!("waited {DEADLINE:?} for {what}: {last}"),
            Err(_) => tokio::time::sleep(STEP).await,
        }
    }
}
