#!/usr/bin/python3
"""files.py ADDRESS PORT FOLDER: serves its files over HTTP, parts of them as well."""
import functools
import http.server
import os
import re
import sys

address, port, folder = sys.argv[1:]


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(True)

    def do_HEAD(self):
        self.answer(False)

    def answer(self, with_body):
        try:
            with open(self.translate_path(self.path), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
                first = int(part[1]) if part else 0
                last = min(int(part[2]), size - 1) if part and part[2] else size - 1
                file.seek(first)
                body = file.read(last - first + 1) if with_body else b""
        except OSError:
            return self.send_error(404)
        self.send_response(206 if part else 200)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{size}"')
        if part:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer((address, int(port)), functools.partial(Handler, directory=folder)).serve_forever()
