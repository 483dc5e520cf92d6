//! The `weir` command line: what the filter does with a configuration, without an Envoy. The only place that reads
//! files.

mod check;
mod reference;
mod words;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Weir, the rate limit filter for Envoy and Istio: offline tools
#[derive(Parser)]
#[command(name = "weir", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what a configuration means, or everything that is wrong with it
    ///
    /// Runs the same code as the filter in Envoy. Exit status: 0 it would be accepted, 1 it would be refused,
    /// 2 it could not be read.
    Check {
        /// The configuration (JSON); - for standard input
        file: String,
    },
    /// Print the reference of all configuration fields as a Markdown table
    Schema,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Check { file } => check::run(&file),
        Command::Schema => print(&reference::markdown()),
    }
}

/// Prints to a reader that may have left: `weir schema | head` is no error.
fn print(text: &str) -> ExitCode {
    use std::io::{ErrorKind, Write};
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => ExitCode::from(2),
        _ => ExitCode::SUCCESS,
    }
}
