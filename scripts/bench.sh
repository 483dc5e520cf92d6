#!/bin/sh
# Benchmarks: the native ones; with `envoy` the one that measures inside Envoy (tests/bench, [[bench]] envoy); with `qos` the
# simulation of an upstream that suffers, whose seeds and tables may follow: `scripts/bench.sh qos 4 5 6 attacks`.
. "$(dirname -- "$0")/lib.sh"
need_cargo
need_python
export WEIR_WASM="$root/target/weir.wasm" WEIR_ENVOY="$root/target/envoy/envoy"

if [ "${1:-}" = qos ]; then
    shift
    exec cargo bench --bench qos -- "$@"
elif [ "${1:-}" = envoy ]; then
    scripts/build-filter.sh empty
    benches=$(python3 scripts/cargo_targets.py bench | grep -x envoy || true)
else
    # The bomb is a show (scripts/bomb.sh), not a measurement; the simulation takes minutes.
    benches=$(python3 scripts/cargo_targets.py bench envoy bomb qos)
fi
[ -n "$benches" ] || die "no such benchmark in this tree"
# shellcheck disable=SC2046,SC2086  # lists of words
exec cargo bench $(printf -- ' --bench %s' $benches)
