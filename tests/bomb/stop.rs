//! One word that many threads hear: stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Said once, for good. Its clones are the same.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn say(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_said(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// A failure that is none once the word is said: Ctrl-C reaches Envoys as well, so nobody wonders that they are gone.
    pub fn excuse(&self, result: Result<(), String>) -> Result<(), String> {
        if self.is_said() { Ok(()) } else { result }
    }
}
