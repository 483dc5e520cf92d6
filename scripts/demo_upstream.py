#!/usr/bin/env python3
"""A small HTTP/1.1 upstream to put Weir in front of: `demo_upstream.py [PORT]`.

    any path          200, JSON that says method and path
    /status/503       that status
    /slow?ms=500      200 after that time (at most a minute)
"""

import http.server
import json
import sys
import time
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open
    wbufsize = -1  # head and body leave in one segment, or Nagle's algorithm holds the body back
    disable_nagle_algorithm = True

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        if not self.read_body():
            return
        status = 200
        if url.path.startswith("/status/"):
            code = url.path[len("/status/") :]
            status = int(code) if code.isascii() and code.isdigit() and 200 <= int(code) <= 599 else 400
        if url.path == "/slow":
            wanted = urllib.parse.parse_qs(url.query).get("ms", ["500"])[0]
            time.sleep(min(int(wanted), 60_000) / 1000 if wanted.isascii() and wanted.isdigit() else 0.5)
        body = json.dumps({"upstream": "demo", "method": self.command, "path": self.path}).encode() + b"\n"
        self.send_response(status)
        self.send_header("content-type", "application/json")
        if status not in (204, 304):
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def read_body(self):
        """Takes the body off the connection, which the next request needs clean. False: gave up."""
        try:
            if self.headers.get("transfer-encoding", "").lower() == "chunked":
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    self.discard(size + 2)
                while self.rfile.readline().strip():
                    pass
            else:
                self.discard(int(self.headers.get("content-length", 0)))
        except ValueError:
            self.send_error(400)
            return False
        return True

    def discard(self, size):
        while size > 0 and (part := self.rfile.read(min(size, 65536))):
            size -= len(part)

    def log_message(self, *_):
        pass  # Envoy's access log says it better


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)

    def handle_error(self, *_):
        pass  # a client that left is no news


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    with Server(port) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
