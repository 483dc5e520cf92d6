#!/bin/sh
# The core's own tests, compiled to wasm32-wasip1 and run in a wasm engine: usize has 32 bits there, as in
# Envoy, and an overflow that 64 bits hide shows. WASM_TESTS names the files of tests/ that run there too.
. "$(dirname -- "$0")/lib.sh"
need_python
engine_version=50.0.1
engine=target/wasmtime

if [ ! -e "$engine/wasmtime-$engine_version.dist-info/RECORD" ]; then
    scripts/wheel.sh "wasmtime==$engine_version" "$engine"
fi

runner="python3 $root/scripts/wasm_runner.py"
CARGO_TARGET_WASM32_WASIP1_RUNNER=$runner
export CARGO_TARGET_WASM32_WASIP1_RUNNER
say "tests inside a wasm engine"
# A panic ends a wasm program at once: its message is lost if the test harness holds output back.
scripts/cargo-wasm.sh test --no-default-features --lib -- --no-capture
for name in ${WASM_TESTS:-scenarios connections counting challenge guard surge exchange fuzz alloc}; do
    scripts/cargo-wasm.sh test --no-default-features --test "$name" -- --no-capture
done
