#!/usr/bin/env python3
"""`make run`: Envoy with Weir on 127.0.0.1, in front of UPSTREAM or of a demo upstream. Ctrl-C ends it.

The environment: UPSTREAM, PORT, TLS_PORT, ADMIN_PORT, WORKERS, CONFIG, CERT, KEY, ASN_DB (the Makefile says what they
mean).
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import render
from demo_upstream import Server

ROOT = render.ROOT
ENVOY = os.path.join(ROOT, "target", "envoy", "envoy")
WASM = os.path.join(ROOT, "target", "weir.wasm")
RUN = os.path.join(ROOT, "target", "run")
TLS = os.path.join(RUN, "tls")
LOG = os.path.join(RUN, "envoy.log")
YAML = os.path.join(RUN, "envoy.yaml")

START_SECONDS = 30  # a cold machine needs a second or two
STOP_SECONDS = 5


class Stopped(Exception):
    """Ctrl-C, SIGTERM, or the terminal went away."""


def setting(name, default):
    return os.environ.get(name) or default


def number(name, default, most):
    text = setting(name, str(default))
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= most):
        raise render.Wrong(f"{name} must be a number from 1 to {most}, not {text!r}")
    return int(text)


def require_free(name, port):
    """Envoy would take long to say this, and say it at length."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise render.Wrong(
                f"port {port} on 127.0.0.1 cannot be used ({error.strerror}); choose another: make run {name}={port + 1}"
            ) from None


def start_demo():
    server = Server()  # on a free port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"127.0.0.1:{server.server_address[1]}"


def end_with_parent():
    """In the child: should this script be killed outright, Envoy ends too (Linux only, else nothing)."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    except (OSError, AttributeError):
        pass


def start_envoy(workers):
    open(LOG, "w").close()  # one run, one log
    return subprocess.Popen(
        [
            ENVOY,
            *("--config-path", YAML),
            *("--concurrency", str(workers)),
            "--disable-hot-restart",
            *("--log-level", "info"),
            *("--log-path", LOG),
            *("--file-flush-interval-msec", "200"),  # the access log, as it happens
        ],
        cwd=ROOT,
        start_new_session=True,  # Ctrl-C reaches this script only, which then ends Envoy
        preexec_fn=end_with_parent,
    )


def ready(admin_port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{admin_port}/ready", timeout=1) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def wait_until_ready(envoy, admin_port):
    until = time.monotonic() + START_SECONDS
    while not ready(admin_port):
        if envoy.poll() is not None:
            raise render.Wrong(f"Envoy did not start:\n{complaints()}")
        if time.monotonic() > until:
            raise render.Wrong(f"Envoy is not ready after {START_SECONDS} s, see {os.path.relpath(LOG)}")
        time.sleep(0.05)


REFUSED = "configuration refused: "


def complaints():
    """What Weir has against its configuration; else the log's errors, or its last lines if there are none."""
    with open(LOG, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    refused = dict.fromkeys(line.split(REFUSED, 1)[1] for line in lines if REFUSED in line)
    marked = [line for line in lines if "[error]" in line or "[critical]" in line]
    return "\n".join("  " + line for line in refused or (marked or lines)[-12:])


def end(envoy):
    if envoy.poll() is None:
        envoy.terminate()
        try:
            envoy.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            envoy.kill()
            envoy.wait()


SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def per_second(rate):
    """A number per second, or text: "6/m"."""
    if isinstance(rate, str):
        number_, unit = rate.split("/")
        return float(number_) / SECONDS[unit]
    return float(rate)


def first_limit(config):
    """(rate in words, burst) of the first rule that throttles requests, for the hints; None when there is none."""
    try:
        for rule in json.loads(render.read(config)).get("rules") or []:
            rate, multiplier = rule["filter"].get("max_req_rate"), rule["filter"].get("req_burst_multiplier") or 1
            if rate and "throttle" in rule["action"] and not rule["filter"].get("match"):
                words = rate if isinstance(rate, str) else f"{rate:g} per second"
                return words, max(1, int(per_second(rate) * float(multiplier)))
    except (ValueError, TypeError, KeyError, AttributeError):
        pass  # a configuration of another shape: Weir says what is wrong with it
    return None


def has_network(config):
    """Whether this configuration reads the number of a client's network."""
    try:
        return bool(json.loads(render.read(config)).get("network"))
    except (ValueError, AttributeError):
        return True  # a configuration of another shape: Weir says what is wrong with it


def hints(given, upstream):
    url, tls_url = f"http://127.0.0.1:{given.listen_port}", f"https://127.0.0.1:{given.tls_port}"
    limit = first_limit(given.config)
    print(f"\nEnvoy with Weir: {url} and {tls_url} -> {upstream}")
    print(f"configuration: {os.path.relpath(given.config)}\n\nTry:")
    print(f"  curl -i {url}/hello")
    print("      the upstream's answer; the access log appears here\n")
    if limit:
        rate, burst = limit
        many = burst + 10
        print(f"  curl -s -o /dev/null -w '%{{http_code}} ' '{url}/?[1-{many}]'; echo")
        print(f"      the burst passes ({burst} times 200), then {rate}: the rest is 429\n")
        print(f"  curl -i {url}/        (right after that)")
        print("      a 429 with Retry-After and RateLimit: when it is worth coming back\n")
        print(f"  curl -s -o /dev/null -w '%{{http_code}} ' '{url}/healthz?[1-{many}]'; echo")
        print(f"      {many} times 200, where /healthz is exempt\n")
    print(f"  curl -k {tls_url}/hello")
    print("      over TLS: the access log has your fingerprints, ja3=… and ja4=…; others with --tls-max 1.2\n")
    print(f"  curl -s http://127.0.0.1:{given.admin_port}/stats/prometheus | grep ^weir_")
    print("      Weir's counters, with labels\n")
    print(f"  grep 'wasm log' {os.path.relpath(LOG)}")
    print("      Weir's events: one JSON line per client and interval\n")
    if given.asn_db and not has_network(given.config):
        print("The access log has the client's network (asn=…). For Weir to use it, the configuration needs")
        print('  "network": { "asn": { "filter_state": "envoy.geoip", "field": "x-asn" } }\n')
    print("Ctrl-C ends everything.\n", flush=True)


def stop(*_):
    raise Stopped


def file_of(name):
    """The path that a variable names, if it does and can be read."""
    path = os.environ.get(name) or ""
    if path and not (os.path.isfile(path) and os.access(path, os.R_OK)):
        raise render.Wrong(f"{name}={path} is not a file that can be read")
    return path


def asn_db():
    path = file_of("ASN_DB")
    if path and not path.endswith(".mmdb"):
        raise render.Wrong(f"ASN_DB={path}: Envoy takes only a file whose name ends in .mmdb")
    return path


def certificate():
    """(certificate, key): CERT and KEY, else one for localhost that is made once."""
    given = file_of("CERT"), file_of("KEY")
    if all(given):
        return given
    if any(given):
        raise render.Wrong("CERT and KEY belong together: give both, or neither for a self-signed certificate")
    if subprocess.run([os.path.join(ROOT, "scripts", "certificate.sh"), os.path.relpath(TLS, ROOT)]).returncode != 0:
        sys.exit(1)  # it has said why
    return os.path.join(TLS, "certificate.pem"), os.path.join(TLS, "key.pem")


def ports():
    """PORT, TLS_PORT and ADMIN_PORT: different, and free."""
    chosen = {}
    for name, default in [("PORT", 10000), ("TLS_PORT", 10443), ("ADMIN_PORT", 9901)]:
        port = number(name, default, 65535)
        for other in (other for other in chosen if chosen[other] == port):
            raise render.Wrong(f"{other} and {name} are both {port}")
        chosen[name] = port
    for name, port in chosen.items():
        require_free(name, port)
    return chosen.values()


def run():
    for path, target in [(ENVOY, "envoy"), (WASM, "wasm")]:
        if not os.path.exists(path):
            raise render.Wrong(f"{os.path.relpath(path)} is missing: make {target}")
    workers = number("WORKERS", 2, 1024)
    config = os.path.abspath(setting("CONFIG", os.path.join(ROOT, "envoy", "weir.json")))
    port, tls_port, admin_port = ports()
    chain, key = certificate()

    upstream = os.environ.get("UPSTREAM") or start_demo()
    given = render.Given(port, tls_port, admin_port, upstream, WASM, config, chain, key, asn_db())
    os.makedirs(RUN, exist_ok=True)
    with open(YAML, "w", encoding="utf-8") as file:
        file.write(render.render(given))

    envoy = start_envoy(workers)
    try:
        wait_until_ready(envoy, admin_port)
        demo = "" if os.environ.get("UPSTREAM") else " (demo)"
        hints(given, upstream + demo)
        envoy.wait()
        raise render.Wrong(f"Envoy ended by itself (status {envoy.returncode}):\n{complaints()}")
    finally:
        # From here on nothing may interrupt: what was started is ended.
        for number_ in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number_, signal.SIG_IGN)
        end(envoy)


def main():
    for number_ in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number_, stop)
    try:
        run()
    except render.Wrong as error:
        sys.exit(f"weir: {error}")
    except Stopped:
        print("\nweir: stopped")


if __name__ == "__main__":
    main()
