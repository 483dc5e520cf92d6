# Weir's tasks. `make` lists them; each is one command here or one script in scripts/.
# The scripts fetch what is missing (wasm target, Envoy, wasm engine) into target/ or say what to install.

.DEFAULT_GOAL := help
.PHONY: help run test wasm envoy toolchain lint bench bench-envoy bench-qos bench-qos-sim bomb fuzz test-wasm clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile
	@sed -n 's/^#? \{0,1\}//p' Makefile

#?
#? Variables, as in `make run PORT=8000`:
#?   UPSTREAM=host:port  where `run` sends requests            (default: a demo upstream of its own)
#?   PORT, TLS_PORT      where Envoy listens on 127.0.0.1      (10000, 10443)
#?   ADMIN_PORT          its admin listener, the same          (9901)
#?   CERT, KEY           certificate and key for TLS, PEM      (self-signed, for localhost)
#?   ASN_DB=/path.mmdb   networks of clients, for geoip        (none)
#?   WORKERS             Envoy's worker threads                (2)
#?   CONFIG              Weir's configuration                  (envoy/weir.json)
#?   ENVOY=/path         an Envoy of yours                     (default: 1.40.0 from PyPI)
#?   ATTACK_SECONDS      how long the attack of `bomb` lasts   (60)
#?   ATTACK_RPS          the rate that it climbs to            (15000)
#?   LOADS, QOS          loads for `bench-qos`; QOS=no: Weir without qos (0.9,1.5,3; yes)
#?   PAGE_PORT           its page on 127.0.0.1                 (10080)
#?   SEEDS               runs of `bench-qos-sim`               (1 2 3)
#?   CASES               cases per property for `fuzz`         (100000)
#?   WASM_TESTS          files of tests/ that `test-wasm` runs (scenarios connections counting challenge guard surge exchange fuzz alloc)
#?   APT=no              never install Debian packages, not even as root
export UPSTREAM PORT TLS_PORT ADMIN_PORT CERT KEY ASN_DB WORKERS CONFIG ENVOY CASES WASM_TESTS APT ATTACK_SECONDS ATTACK_RPS PAGE_PORT LOADS QOS

run: toolchain wasm envoy ## Envoy with Weir on 127.0.0.1:10000 (TLS: 10443), in front of UPSTREAM; Ctrl-C ends it
	@scripts/run.py

test: toolchain wasm envoy ## All tests: unit, scenarios, properties, and end to end in the real Envoy
	@scripts/test.sh

wasm: toolchain ## Build the filter: target/weir.wasm (imports and size checked)
	@scripts/wasm.sh

envoy: ## Put Envoy 1.40.0 at target/envoy/envoy (or take ENVOY=/path)
	@scripts/envoy.sh

toolchain: ## Make sure of cargo, a linker and the target wasm32-wasip1
	@scripts/toolchain.sh

lint: toolchain ## Formatting, clippy (native and wasm32) and documentation, warnings refused
	@scripts/lint.sh

bench: toolchain ## Benchmarks of the engine, native
	@scripts/bench.sh

bench-envoy: toolchain wasm envoy ## What requests and connections cost with Weir in Envoy, beside its rivals
	@scripts/bench.sh envoy

bench-qos-sim: toolchain ## Who is served while an upstream suffers, with Weir and its rivals, simulated; SEEDS choose the runs
	@scripts/bench.sh qos $(SEEDS)

bench-qos: toolchain wasm envoy ## A service that is asked for more than it can do, with Weir in front and with its rivals: 16 minutes
	@scripts/bench.sh qos_envoy

bomb: toolchain wasm envoy ## Millions of distinct clients at Weir and at a naive limiter, to be watched; a picture is left
	@scripts/bomb.sh

fuzz: toolchain ## Random input for every parser, CASES per property, optimised build
	@scripts/fuzz.sh

test-wasm: toolchain ## The core's tests inside a wasm engine: 32-bit usize, as in Envoy
	@scripts/test-wasm.sh

clean: ## Remove target/, Envoy and all that was built included
	rm -rf target
