//! The files that a bench needs: built and fetched beforehand.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// From the folder of the package, where cargo starts benches. Absolute, for Envoy.
pub fn absolute(path: &Path) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The one that a variable names, or the usual one.
pub fn path(variable: &str, default: &str) -> PathBuf {
    absolute(Path::new(&env::var_os(variable).unwrap_or(default.into())))
}

/// The same, if it is there. `target` of the Makefile makes it.
pub fn file(variable: &str, default: &str, target: &str) -> Result<PathBuf, String> {
    let path = path(variable, default);
    if path.is_file() { Ok(path) } else { Err(missing(&path, target)) }
}

/// What to do about a file that is not there.
pub fn missing(file: &Path, target: &str) -> String {
    format!("{} is missing: `make {target}` builds and fetches all that this needs", file.display())
}

/// "1.40.0"
pub fn version(envoy: &Path) -> io::Result<String> {
    let output = Command::new(envoy).arg("--version").output()?;
    // "…/envoy  version: 9e55…/1.40.0/Clean/RELEASE/BoringSSL"
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split('/').rev().nth(3).unwrap_or("of unknown version").to_owned())
}
