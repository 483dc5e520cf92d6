#!/bin/sh
# Benchmarks (tests/bench): the native ones; with `envoy` the one that measures filters inside Envoy; with `qos` the simulation of
# an upstream that suffers, whose seeds and tables may follow (`scripts/bench.sh qos 4 5 6 attacks`); with `qos_envoy` the
# same with a real service behind a real Envoy.
. "$(dirname -- "$0")/lib.sh"
need_cargo
need_python
export WEIR_WASM="$root/target/weir.wasm" WEIR_ENVOY="$root/target/envoy/envoy"

case "${1:-}" in
envoy)
    scripts/build-filter.sh empty
    benches=$(python3 scripts/cargo_targets.py bench | grep -x envoy || true)
    ;;
qos | qos_envoy)
    bench=$1
    shift
    exec cargo bench --bench "$bench" -- "$@"
    ;;
*)
    # The bomb is a show (scripts/bomb.sh), not a measurement; both of QoS take minutes.
    benches=$(python3 scripts/cargo_targets.py bench envoy qos qos_envoy bomb)
    ;;
esac
[ -n "$benches" ] || die "no such benchmark in this tree"
# shellcheck disable=SC2046,SC2086  # lists of words
exec cargo bench $(printf -- ' --bench %s' $benches)
