#!/bin/sh
# The cardinality bomb, to be watched (tests/bomb, [[bench]] bomb).
. "$(dirname -- "$0")/lib.sh"
need_cargo
export WEIR_WASM="$root/target/weir.wasm" WEIR_NAIVE="$root/target/naive.wasm" WEIR_ENVOY="$root/target/envoy/envoy"

scripts/build-filter.sh naive
cargo bench --no-run --bench bomb
# From here on Ctrl-C is the show's: it ends both Envoys and saves the picture, while this shell and cargo wait for it.
trap '' INT
cargo bench --quiet --bench bomb
