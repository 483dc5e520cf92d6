#!/bin/sh
# Makes sure that cargo, a linker and the target wasm32-wasip1 are there. Quick when they are.
#
# First choice: rustup. Where rustup is missing or cannot fetch the target, Debian's packages do: their
# compiler has no wasm standard library, so scripts/cargo-wasm.sh builds that too (-Zbuild-std).
. "$(dirname -- "$0")/lib.sh"

# rustc is too old for Cargo.toml's rust-version? Say so here, before cargo compiles half the crates.
require_version() {
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$("$1" --version 2>/dev/null | cut -d' ' -f2)
    [ -n "$found" ] || die "$1 --version fails: repair the toolchain (rustup default stable)"
    [ "$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ] ||
        die "$1 is version $found, Weir needs $wanted or newer: rustup update stable"
}

# Rust links native programs (tests, the weir command) with the C compiler.
if ! have cc; then
    if may_apt; then apt_install gcc libc6-dev || true; fi
    need cc "install a C compiler, Rust links with it (Debian: apt-get install gcc libc6-dev)"
fi

if has_wasm_target; then
    need_cargo
    require_version rustc
    exit 0
fi

if have rustup; then
    say "adding $wasm_target to the Rust toolchain"
    if words=$(rustup target add "$wasm_target" 2>&1) && has_wasm_target; then
        require_version rustc
        exit 0
    fi
    reason=$(printf '%s\n' "$words" | sed -n 's/^error: //p' | head -n 1)
    say "rustup cannot add $wasm_target${reason:+: $reason}"
fi

if ! has_debian_wasm; then
    hint="with rustup (https://rustup.rs) run: rustup target add $wasm_target; or as root on Debian: apt-get install $debian_packages"
    have cargo || have rustup || may_apt ||
        die "cargo is missing: install Rust with rustup (https://rustup.rs), or as root on Debian: apt-get install $debian_packages"
    may_apt || die "the Rust target $wasm_target is missing: $hint"
    # shellcheck disable=SC2086  # a list of packages
    apt_install $debian_packages || die "Debian's Rust packages cannot be installed; $hint"
    has_debian_wasm || die "Debian's Rust packages do not hold what they should; $hint"
fi
require_version /usr/bin/rustc
# Programs and tests are compiled natively too: by rustup's cargo where there is one, else by Debian's.
need_cargo
