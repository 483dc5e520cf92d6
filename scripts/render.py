#!/usr/bin/env python3
"""Fills in envoy/envoy.yaml: ports, upstream, module, certificate, and Weir's configuration in place of @weir.json@.

    render.py --listen-port 10000 --tls-port 10443 --admin-port 9901 --upstream 127.0.0.1:8080 \\
              --wasm target/weir.wasm --config envoy/weir.json \\
              --certificate target/run/tls/certificate.pem --key target/run/tls/key.pem \\
              [--asn-db GeoLite2-ASN.mmdb] --out target/run/envoy.yaml
"""

import argparse
import os
import re
import sys
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEMPLATE = os.path.join(ROOT, "envoy", "envoy.yaml")
PLACE = re.compile(r"^( *)@weir\.json@$", re.M)


class Wrong(Exception):
    """What the caller gave cannot be used; the message is for a person."""


class Given(NamedTuple):
    """What goes into the template. Paths may be relative: to where the caller stands, not to Envoy."""

    listen_port: int
    tls_port: int
    admin_port: int
    upstream: str
    wasm: str
    config: str
    certificate: str
    key: str
    asn_db: str = ""


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


def path(text):
    return quoted(os.path.abspath(text))


def uncomment(text, word):
    """Takes away the "# " of the lines between "# [word" and "# word]", and these two lines."""
    block = re.compile(rf"^ *# \[{word}\n((?: *# .*\n)+?) *# {word}\]\n", re.M)
    if len(block.findall(text)) != 1:
        raise Wrong(f"envoy/envoy.yaml must have exactly one part between # [{word} and # {word}]")
    return block.sub(lambda found: re.sub(r"^( *)# ", r"\1", found[1], flags=re.M), text)


def values(given):
    """What replaces the value on each line that names an option."""
    host, port = upstream(given.upstream)
    yield "--listen-port", str(given.listen_port)
    yield "--tls-port", str(given.tls_port)
    yield "--admin-port", str(given.admin_port)
    yield "--upstream (host)", quoted(host)
    yield "--upstream (port)", str(port)
    yield "--wasm", path(given.wasm)
    yield "--certificate", path(given.certificate)
    yield "--key", path(given.key)
    if given.asn_db:
        yield "--asn-db", path(given.asn_db)


def render(given):
    """The finished text of envoy.yaml."""
    text = read(TEMPLATE)
    if given.asn_db:
        text = uncomment(text, "asn")
    for option, value in values(given):
        text = replace(text, option, value)

    if len(PLACE.findall(text)) != 1:
        raise Wrong("envoy/envoy.yaml must have exactly one line that reads @weir.json@")
    # The block takes its indentation from its first line, and that must not be one of JSON's own.
    lines = read(given.config).strip().splitlines() or ["{}"]
    return PLACE.sub(lambda place: "\n".join(place[1] + line for line in lines), text)


def main():
    say = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    say.add_argument("--listen-port", type=int, required=True)
    say.add_argument("--tls-port", type=int, required=True)
    say.add_argument("--admin-port", type=int, required=True)
    say.add_argument("--upstream", required=True, metavar="HOST:PORT")
    say.add_argument("--wasm", required=True, metavar="PATH")
    say.add_argument("--config", required=True, metavar="FILE", help="Weir's configuration, JSON")
    say.add_argument("--certificate", required=True, metavar="FILE")
    say.add_argument("--key", required=True, metavar="FILE", help="the certificate's private key")
    say.add_argument("--asn-db", default="", metavar="FILE", help="MaxMind's format: turns geoip on")
    say.add_argument("--out", required=True, metavar="FILE")
    options = vars(say.parse_args())
    out = options.pop("out")
    try:
        text = render(Given(**options))
        os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)
    except (Wrong, OSError) as error:
        sys.exit(f"weir: {error}")


if __name__ == "__main__":
    main()
