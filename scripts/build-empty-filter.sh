#!/bin/sh
# Builds the empty filter, the yardstick of `make bench-envoy`, into target/empty.wasm.
. "$(dirname -- "$0")/lib.sh"

scripts/cargo-wasm.sh build --release --manifest-path tests/filters/empty/Cargo.toml
cp "$CARGO_TARGET_DIR/$wasm_target/release/empty.wasm" target/empty.wasm
