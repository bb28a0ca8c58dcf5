#!/usr/bin/env python3
"""Stand-ins for what hands out credentials, after their published shapes: STS, EKS Pod
Identity's agent, the metadata service of EC2 (IMDSv2), Google's token endpoint and
metadata server, and the JSON and XML APIs of Google Cloud Storage over a folder of objects.

    cloud = Cloud(access, secret).start()    # .url, .asked: [(what, detail)]
"""
import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

ROLES = "/latest/meta-data/iam/security-credentials/"


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body, kind="application/json", **fields):
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()

    def note(self, what, detail=None):
        self.server.cloud.asked.append((what, detail))

    def key(self, name):
        cloud = self.server.cloud
        return json.dumps({"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": cloud.access,
                           "SecretAccessKey": cloud.secret, name: cloud.token, "Expiration": stamp(cloud.lasts)})

    # ---- STS ----
    def sts(self, form):
        action = form["Action"][0]
        self.note(action, {k: v[0] for k, v in form.items()} | {"auth": self.headers.get("Authorization")})
        cloud = self.server.cloud
        if cloud.throttle:
            cloud.throttle -= 1
            return self.answer(400, "<ErrorResponse><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error>"
                               "</ErrorResponse>", "text/xml")
        if cloud.deny:
            return self.answer(403, '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender'
                               f"</Type><Code>{cloud.deny}</Code><Message>not you</Message></Error></ErrorResponse>",
                               "text/xml")
        return self.answer(200, f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result>'
                           f"<Credentials><AccessKeyId>{cloud.access}</AccessKeyId><SecretAccessKey>{cloud.secret}"
                           f"</SecretAccessKey><SessionToken>{cloud.token}</SessionToken><Expiration>{stamp(cloud.lasts)}"
                           f"</Expiration></Credentials></{action}Result></{action}Response>", "text/xml")

    def doubled(self):
        """A path with two slashes, of which http.server makes one."""
        return self.requestline.split()[1].startswith("//")

    def do_POST(self):
        if self.path.startswith("/buck/"):
            return self.xml()
        form = parse_qs(self.body())
        if self.path == "/token":
            self.note("oauth", {k: v[0] for k, v in form.items()})
            claims = form["assertion"][0].split(".")[1]
            self.server.cloud.scope = json.loads(base64.urlsafe_b64decode(claims + "=="))["scope"]
            return self.answer(200, json.dumps({"access_token": self.server.cloud.oauth, "expires_in": 3600,
                                                "token_type": "Bearer"}))
        return self.answer(404, "") if self.doubled() else self.sts(form)

    def do_PUT(self):
        if self.path == "/latest/api/token" and not self.doubled() and self.headers.get("X-aws-ec2-metadata-token-ttl-seconds"):
            self.note("imds token")
            if self.server.cloud.imds_v1:
                return self.answer(self.server.cloud.imds_v1, "")
            return self.answer(200, "imds-session", "text/plain")
        return self.xml()

    def do_GET(self):
        cloud, path = self.server.cloud, urlsplit(self.path).path
        if path.startswith("/latest/"):
            if self.headers.get("X-aws-ec2-metadata-token") != (None if cloud.imds_v1 else "imds-session"):
                return self.answer(401, "")
            self.note("imds")
            return self.answer(200, "the-role\n" if path == ROLES else self.key("Token"), "text/plain")
        if cloud.busy and path.startswith(("/v1/credentials", "/computeMetadata/")):
            cloud.busy -= 1
            return self.answer(503, "", Metadata_Flavor="Google")
        if path == "/v1/credentials":
            self.note("pod identity", self.headers.get("Authorization"))
            return self.answer(200 if self.headers.get("Authorization") == cloud.pod else 403, self.key("Token"))
        if path.startswith("/computeMetadata/"):
            self.note("metadata", self.headers.get("Metadata-Flavor"))
            return self.answer(200, json.dumps({"access_token": cloud.oauth, "expires_in": 3600}), Metadata_Flavor="Google")
        if path.startswith("/storage/v1/b/"):
            return self.storage(path[len("/storage/v1/b/"):])
        return self.xml()

    # ---- Google Cloud Storage ----
    def item(self, name):
        data = self.server.cloud.objects[name]
        item = {"name": name, "size": str(len(data)), "generation": "7"}
        if name.endswith(".composed"):
            item["crc32c"] = "AAAAAA=="  # of no bytes
        elif name not in self.server.cloud.composed:
            item["md5Hash"] = base64.b64encode(hashlib.md5(data).digest()).decode()
        return item

    def unpaid(self):
        """Has the bucket Requester Pays, and the request names no project?"""
        return self.server.cloud.payer and self.headers.get("X-Goog-User-Project") != self.server.cloud.payer

    def storage(self, rest):
        cloud, query = self.server.cloud, {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
        bucket, _, name = rest.partition("/o")
        name = unquote(name[1:])
        self.note("storage", self.headers.get("Authorization"))
        if not cloud.public and self.headers.get("Authorization") != "Bearer " + cloud.oauth:
            return self.answer(401, json.dumps({"error": {"code": 401, "message": "Anonymous caller"}}))
        if self.unpaid():
            return self.answer(400, json.dumps({"error": {"code": 400, "errors": [{"reason": "required"}], "message":
                                                          "Bucket is a requester pays bucket but no user project provided."}}))
        if bucket != "buck" or (name and name not in cloud.objects):
            return self.answer(404, json.dumps({"error": {"code": 404, "message": "none"}}))
        if not name:
            names = sorted(n for n in cloud.objects if n.startswith(query.get("prefix", "")))
            start, most = int(query.get("pageToken", "0")), int(query["maxResults"])
            page = {"items": [self.item(n) for n in names[start:start + most]]}
            if start + most < len(names):
                page["nextPageToken"] = str(start + most)
            return self.answer(200, json.dumps(page))
        if query.get("alt") != "media":
            return self.answer(200, json.dumps(self.item(name)))
        data, first = cloud.objects[name], 0
        if self.headers.get("Range"):
            first, last = self.headers["Range"][len("bytes="):].split("-")
            first, last = int(first), min(int(last or len(data) - 1), len(data) - 1)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            data = data[first:last + 1]
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def xml(self):
        """PUT, multipart uploads, DELETE, a listing: with a token, an ETag is an MD5 only of what is put whole."""
        cloud, url = self.server.cloud, urlsplit(self.path)
        query = {k: v[0] for k, v in parse_qs(url.query, keep_blank_values=True).items()}
        _, bucket, *key = unquote(url.path).split("/", 2)
        name = "".join(key)
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        tag = '"%s"' % hashlib.md5(data).hexdigest()
        if bucket != "buck":
            return self.answer(404, "<Error><Code>NoSuchBucket</Code></Error>", "text/xml")
        if self.headers.get("Authorization") != "Bearer " + cloud.oauth or any(h.lower().startswith("x-amz") for h in self.headers):
            return self.answer(403, "<Error><Code>AccessDenied</Code><Message>Access denied.</Message></Error>", "text/xml")
        if self.unpaid():
            return self.answer(400, "<Error><Code>UserProjectMissing</Code></Error>", "text/xml")
        if self.command != "GET" and cloud.scope.endswith("read_only"):
            return self.answer(403, "<Error><Code>AccessDenied</Code><Message>Insufficient scope.</Message></Error>", "text/xml")
        self.note(self.command, name)
        if "uploads" in query:
            cloud.parts[name] = {}
            return self.answer(200, f"<InitiateMultipartUploadResult><UploadId>{quote(name)}</UploadId></InitiateMultipartUploadResult>", "text/xml")
        if "partNumber" in query:
            cloud.parts[name][int(query["partNumber"])] = data
            return self.answer(200, "", ETag=tag)
        if "uploadId" in query:
            cloud.objects[name] = b"".join(data for _, data in sorted(cloud.parts.pop(name).items()))
            cloud.composed.add(name)
            return self.answer(200, '<CompleteMultipartUploadResult><ETag>"CKih16GjycICEAE="</ETag></CompleteMultipartUploadResult>', "text/xml")
        if self.command == "PUT":
            cloud.objects[name] = data
            cloud.composed.discard(name)
            return self.answer(200, "", ETag=tag)
        if self.command == "DELETE":
            return self.answer(204 if cloud.objects.pop(name, None) is not None else 404, "")
        each = "".join(f"<Contents><Key>{quote(n)}</Key><Size>{len(cloud.objects[n])}</Size><ETag>{self.tag(n)}</ETag></Contents>"
                       for n in sorted(cloud.objects) if n.startswith(query.get("prefix", "")))
        return self.answer(200, f"<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>{each}"
                           "</ListBucketResult>", "text/xml")

    do_DELETE = do_PUT

    def tag(self, name):
        cloud = self.server.cloud
        return '"CKih16GjycICEAE="' if name in cloud.composed else '"%s"' % hashlib.md5(cloud.objects[name]).hexdigest()


class Cloud:
    def __init__(self, access, secret):
        self.access, self.secret, self.token, self.oauth = access, secret, "the-session-token", "ya29.the-token"
        self.scope, self.busy, self.payer, self.throttle, self.imds_v1 = "", 0, None, 0, 0
        self.asked, self.lasts, self.deny, self.pod = [], 3600, None, "pod-token"
        self.objects, self.public, self.composed, self.parts = {}, False, set(), {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.cloud = self
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def start(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self
