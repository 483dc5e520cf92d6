#!/bin/sh
# The linker for Debian's compiler (scripts/cargo-wasm.sh). The filter is a library (--no-entry) and links as is.
# Programs, that is tests, need what rustup's target brings along: the start code, which is wasi-libc's here, and
# the thread functions that older versions of it lack. Those may stay open: nothing starts a thread in wasm.
case " $* " in
*" --no-entry "*) exec /usr/bin/wasm-ld-22 "$@" ;;
*) exec /usr/bin/wasm-ld-22 "$@" /usr/lib/wasm32-wasi/crt1-command.o --allow-undefined ;;
esac
