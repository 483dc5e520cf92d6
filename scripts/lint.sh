#!/bin/sh
# What a change must satisfy before review. The wasm build is linted too: src/host/ exists only there.
. "$(dirname -- "$0")/lib.sh"
need_cargo
# A minimal rustup profile comes without these two.
for part in clippy fmt; do
    cargo "$part" --version >/dev/null 2>&1 && continue
    if have rustup; then rustup component add clippy rustfmt || true; fi
    cargo "$part" --version >/dev/null 2>&1 ||
        die "cargo $part is missing: rustup component add clippy rustfmt"
done

say "formatting"
cargo fmt --check || die "run: cargo fmt"
say "clippy"
cargo clippy --all-targets -- -D warnings
if has_wasm_target; then
    say "clippy for $wasm_target"
    scripts/cargo-wasm.sh clippy --lib -- -D warnings
else
    say "clippy for $wasm_target: NOT RUN, it needs the target from rustup"
fi
say "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps
