#!/bin/sh
# Makes sure of a browser for the end-to-end tests: Chromium, and chromedriver which tells it what to do. Quick when they
# are there. WEIR_CHROMIUM and WEIR_CHROMEDRIVER name others.
. "$(dirname -- "$0")/lib.sh"
packages="chromium chromium-driver fonts-dejavu-core"

has_driver() { [ -x "${WEIR_CHROMEDRIVER:-}" ] || have chromedriver || [ -x /usr/lib/chromium/chromedriver ]; }
has_chromium() { [ -x "${WEIR_CHROMIUM:-}" ] || have chromium || have chromium-browser || have google-chrome; }

if has_driver && has_chromium; then exit 0; fi
# shellcheck disable=SC2086  # a list of packages
if may_apt; then apt_install $packages || true; fi
has_chromium || die "Chromium is missing, the end-to-end tests need a browser: install it (Debian: apt-get install $packages), or set WEIR_CHROMIUM=/path"
has_driver || die "chromedriver is missing, the end-to-end tests need it: install it (Debian: apt-get install $packages), or set WEIR_CHROMEDRIVER=/path"
