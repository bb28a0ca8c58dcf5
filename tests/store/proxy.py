"""A proxy before a real server, which asks for credentials and fails as it is told to."""
import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Proxy(ThreadingHTTPServer):
    """Before a real server. `fault(method, path)` says what happens to a request: None, "lose" (its answer), "refuse"
    (503), "forbid" (403), "gateway" (403 by what is before the server), "text" (an answer that is no JSON), "move" (302),
    "away" (the connection ends without an answer), or a function that is called once it is done, and whose answer is lost, too."""
    daemon_threads = True
    disable_nagle_algorithm = True

    def __init__(self, port, authorization):
        super().__init__(("127.0.0.1", 0), Handler)
        self.backend, self.authorization, self.fault, self.newer = port, authorization, None, False
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *args):
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for header in headers:
            self.send_header(*header)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != server.authorization:
            return self.answer(401, b'{"message": "who are you?"}')
        fault = server.fault(self.command, self.path) if server.fault else None
        if server.newer:  # a release whose API has another name
            if "/v1alpha3/" in self.path:
                return self.answer(404, b"404 page not found\n")
            self.path = self.path.replace("/v1/", "/v1alpha3/", 1)
        if fault == "away":
            self.close_connection = True
            return self.connection.close()
        if fault == "refuse":
            return self.answer(503, b"busy", [("Retry-After", "0")])
        if fault == "forbid":
            return self.answer(403, b'{"message": "not yours"}')
        if fault == "gateway":
            return self.answer(403, b"RBAC: access denied\n")
        if fault == "text":
            return self.answer(200, b"<html>Log in</html>")
        if fault == "move":
            return self.answer(302, b"", [("Location", "http://127.0.0.1:1/")])
        upstream = http.client.HTTPConnection("127.0.0.1", server.backend, timeout=120)
        upstream.request(self.command, self.path, body, {"Content-Type": "application/json"})
        reply = upstream.getresponse()
        text = reply.read()
        upstream.close()
        if fault:
            if fault != "lose":
                fault()
            self.close_connection = True
            return self.connection.close()
        return self.answer(reply.status, text, [("Content-Type", "application/json")])

    do_POST = do_DELETE = do_PATCH = do_GET
