//! The `weir` command line.
fn main() {}
