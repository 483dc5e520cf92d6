#!/usr/bin/env python3
"""Drops the callbacks from a built filter that Weir does not use.

The SDK exports every callback of proxy-wasm, and Envoy enters the module for each one that is exported: for
response headers, for each piece of a body, for trailers. Entering it costs about a microsecond, to do nothing.

    wasm_trim.py MODULE.wasm        (in place)
"""

import sys

from wasm_check import Reader

EXPORT_SECTION = 7
USED = {
    # what every module has
    "memory",
    "_initialize",
    "proxy_abi_version_0_2_1",
    "proxy_on_memory_allocate",
    # the life of a context
    "proxy_on_context_create",
    "proxy_on_done",
    "proxy_on_log",
    "proxy_on_delete",
    # root: src/host/root.rs
    "proxy_on_vm_start",
    "proxy_on_configure",
    "proxy_on_tick",
    "proxy_on_queue_ready",
    "proxy_on_http_call_response",
    # connection: src/host/tcp_stream.rs
    "proxy_on_new_connection",
    # HTTP stream: src/host/http_stream.rs
    "proxy_on_request_headers",
    "proxy_on_response_headers",
}


def leb128(value):
    out = bytearray()
    while True:
        value, byte = value >> 7, value & 0x7F
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def trimmed(section):
    """The export section with what is used alone."""
    reader, kept = Reader(section), []
    for _ in range(reader.number()):
        start = reader.at
        name = reader.name()
        reader.byte()
        reader.number()
        if name in USED:
            kept.append((name, section[start : reader.at]))
    missing = USED - {name for name, _ in kept}
    if missing:
        raise ValueError(f"does not export {', '.join(sorted(missing))}")
    return leb128(len(kept)) + b"".join(entry for _, entry in kept)


def trim(data):
    reader, out = Reader(data, 8), [data[:8]]
    while reader.at < len(data):
        kind, length = reader.byte(), reader.number()
        section = data[reader.at : reader.at + length]
        reader.at += length
        if kind == EXPORT_SECTION:
            section = trimmed(section)
        out += [bytes([kind]), leb128(len(section)), section]
    return b"".join(out)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip().splitlines()[-1].strip())
    path = sys.argv[1]
    try:
        with open(path, "rb") as file:
            data = trim(file.read())
    except (OSError, ValueError, IndexError) as error:
        sys.exit(f"weir: {path}: {error}")
    with open(path, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()
