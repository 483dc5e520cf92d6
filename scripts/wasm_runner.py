#!/usr/bin/env python3
"""Runs a wasm32-wasip1 program, as cargo's runner for that target: `wasm_runner.py PROGRAM.wasm ARGS…`.

The engine is the PyPI package wasmtime, unpacked at target/wasmtime by scripts/test-wasm.sh. The exit code is
the program's; a trap (in wasm a panic ends the program, so this is how a failing test ends) is 101, as for a
native test.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "target", "wasmtime"))

try:
    import wasmtime
except (ImportError, OSError) as error:
    sys.exit(f"weir: the wasm engine cannot be loaded ({error}): run make test-wasm")


def main():
    program, arguments = sys.argv[1], sys.argv[1:]
    engine = wasmtime.Engine()
    module = wasmtime.Module.from_file(engine, program)

    store = wasmtime.Store(engine)
    wasi = wasmtime.WasiConfig()
    wasi.argv = arguments
    wasi.env = list(os.environ.items())
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    for name in (".", ROOT):  # tests read testdata/, by relative path or by CARGO_MANIFEST_DIR
        wasi.preopen_dir(ROOT, name)
    store.set_wasi(wasi)

    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    # Programs that link src/host/ import Envoy's functions; tests of the core call none. One that does stops.
    linker.define_unknown_imports_as_traps(module)
    start = linker.instantiate(store, module).exports(store)["_start"]
    try:
        start(store)
    except wasmtime.ExitTrap as end:
        return end.code
    except wasmtime.Trap as trap:
        reason = str(trap).strip().splitlines()[-1].strip()
        print(f"weir: the test program stopped: {reason}", file=sys.stderr)
        return 101
    return 0


if __name__ == "__main__":
    try:
        code = main()
    except wasmtime.WasmtimeError as error:
        sys.exit(f"weir: {sys.argv[1]} cannot run: {error}")
    sys.exit(code)
