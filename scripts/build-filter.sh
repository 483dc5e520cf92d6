#!/bin/sh
# Builds one of the small filters of tests/filters/ into target/NAME.wasm: `scripts/build-filter.sh empty`.
. "$(dirname -- "$0")/lib.sh"
name=${1:?a folder of tests/filters/}

scripts/cargo-wasm.sh build --release --manifest-path "tests/filters/$name/Cargo.toml"
cp "$CARGO_TARGET_DIR/$wasm_target/release/$name.wasm" "target/$name.wasm"
