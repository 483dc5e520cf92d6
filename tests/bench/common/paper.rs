//! What stands above and in every table.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// "50,000"
pub fn grouped(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

/// "2026-11-30"
pub fn today() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.split('T').next().unwrap_or_default().to_owned()
}

/// "AMD EPYC, 2 cores, Linux 6.12"
pub fn machine() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
    let model = cpus.lines().find(|line| line.starts_with("model name")).and_then(field);
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    let kernel = read(Path::new("/proc/sys/kernel/osrelease"));
    let kernel: Vec<&str> = kernel.split('.').take(2).collect();
    format!("{}, {cores} cores, Linux {}", model.unwrap_or("an unnamed CPU".to_owned()), kernel.join("."))
}

/// A small file of text; nothing if there is none.
pub fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}
