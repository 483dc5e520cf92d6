# Shared by the shell scripts here: where things are, how to speak, how to fail. Sourced, never run.
# shellcheck shell=sh
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"

# One place for build output, whatever the caller's cargo configuration says: the paths below rely on it.
: "${CARGO_TARGET_DIR:=$root/target}"
export CARGO_TARGET_DIR

say() { printf '%s\n' "weir: $*"; }
# What is wrong and what to do about it, on one line.
die() { printf '%s\n' "weir: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
need() { have "$1" || die "$1 is missing: $2"; }

# Debian as root, and the caller has not forbidden it (APT=no): then scripts may install packages.
may_apt() { [ "${APT:-yes}" != no ] && [ -e /etc/debian_version ] && [ "$(id -u)" = 0 ] && have apt-get; }
# Says what it installs; shows apt's own words only when it fails.
apt_install() {
    say "installing Debian packages: $*"
    log=$(mktemp)
    if { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
        >"$log" 2>&1 </dev/null; then
        rm -f "$log"
    else
        tail -n 15 "$log" >&2
        rm -f "$log"
        return 1
    fi
}

need_python() {
    have python3 && return
    if may_apt; then apt_install python3 || true; fi
    need python3 "install it (Debian: apt-get install python3)"
}
need_openssl() {
    have openssl && return
    if may_apt; then apt_install openssl || true; fi
    need openssl "install it (Debian: apt-get install openssl), or bring a certificate: CERT=/path KEY=/path"
}
need_cargo() { need cargo "install Rust with rustup, see https://rustup.rs"; }

# The wasm target can be had in two ways (scripts/toolchain.sh chooses, scripts/cargo-wasm.sh uses):
# the target of the active toolchain, or Debian's compiler, which builds the standard library itself.
wasm_target=wasm32-wasip1
has_wasm_target() {
    have rustc && sysroot=$(rustc --print sysroot 2>/dev/null) &&
        ls "$sysroot/lib/rustlib/$wasm_target/lib/"libstd-*.rlib >/dev/null 2>&1
}
debian_packages="rustc-web cargo-web rust-web-src lld-22 wasi-libc"
has_debian_wasm() {
    [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ] && [ -e /usr/lib/rustlib/src/rust/library/Cargo.lock ] &&
        [ -e /usr/lib/wasm32-wasi/libc.a ] && [ -x /usr/bin/wasm-ld-22 ]
}
