#!/bin/sh
# Builds the filter into target/weir.wasm and refuses one that Envoy would refuse or that is too large.
. "$(dirname -- "$0")/lib.sh"
need_python

scripts/cargo-wasm.sh build --release --lib
mkdir -p target
# A new file put in place at once: a running Envoy that is told to reload never sees half a module.
cp "$CARGO_TARGET_DIR/$wasm_target/release/weir.wasm" target/weir.wasm.new
python3 scripts/wasm_trim.py target/weir.wasm.new
# A tenth smaller. The features are those that rustc uses; what the module must not import is checked below.
if have wasm-opt || { may_apt && apt_install binaryen; }; then
    wasm-opt -O3 --enable-bulk-memory --enable-sign-ext --enable-mutable-globals --enable-nontrapping-float-to-int \
        --enable-reference-types --enable-multivalue target/weir.wasm.new -o target/weir.wasm.new
    python3 scripts/wasm_check.py target/weir.wasm.new
else
    say "wasm-opt is missing: the module works, and is a tenth larger (Debian: apt-get install binaryen)"
    python3 scripts/wasm_check.py target/weir.wasm.new --unoptimised
fi
mv target/weir.wasm.new target/weir.wasm
