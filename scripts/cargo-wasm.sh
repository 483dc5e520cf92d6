#!/bin/sh
# cargo for wasm32-wasip1: `scripts/cargo-wasm.sh build --release --lib`.
# The same command whether the target came with the toolchain or is built with Debian's compiler.
. "$(dirname -- "$0")/lib.sh"

command=$1
shift
if has_wasm_target; then
    exec cargo "$command" --target "$wasm_target" "$@"
fi
has_debian_wasm || die "the Rust target $wasm_target is missing: run make toolchain"

# Debian's compiler has no std for wasm: build it from rust-web-src (an unstable option, hence
# RUSTC_BOOTSTRAP) and link against Debian's wasi-libc instead of the copy that rustup's target brings.
export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
export CARGO_TARGET_WASM32_WASIP1_LINKER="$root/scripts/debian-wasm-ld.sh"
export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="-Clink-self-contained=no -L/usr/lib/wasm32-wasi"
exec /usr/bin/cargo "$command" -Zbuild-std=std,panic_abort --target "$wasm_target" "$@"
