#!/bin/sh
# A self-signed certificate for localhost with its key, for whoever tries things out: `certificate.sh [FOLDER]`
# leaves certificate.pem and key.pem there. One that is there and good for another day stays.
. "$(dirname -- "$0")/lib.sh"
folder=${1:-target/run/tls}

need_openssl
is_good() {
    [ -r "$folder/key.pem" ] && openssl x509 -in "$folder/certificate.pem" -noout -checkend 86400 >/dev/null 2>&1
}
if is_good; then exit 0; fi

# Made beside it and moved at once: a certificate never stands beside another one's key.
fresh=$folder.new
rm -rf "$fresh"
mkdir -p "$fresh"
umask 077
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1 \
    -keyout "$fresh/key.pem" -out "$fresh/certificate.pem" 2>"$fresh/log" ||
    die "openssl made no certificate: $(cat "$fresh/log")"
rm -f "$fresh/log"
rm -rf "$folder"
mv "$fresh" "$folder"
say "$folder/certificate.pem is a self-signed certificate for localhost"
