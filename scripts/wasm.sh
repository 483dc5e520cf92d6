#!/bin/sh
# Builds the filter into target/weir.wasm and refuses one that Envoy would refuse or that is too large.
. "$(dirname -- "$0")/lib.sh"
need_python

scripts/cargo-wasm.sh build --release --lib
mkdir -p target
# A new file put in place at once: a running Envoy that is told to reload never sees half a module.
cp "$CARGO_TARGET_DIR/$wasm_target/release/weir.wasm" target/weir.wasm.new
python3 scripts/wasm_trim.py target/weir.wasm.new
python3 scripts/wasm_check.py target/weir.wasm.new
mv target/weir.wasm.new target/weir.wasm
