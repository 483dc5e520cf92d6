#!/bin/sh
# Benchmarks (tests/bench): the native ones, with `envoy` the one that measures filters inside Envoy, with `qos` the one that
# overloads a service behind it.
. "$(dirname -- "$0")/lib.sh"
need_cargo
need_python
export WEIR_WASM="$root/target/weir.wasm" WEIR_ENVOY="$root/target/envoy/envoy"

case "${1:-}" in
envoy)
    scripts/build-filter.sh empty
    benches=$(python3 scripts/cargo_targets.py bench | grep -x envoy || true)
    ;;
qos) benches=$(python3 scripts/cargo_targets.py bench | grep -x qos_envoy || true) ;;
*)
    # The bomb is a show (scripts/bomb.sh), not a measurement.
    benches=$(python3 scripts/cargo_targets.py bench envoy qos_envoy bomb)
    ;;
esac
[ -n "$benches" ] || die "no such benchmark in this tree"
# shellcheck disable=SC2046,SC2086  # lists of words
exec cargo bench $(printf -- ' --bench %s' $benches)
