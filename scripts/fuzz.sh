#!/bin/sh
# Hammers every parser with random input: tests/fuzz, CASES inputs per property, optimised. `make test` runs the
# same properties with few cases. A failing input is kept (*.proptest-regressions, to commit) and tried first.
. "$(dirname -- "$0")/lib.sh"
need_cargo
need_python
[ -n "$(python3 scripts/cargo_targets.py test | grep -x fuzz)" ] || die "no fuzz tests in this tree"
PROPTEST_CASES=${CASES:-100000}
export PROPTEST_CASES
say "$PROPTEST_CASES cases per property"
exec cargo test --release --test fuzz
