#!/usr/bin/env python3
"""Fills in envoy/envoy.yaml: ports, upstream, module, and Weir's configuration in place of @weir.json@.

    render.py --listen-port 10000 --admin-port 9901 --upstream 127.0.0.1:8080 \\
              --wasm target/weir.wasm --config envoy/weir.json --out target/run/envoy.yaml
"""

import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEMPLATE = os.path.join(ROOT, "envoy", "envoy.yaml")
PLACE = re.compile(r"^( *)@weir\.json@$", re.M)


class Wrong(Exception):
    """What the caller gave cannot be used; the message is for a person."""


def upstream(text):
    """`host:port`, `[v6]:port` → (host, port)."""
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if bracketed:
        host = host[1:-1]
    number = int(port) if port.isascii() and port.isdigit() else 0
    if not colon or not re.fullmatch(r"[\w.:-]+", host) or (":" in host) != bracketed or not 0 < number < 65536:
        raise Wrong(f"UPSTREAM must be host:port or [address]:port, not {text!r}")
    return host, number


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise Wrong(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Wrong(f"cannot read {path}: {error}") from None


def replace(text, option, value):
    """Replaces the value on the one line whose comment names the option."""
    line = re.compile(rf"^( *\w+: )\S+( # {re.escape(option)})$", re.M)
    if len(line.findall(text)) != 1:
        raise Wrong(f"envoy/envoy.yaml must have exactly one line with the comment: # {option}")
    return line.sub(lambda found: found[1] + value + found[2], text)


def quoted(text):
    """A YAML scalar in single quotes: in there, only the quote itself means anything."""
    return "'" + text.replace("'", "''") + "'"


def render(listen_port, admin_port, upstream_address, wasm, config):
    """The finished text of envoy.yaml."""
    host, port = upstream(upstream_address)
    text = read(TEMPLATE)
    for option, value in [
        ("--listen-port", str(listen_port)),
        ("--admin-port", str(admin_port)),
        ("--upstream (host)", quoted(host)),
        ("--upstream (port)", str(port)),
        ("--wasm", quoted(os.path.abspath(wasm))),
    ]:
        text = replace(text, option, value)

    if len(PLACE.findall(text)) != 1:
        raise Wrong("envoy/envoy.yaml must have exactly one line that reads @weir.json@")
    # The block takes its indentation from its first line, and that must not be one of JSON's own.
    lines = read(config).strip().splitlines() or ["{}"]
    return PLACE.sub(lambda place: "\n".join(place[1] + line for line in lines), text)


def main():
    say = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    say.add_argument("--listen-port", type=int, required=True)
    say.add_argument("--admin-port", type=int, required=True)
    say.add_argument("--upstream", required=True, metavar="HOST:PORT")
    say.add_argument("--wasm", required=True, metavar="PATH")
    say.add_argument("--config", required=True, metavar="FILE", help="Weir's configuration, JSON")
    say.add_argument("--out", required=True, metavar="FILE")
    given = say.parse_args()
    try:
        text = render(given.listen_port, given.admin_port, given.upstream, given.wasm, given.config)
        os.makedirs(os.path.dirname(os.path.abspath(given.out)), exist_ok=True)
        with open(given.out, "w", encoding="utf-8") as file:
            file.write(text)
    except (Wrong, OSError) as error:
        sys.exit(f"weir: {error}")


if __name__ == "__main__":
    main()
