#!/bin/sh
# All native tests, then those in the real Envoy. The second get the machine to themselves, one after the
# other, because they measure rates: a test beside them would make the clock lie.
. "$(dirname -- "$0")/lib.sh"
need_cargo
need_python
export WEIR_WASM="$root/target/weir.wasm" WEIR_NAIVE="$root/target/naive.wasm" WEIR_ENVOY="$root/target/envoy/envoy"

tests=$(python3 scripts/cargo_targets.py test e2e)
say "unit tests and tests/: $(echo $tests)"
# shellcheck disable=SC2046,SC2086  # lists of words
cargo test --lib --bins $(printf -- ' --test %s' $tests | sed 's/ --test $//')
cargo test --doc

if [ -z "$(python3 scripts/cargo_targets.py test | grep -x e2e)" ]; then
    say "no end-to-end tests in this tree"
    exit 0
fi
scripts/chromium.sh
scripts/build-filter.sh naive
say "end to end, in the real Envoy"
cargo test --test e2e -- --test-threads=1
