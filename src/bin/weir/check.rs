//! `weir check`: the configuration in words, or all its errors, each on a line of its own after the file's name.

use crate::{print, words};
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use weir::config;

const REFUSED: u8 = 1;
const UNREADABLE: u8 = 2;

/// Checks one file and says what came out.
pub fn run(file: &str) -> ExitCode {
    let name = if file == "-" { "standard input" } else { file };
    let text = match read(file) {
        Ok(text) => text,
        Err(error) => {
            complain(&format!("{name}: can't be read: {error}\n"));
            return ExitCode::from(UNREADABLE);
        }
    };
    match config::parse(&text) {
        Ok(plan) => print(&format!("{name}: valid\n\n{}", words::describe(&plan))),
        Err(errors) => {
            let lines = errors.to_string();
            complain(&lines.lines().map(|line| format!("{name}: {line}\n")).collect::<String>());
            ExitCode::from(REFUSED)
        }
    }
}

/// Reads no more than it takes to know that a text is too long: it may be a device.
fn read(file: &str) -> io::Result<Vec<u8>> {
    let source: &mut dyn Read = if file == "-" { &mut io::stdin().lock() } else { &mut File::open(file)? };
    let mut text = Vec::new();
    source.take(config::MAX_BYTES as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// Writes to standard error; where that is closed, the exit status says it.
fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
