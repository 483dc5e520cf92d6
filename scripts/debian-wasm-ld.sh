#!/bin/sh
# The linker for Debian's compiler (scripts/cargo-wasm.sh): rustup's target brings the start code of programs
# along, here it is wasi-libc's. The filter itself is a library (--no-entry) and needs none.
case " $* " in
*" --no-entry "*) exec /usr/bin/wasm-ld-22 "$@" ;;
*) exec /usr/bin/wasm-ld-22 "$@" /usr/lib/wasm32-wasi/crt1-command.o ;;
esac
