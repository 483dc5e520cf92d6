#!/usr/bin/env python3
"""Checks a built filter: its imports and its size.

Envoy refuses a module that imports anything it does not know ("missing import"), and older Envoys know
less WASI than the newest: so only the proxy ABI and the six WASI calls of Rust's standard library pass.

    wasm_check.py MODULE.wasm [--unoptimised]
"""

import os
import sys

MAX_BYTES = 700 * 1024
WASI = {"random_get", "environ_get", "environ_sizes_get", "clock_time_get", "fd_write", "proc_exit"}
IMPORT_SECTION = 2


class Reader:
    """A cursor over the module's bytes; wasm writes every integer as LEB128."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def name(self):
        length = self.number()
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def limits(self):
        flags = self.byte()
        self.number()
        if flags & 1:
            self.number()


def imports(data):
    """The (module, name, kind) of each import."""
    if data[:8] != b"\0asm\x01\0\0\0":
        raise ValueError("not a wasm module")
    reader = Reader(data, 8)
    while reader.at < len(data):
        section, length = reader.byte(), reader.number()
        if section != IMPORT_SECTION:
            reader.at += length
            continue
        found = []
        for _ in range(reader.number()):
            module, name, kind = reader.name(), reader.name(), reader.byte()
            if kind == 0:  # function: its type
                reader.number()
            elif kind == 1:  # table: element type, limits
                reader.byte()
                reader.limits()
            elif kind == 2:  # memory
                reader.limits()
            elif kind == 3:  # global: type, mutability
                reader.byte()
                reader.byte()
            elif kind == 4:  # tag: attribute, type
                reader.byte()
                reader.number()
            found.append((module, name, kind))
        return found
    return []


def known(module, name, kind):
    if kind != 0:
        return False
    if module == "env":
        return name.startswith("proxy_")
    return module == "wasi_snapshot_preview1" and name in WASI


def main():
    path, *options = sys.argv[1:] or [""]
    if not path or options not in ([], ["--unoptimised"]):
        sys.exit(__doc__.strip().splitlines()[-1].strip())
    most = MAX_BYTES * 8 // 7 if options else MAX_BYTES
    shown = path[: -len(".new")] if path.endswith(".new") else path
    try:
        with open(path, "rb") as file:
            data = file.read()
        found = imports(data)
    except (OSError, ValueError, IndexError) as error:
        sys.exit(f"weir: {shown}: {error}")
    strange = [f"{module}.{name}" for module, name, kind in found if not known(module, name, kind)]
    if strange:
        sys.exit(
            f"weir: {shown} imports what not every Envoy has, which would refuse it: {', '.join(strange)}"
        )
    if len(data) > most:
        sys.exit(f"weir: {shown} has {len(data)} bytes, more than the {most} allowed")
    print(
        f"weir: {os.path.relpath(shown)}: {len(data)} bytes ({len(data) / 1024:.0f} of {most // 1024} KB), "
        f"{len(found)} imports, all known to Envoy"
    )


if __name__ == "__main__":
    main()
