#!/usr/bin/env python3
"""s3:// and gs://, and export-model: against versitygw over TLS, against moto, through a proxy
that breaks things, and with stand-ins for what hands out credentials."""
import base64
import hashlib
import json
import os
import pathlib
import random
import shutil
import ssl
import subprocess
import sys
import time
import zlib
from urllib.parse import quote

sys.path[:0] = [str(p) for p in pathlib.Path(__file__).resolve().parents[:2]]
sys.dont_write_bytecode = True
import aws
import faulty
from servers import PROGRAM, ROOT, answers, free_port, output, scratch, start, versitygw
from tap import check, finish, skip, trust_nobody

ACCESS, SECRET = "AKIDTESTTESTTEST", "SecretSecretSecret/Secret+Secret"


venv, gateway = output(ROOT / "tests/setup.sh", "venv", "s3"), versitygw()
if not venv or not os.path.exists(venv + "/.done") or not gateway:
    skip("s3", "versitygw or moto is not installed: tests/setup.sh store")
    finish()
sys.path.insert(0, next(str(p) for p in pathlib.Path(venv).glob("lib/python3*/site-packages")))
trust_nobody()
os.environ.update(AWS_EC2_METADATA_DISABLED="true", NO_PROXY="*", no_proxy="*")
import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config


# ---- running it ----
def run(*argv, env=None, **more):
    base = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    base |= {"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(scratch / "home"), "NO_GCE_CHECK": "true"}
    base = {k: str(v) for k, v in (base | (env or {})).items() if v is not None}
    r = subprocess.run([PROGRAM, *map(str, argv)], env=base, capture_output=True, text=True, timeout=600, **more)
    r.text = r.stdout + r.stderr
    if SECRET in r.text or "ya29" in r.text or "the-session-token" in r.text:
        r.text, r.returncode = "A SECRET WAS SHOWN\n" + r.text.replace(SECRET, "SECRET"), 99
    return r


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in pathlib.Path(folder).rglob("*")
            if p.is_file() and ".kftrainer" not in p.parts}


def differs(folder, want):
    got = files_of(folder)
    return "" if got == want else f"files: {sorted(got)}\nwanted: {sorted(want)}\ndifferent: " + \
        str(sorted(k for k in got if k in want and got[k] != want[k]))


def fetch(uri, want, env, status=0, keep=False, argv=()):
    """Problem or ''; `want`: the files, or what the complaint is like."""
    to = scratch / "to"
    if not keep:
        shutil.rmtree(to, ignore_errors=True)
    r = run("initialize-dataset", "--uri", uri, "--to", to, *argv, env=env)
    if r.returncode != status:
        return f"status {r.returncode}: {r.text}"
    if status == 0:
        return differs(to, want)
    return "" if all(w in r.text for w in want) and not files_of(to) else f"{want} not in: {r.text}"


def sends(folder, uri, env, status=0, want="", argv=()):
    r = run("export-model", folder, "--uri", uri, *argv, env=env)
    return "" if r.returncode == status and want in r.text else f"status {r.returncode}, wanted {want!r}: {r.text}"


# ---- the servers, and what is in them ----
def certificates():
    def openssl(*argv):
        subprocess.run(["openssl", *argv], cwd=scratch, check=True, capture_output=True)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    (scratch / "ext").write_text("subjectAltName=DNS:localhost,DNS:*.localhost\n")
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=tests", "-days", "2")
    openssl("req", *curve, "-keyout", "srv.key", "-out", "srv.csr", "-subj", "/CN=localhost")
    openssl("x509", "-req", "-in", "srv.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "srv.pem", "-days", "2", "-extfile", "ext")


rng = random.Random(1)
BIG = rng.randbytes(21_000_001)
SMALL = {name: f"hello {name}".encode() for name in
         ("a.txt", "sub/b c+d \u00e9.txt", "\u00fcn\u00ef/%41&='.bin", "sub/deep/~x.json", "quote\"<>.txt", " led by", "ends with ")}
SHARP = {k: k.encode() for k in ("x", "q?a=b", "a b", "a%20b", "100%", "a+b;c", "\u65e5&@$.txt", "it's(1)!*~")}
FOLDER = SMALL | {"empty": b"", "big": BIG, "big1": BIG, "odd": BIG}


def client(url, region):
    return boto3.client("s3", endpoint_url=url, aws_access_key_id=ACCESS, aws_secret_access_key=SECRET,
                        region_name=region, verify=str(scratch / "ca.pem"),
                        config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 8},
                                      request_checksum_calculation="when_required"))


def fill(s3, region):
    where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3.create_bucket(Bucket="buck", **where)
    for name, data in SMALL.items():
        s3.put_object(Bucket="buck", Key="data/" + name, Body=data)
    for key in ("data2/x", "data-old.txt", "one.txt"):
        s3.put_object(Bucket="buck", Key=key, Body=b"other")
    for key, data in SHARP.items():
        s3.put_object(Bucket="buck", Key="c#/" + key, Body=data)
    s3.put_object(Bucket="buck", Key="c/x", Body=b"plain")
    s3.put_object(Bucket="buck", Key="data/", Body=b"")
    s3.put_object(Bucket="buck", Key="data/empty", Body=b"")
    (scratch / "big").write_bytes(BIG)
    for name, size in (("big", 5 * 2**20 + 1), ("big1", 64 * 2**20)):
        s3.upload_file(str(scratch / "big"), "buck", "data/" + name, Config=TransferConfig(multipart_chunksize=size))
    upload = dict(Bucket="buck", Key="data/odd")
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    cuts, parts = (0, 6 << 20, 11 << 20, len(BIG)), []
    for i in (1, 2, 3):
        answer = s3.upload_part(**upload, PartNumber=i, Body=BIG[cuts[i - 1]:cuts[i]])
        parts.append({"PartNumber": i, "ETag": answer["ETag"]})
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})


certificates()
https, http, moto_port = free_port(), free_port(), free_port()
(scratch / "root").mkdir()
common = ("--access", ACCESS, "--secret", SECRET, "--region", "eu-test-1", "--keep-alive", "--quiet")
for started in (
        start(https, gateway, "--port", f"127.0.0.1:{https}", "--cert", scratch / "srv.pem", "--key", scratch / "srv.key",
              "--virtual-domain", f"localhost:{https}", *common, "posix", scratch / "root"),
        start(http, gateway, "--port", f"127.0.0.1:{http}", *common, "posix", scratch / "root"),
        start(moto_port, venv + "/bin/moto_server", "-H", "127.0.0.1", "-p", str(moto_port))):
    answers(*started)
URL, MOTO = f"https://localhost:{https}", f"http://127.0.0.1:{moto_port}"
s3, moto = client(URL, "eu-test-1"), client(MOTO, "us-east-1")
fill(s3, "eu-test-1")
fill(moto, "us-east-1")
MANY = {f"{i:05}": b"x%d" % i for i in range(2345)}
(scratch / "root/buck/many").mkdir()
for name, data in MANY.items():
    (scratch / "root/buck/many" / name).write_bytes(data)
TLS = {"ENDPOINT": URL, "SSL_CERT_FILE": scratch / "ca.pem"}
ENV = TLS | {"ACCESS_KEY_ID": ACCESS, "SECRET_ACCESS_KEY": SECRET}
MENV = {"ENDPOINT": MOTO, "ACCESS_KEY_ID": ACCESS, "SECRET_ACCESS_KEY": SECRET}

# ---- listing and fetching ----
check("a prefix is a folder: not data2/, not data-old.txt; parts even and odd; region found out",
      fetch("s3://buck/data", FOLDER, ENV))
check("unchanged files are not fetched again", "" if "; 0 B fetched" in
      run("initialize-dataset", "--uri", "s3://buck/data", "--to", scratch / "to", env=ENV).text else "it is")
check("a prefix with a slash", fetch("s3://buck/data/", FOLDER, ENV | {"REGION": "eu-test-1"}))
check("a wrong region is corrected", fetch("s3://buck/data/sub/deep", {"~x.json": SMALL["sub/deep/~x.json"]},
                                           ENV | {"AWS_REGION": "ap-other-7"}))
check("one object", fetch("s3://buck/one.txt", {"one.txt": b"other"}, ENV))
check("blanks in the URI", fetch("s3://buck/data/sub/b c+d \u00e9.txt", {"b c+d \u00e9.txt": SMALL["sub/b c+d \u00e9.txt"]}, ENV))
for server, env in (("versitygw", ENV), ("moto", MENV)):
    check(server + ": a prefix with # in it", fetch("s3://buck/c#", SHARP, env))
    check(server + ": and the one beside it", fetch("s3://buck/c", {"x": b"plain"}, env))
    for key, data in SHARP.items():
        check(f"{server}: the key c#/{ascii(key)}", fetch("s3://buck/c#/" + key, {key: data}, env))
check("one object of parts", fetch("s3://buck/data/odd", {"odd": BIG}, ENV))


def held_against(env):
    """What the manifest says a large object was verified by."""
    problem = fetch("s3://buck/data/big1", {"big1": BIG}, env)
    return problem or next(p.read_text() for p in (scratch / "to/.kftrainer").iterdir() if p.name.startswith("manifest"))


check("a large object by the checksum that S3 has made", "" if "crc64nvme:" in held_against(ENV) else "not by it")
check("and by its ETag without one", "" if "md5-parts:" in (held := held_against(MENV)) else held)
check("2,345 objects, three pages", fetch("s3://buck/many", MANY, ENV))
check("the bucket in the host's name",
      fetch("s3://buck/data", FOLDER, ENV | {"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"}))
check("patterns are matched against the whole key",
      fetch("s3://buck/data", {k: v for k, v in FOLDER.items() if not k.startswith("big") and k != "a.txt"},
            ENV | {"IGNORE_PATTERNS": "data/b*, data/a.txt,sub/*"}))
for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"):
    check("the endpoint of " + name, fetch("s3://buck/one.txt", {"one.txt": b"other"},
                                           ENV | {"ENDPOINT": None, name: URL}))
check("an endpoint without a scheme is https", fetch("s3://buck/one.txt", {"one.txt": b"other"},
                                                     ENV | {"ENDPOINT": URL[len("https://"):]}))
check("moto: the same folder", fetch("s3://buck/data", FOLDER, MENV))
for i in range(1005):
    moto.put_object(Bucket="buck", Key=f"pages/{i}&+ x", Body=b"%d" % i)
check("moto: more than a page of names that need escaping",
      fetch("s3://buck/pages", {f"{i}&+ x": b"%d" % i for i in range(1005)}, MENV))

NAMES = {"back\\slash/a\\b.txt": b"1", "good": b"2", "a///b": b"3", "//lead": b"4", "end//": b""}
WHOLE = {"back\\slash/a\\b.txt": b"1", "good": b"2", "a/b": b"3", "lead": b"4"}
for k, v in {**NAMES, "x" * 256: b"5"}.items():
    moto.put_object(Bucket="buck", Key="names/" + k, Body=v)
check("moto: keys with a backslash are names, empty parts are none, others are left out", fetch("s3://buck/names", WHOLE, MENV))
check("... and named", "" if (r := run("initialize-dataset", "--uri", "s3://buck/names", "--to", scratch / "to", env=MENV)).text.count("skipped: ") == 1
      and "x" * 256 in r.text and "; 0 B fetched" in r.text else r.text)
check("... of a prefix that has one", fetch("s3://buck/names/a//", {"b": b"3"}, MENV) or fetch("s3://buck/names//", {"lead": b"4"}, MENV))
check("... by its own key", fetch("s3://buck/names/a///b", {"b": b"3"}, MENV))
for k in ("twice/a/b", "twice/a//b"):
    moto.put_object(Bucket="buck", Key=k, Body=b"1")
check("... of two keys that are one file, none is taken", fetch("s3://buck/twice", ["lists 'a/b' twice"], MENV, status=1))
moto.put_object(Bucket="buck", Key="models/one/pytorch_model.bin", Body=b"weights")
moto.put_object(Bucket="buck", Key="models/one/config.json", Body=b"{}")
for uri, names, argv in (("models/one/pytorch_model.bin", ["pytorch_model.bin"], ()), ("models/one", ["config.json", "pytorch_model.bin"], ()),
                         ("models/one", ["config.json"], ("--ignore", "*.bin"))):
    shutil.rmtree(scratch / "to", ignore_errors=True)
    r = run("initialize-model", "--uri", "s3://buck/" + uri, "--to", scratch / "to", *argv, env=MENV)
    check(f"moto: the weights of a model: {uri} {' '.join(argv)}", "" if sorted(files_of(scratch / "to")) == names else r.text)


class Answers(aws.Handler):
    """One answer for all: a page of a listing with one key, or a refusal."""
    status, text = 200, ""

    def do_GET(self):
        self.answer(Answers.status, Answers.text, "application/xml")
    do_HEAD = do_GET


liar = aws.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
aws.threading.Thread(target=liar.serve_forever, daemon=True).start()
LIAR = ENV | {"ENDPOINT": "http://127.0.0.1:%d" % liar.server_address[1]}
for key in ("evil/d/../../../out.txt", "evil/..", "evil//..//x", "evil//../x", "evil/./x", "evil/n\nl",
            "evil/" + "x" * 256, "evil/\ud800"):
    Answers.text = ("<ListBucketResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType><Contents><Key>"
                    + quote(key.encode("utf-8", "surrogatepass")) + "</Key><Size>5</Size></Contents></ListBucketResult>")
    check("refused: a key " + ascii(key)[:40], fetch("s3://buck/evil", ["invalid file name"], LIAR, status=1) or
          ("written outside" if (scratch / "out.txt").exists() or (scratch.parent / "out.txt").exists() else ""))
for what, text in (("no XML", "hello"), ("half of it", "<ListBucketResult><Contents>"), ("nothing", ""),
                   ("a page of something else", "<html/>"), ("a list that does not go on",
                    "<L><IsTruncated>true</IsTruncated></L>"), ("a size that is none",
                    "<L><Contents><Key>evil/a</Key><Size>-1</Size></Contents><IsTruncated>false</IsTruncated></L>"),
                   ("entities", "<!DOCTYPE l [<!ENTITY a 'aaaa'>]><L><Contents><Key>&a;</Key></Contents></L>")):
    Answers.text = text
    check("no listing: " + what, fetch("s3://buck/evil", [], LIAR, status=1))

Answers.text = "<?xml version='1.0'?><Error><Code>InternalError</Code><Message>try again later</Message></Error>"
check("a 200 with an Error in it is an error", fetch("s3://buck/evil", ["InternalError", "try again later"], LIAR, status=1))
check("nor is it an empty folder to upload to", sends(scratch / "root/buck/many", "s3://buck/evil/", LIAR, 1, "InternalError"))


class V1(aws.Handler):
    """A server that knows ListObjects only, two keys a page."""
    keys, deaf = {f"v1/{name}": name.encode() for name in ("a", "b c", "d+e", "f", "g")}, False

    def do_GET(self):
        url = aws.urlsplit(self.path)
        query = {k: v[0] for k, v in aws.parse_qs(url.query).items()}
        if "list-type" not in query:
            return self.answer(200, V1.keys[aws.unquote(url.path)[len("/buck/"):]])
        names = [k for k in sorted(V1.keys) if V1.deaf or k > query.get("marker", "")]
        return self.answer(200, f"<L><IsTruncated>{str(len(names) > 2).lower()}</IsTruncated><EncodingType>url</EncodingType>" + "".join(
            f"<Contents><Key>{quote(k)}</Key><Size>{len(V1.keys[k])}</Size></Contents>" for k in names[:2]) + "</L>", "text/xml")


v1 = aws.ThreadingHTTPServer(("127.0.0.1", 0), V1)
aws.threading.Thread(target=v1.serve_forever, daemon=True).start()
V1ENV = ENV | {"ENDPOINT": "http://127.0.0.1:%d" % v1.server_address[1]}
check("a list in pages without tokens, of a server that knows ListObjects only",
      fetch("s3://buck/v1", {k[3:]: v for k, v in V1.keys.items()}, V1ENV))
V1.deaf = True
check("... which does not go on", fetch("s3://buck/v1", ["truncated, but without a continuation token"], V1ENV, status=1))


class Encrypted(aws.Handler):
    """A bucket whose ETags are no sums."""
    fields, data = {}, b"encrypted"

    def do_GET(self):
        if "list-type" in self.path:
            return self.answer(200, "<L><IsTruncated>false</IsTruncated><Contents><Key>e/x</Key><ETag>"
                               + "0" * 32 + "</ETag><Size>9</Size></Contents></L>", "application/xml")
        first, last = (self.headers.get("Range") or "bytes=0-8")[6:].split("-")
        data = self.data[int(first):int(last) + 1]
        self.send_response(206 if self.headers.get("Range") else 200)
        if self.headers.get("Range"):
            self.send_header("Content-Range", f"bytes {first}-{last}/9")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_HEAD(self):
        self.send_response(200)
        for k, v in ({"Content-Length": "9", "ETag": '"' + "0" * 32 + '"'} | Encrypted.fields).items():
            self.send_header(k, v)
        self.end_headers()


kms = aws.ThreadingHTTPServer(("127.0.0.1", 0), Encrypted)
aws.threading.Thread(target=kms.serve_forever, daemon=True).start()
CRC64, CRC32 = "x-amz-checksum-crc64nvme", "x-amz-checksum-crc32"
CRC64_RIGHT = "5hCRonB9fC4="  # of b"encrypted", by the definition, a bit at a time
RIGHT, WRONG = (base64.b64encode(hashlib.sha256(x).digest()).decode() for x in (b"encrypted", b"other"))
for what, fields, good in (("a wrong ETag", {}, False), ("KMS", {"x-amz-server-side-encryption": "aws:kms"}, True),
                           ("a customer's key", {"x-amz-server-side-encryption-customer-algorithm": "AES256"}, True),
                           ("SSE-S3, whose ETags are sums", {"x-amz-server-side-encryption": "AES256"}, False),
                           ("KMS and the right SHA-256", {"x-amz-server-side-encryption": "aws:kms",
                                                          "x-amz-checksum-sha256": RIGHT}, True),
                           ("KMS and a wrong one", {"x-amz-server-side-encryption": "aws:kms",
                                                    "x-amz-checksum-sha256": WRONG}, False),
                           ("KMS and the right CRC-64/NVME", {"x-amz-server-side-encryption": "aws:kms", CRC64: CRC64_RIGHT}, True),
                           ("KMS and a wrong one", {"x-amz-server-side-encryption": "aws:kms", CRC64: "AAAAAAAAAAA="}, False),
                           ("KMS and the right CRC-32", {"x-amz-server-side-encryption": "aws:kms",
                                                         CRC32: base64.b64encode(zlib.crc32(b"encrypted").to_bytes(4, "big")).decode()}, True),
                           ("KMS and a wrong one", {"x-amz-server-side-encryption": "aws:kms", CRC32: "AAAAAA=="}, False),
                           ("KMS and a CRC-32 of parts", {"x-amz-server-side-encryption": "aws:kms", CRC32: "AAAAAA==",
                                                          "x-amz-checksum-type": "COMPOSITE"}, True)):
    Encrypted.fields = fields
    env = ENV | {"ENDPOINT": "http://127.0.0.1:%d" % kms.server_address[1]}
    check("ETags: " + what, fetch("s3://buck/e", {"x": b"encrypted"} if good else ["x"], env, status=0 if good else 1))

subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other", "-keyout", "/dev/null",
                "-out", scratch / "other.pem"], check=True, capture_output=True)
BUNDLE = ENV | {"SSL_CERT_FILE": None, "AWS_CA_BUNDLE": scratch / "ca.pem"}
check("AWS_CA_BUNDLE says whom to trust", fetch("s3://buck/data", FOLDER, BUNDLE))
check("unless SSL_CERT_FILE does", fetch("s3://buck/data", FOLDER, ENV | {"AWS_CA_BUNDLE": "/none"}))
check("and for an upload", sends(scratch / "ca.pem", "s3://buck/ca.pem", BUNDLE))
NOBODY = ENV | {"SSL_CERT_FILE": None}
for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
    check(name + " says whom to trust", fetch("s3://buck/one.txt", {"one.txt": b"other"}, NOBODY | {name: scratch / "ca.pem"}))
    check("... unless SSL_CERT_FILE does", fetch("s3://buck/one.txt", {"one.txt": b"other"}, ENV | {name: "/none"}))
    check("... or AWS_CA_BUNDLE", fetch("s3://buck/one.txt", {"one.txt": b"other"}, BUNDLE | {name: scratch / "other.pem"}))
# As a ConfigMap or a Secret is mounted: links, and what is no PEM beside them.
mounted = scratch / "mounted"
(mounted / "..data").mkdir(parents=True)
(mounted / "..data/corp.crt.txt").write_bytes((scratch / "ca.pem").read_bytes().rstrip())
(mounted / "corp.crt.txt").symlink_to("..data/corp.crt.txt")
(mounted / "a.der").write_bytes(b"\x30\x82\0\0")
(mounted / "a.fifo").symlink_to("/none")
for env in ({"SSL_CERT_DIR": f"/none:{mounted}"}, {"REQUESTS_CA_BUNDLE": mounted}, {"SSL_CERT_FILE": scratch / "other.pem", "SSL_CERT_DIR": mounted}):
    check("a directory of certificates: " + " ".join(env), fetch("s3://buck/one.txt", {"one.txt": b"other"}, NOBODY | env))
check("... unless AWS_CA_BUNDLE says whom to trust", fetch("s3://buck/one.txt", ["untrusted CA", "AWS_CA_BUNDLE"], BUNDLE | {
    "AWS_CA_BUNDLE": scratch / "other.pem", "SSL_CERT_DIR": mounted}, status=1, argv=["--retries", 1]))

# ---- refusals in words ----
for what, uri, env, words, *status in (
        ("no object", "s3://buck/nope", {}, ["no object 'nope'"]),
        ("no bucket", "s3://nobucket/x", {}, ["no such bucket", "ENDPOINT"]),
        ("no bucket in the URI", "s3:///x", {}, ["BUCKET"], 2),
        ("a wrong secret", "s3://buck/data", {"SECRET_ACCESS_KEY": "wrong"}, ["SECRET_ACCESS_KEY"]),
        ("an unknown key", "s3://buck/data", {"ACCESS_KEY_ID": "AKIDOTHER"}, ["access key ID"]),
        ("half a key", "s3://buck/data", {"SECRET_ACCESS_KEY": None}, ["counterpart"]),
        ("nobody", "s3://buck/data", {"ACCESS_KEY_ID": None, "SECRET_ACCESS_KEY": None},
         ["access denied without credentials", "ACCESS_KEY_ID"]),
        ("a certificate that is not trusted", "s3://buck/data", {"SSL_CERT_FILE": None},
         ["untrusted CA", "SSL_CERT_FILE", TLS["ENDPOINT"].split("/")[2]]),
        ("another authority", "s3://buck/data", BUNDLE | {"AWS_CA_BUNDLE": scratch / "other.pem"},
         ["untrusted CA", "AWS_CA_BUNDLE"]),
        ("a bundle that is not there", "s3://buck/data", NOBODY | {"REQUESTS_CA_BUNDLE": "/none"}, ["REQUESTS_CA_BUNDLE: no such file"], 2),
        ("no authority", "s3://buck/data", BUNDLE | {"AWS_CA_BUNDLE": "/none"}, ["AWS_CA_BUNDLE: no such file"], 2),
        ("an endpoint that is none", "s3://buck/data", {"ENDPOINT": "ftp://x"}, ["ENDPOINT"], 2)):
    check("in words: " + what, fetch(uri, words, ENV | env, status=(status or [1])[0], argv=["--retries", 1]))
broken = faulty.Server(upstream=f"http://127.0.0.1:{http}").start()
BENV = ENV | {"ENDPOINT": f"http://127.0.0.1:{broken.port}"}


def faults(text):
    broken.faults.set(text)
    broken.records.clear()


skewed = ("<?xml version='1.0'?><Error><Code>RequestTimeTooSkewed</Code><Message>m</Message>"
          "<ServerTime>2020-01-01T00:00:00Z</ServerTime></Error>")
Answers.status, Answers.text = 403, skewed
check("in words: a clock that is wrong",
      fetch("s3://buck/data/", ["clock", "ahead of"], LIAR, status=1))

Answers.status, Answers.text = 301, ("<Error><Code>PermanentRedirect</Code><Message>m</Message><Endpoint>s3.us-west-1.wasabisys.com</Endpoint></Error>")
check("in words: a bucket that is elsewhere", fetch("s3://buck/data/", ["at another endpoint: s3.us-west-1.wasabisys.com; check ENDPOINT"], LIAR, status=1))

# ---- faults ----
for what, line in (("a connection cut in the middle", "/buck/data/big cut=300000 3"),
                   ("500 and 503", "/buck/data/* status=503 4\n/buck* status=500 1"),
                   ("429 with Retry-After", "/buck/data/a* status=429,1 1"),
                   ("flipped bytes once", "/buck/data/a.txt flip=3 1"),
                   ("flipped bytes of a part once", "/buck/data/big flip=70000 1"),
                   ("a server that ignores ranges", "/buck/data/big norange"),
                   ("a short answer", "/buck/data/big1 short=100 1")):
    faults(line)
    check("through: " + what, fetch("s3://buck/data", FOLDER, BENV))
def asked_twice():
    for _ in range(40):  # what was asked is noted after the answer
        if len(broken.records) >= 2:
            break
        time.sleep(0.05)
    return len(broken.records) == 2


faults("/buck status=503")
check("a list that is always refused: as often as --retries says",
      fetch("s3://buck/data", ["s3://buck", "503", "tried 2 times"], BENV, status=1, argv=["--retries", 1]) or
      ("" if asked_twice() else f"asked {broken.records}"))
faults("")
problem = fetch("s3://buck/data", FOLDER, BENV, argv=["--no-verify"])
check("not verified: no HEAD for a checksum", problem or
      next((f"asked {r}" for r in broken.records if r["method"] == "HEAD"), ""))
faults("/buck/data/a.txt flip=3")
check("bytes that are always flipped are an error", fetch("s3://buck/data/a.txt", ["a.txt", "checksum"], BENV, status=1))
problem = fetch("s3://buck/data/a.txt", {"a.txt": SMALL["a.txt"]}, BENV, argv=["--no-verify"])
check("unless verification is off", "" if "different: ['a.txt']" in problem else f"not damaged: {problem}")
check("a later run with verification gets the right ones", fetch("s3://buck/data/a.txt", {"a.txt": SMALL["a.txt"]}, ENV, keep=True))
faults("/buck/data/big flip=70000")
check("and so are those of an object of parts", fetch("s3://buck/data/big", ["big", "checksum"], BENV, status=1))


def killed():
    shutil.rmtree(scratch / "to", ignore_errors=True)
    broken.rate = 20_000_000
    faults("")
    for i in range(4):
        child = subprocess.Popen([PROGRAM, "initialize-dataset", "--uri", "s3://buck/data/big", "--to", scratch / "to",
                                  "--connections", "2"], env=os.environ | {k: str(v) for k, v in BENV.items()},
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.15 + 0.1 * rng.random())
        child.kill()
        child.wait()
        if (scratch / "to/big").exists() and (scratch / "to/big").read_bytes() != BIG:
            return "half a file under its name"
    broken.rate = 0
    return fetch("s3://buck/data/big", {"big": BIG}, BENV, keep=True)


check("killed at random moments it goes on", killed())

# ---- credentials ----
cloud = aws.Cloud(ACCESS, SECRET).start()
(scratch / "jwt").write_text("the.web.identity\n")
(scratch / "pod").write_text("pod-token\n")
(scratch / "home/.aws").mkdir(parents=True)
credentials = scratch / "home/.aws/credentials"


def with_keys(what, env, want, status=0, words=()):
    cloud.asked.clear()
    problem = fetch("s3://buck/one.txt", list(words) if status else {"one.txt": b"other"},
                    {"ENDPOINT": MOTO} | env, status=status)
    asked = [a[0] for a in cloud.asked]
    check("credentials: " + what, problem or ("" if asked == want else f"asked {cloud.asked}, wanted {want}"))
    return [a[1] for a in cloud.asked]


KEYS = {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET}
IRSA = {"AWS_WEB_IDENTITY_TOKEN_FILE": scratch / "jwt", "AWS_ENDPOINT_URL_STS": cloud.url + "/"}
POD = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": cloud.url + "/v1/credentials",
       "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": scratch / "pod"}
IMDS = {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": cloud.url + "/"}
with_keys("AWS_* with a session's token", KEYS | {"AWS_SESSION_TOKEN": "t"}, [])
got = with_keys("IRSA", IRSA | {"AWS_ROLE_ARN": "arn:aws:iam::1:role/a"}, ["AssumeRoleWithWebIdentity"])
check("IRSA: the token and the role are sent, unsigned", "" if got and got[0]["WebIdentityToken"] == "the.web.identity" and
      got[0]["RoleArn"].endswith("/a") and not got[0]["auth"] and got[0]["Version"] == "2011-06-15" else got)
with_keys("IRSA of ROLE_ARN alone", IRSA | {"ROLE_ARN": "arn:aws:iam::1:role/a"}, ["AssumeRoleWithWebIdentity"])
got = with_keys("ROLE_ARN on top of IRSA", IRSA | {"AWS_ROLE_ARN": "arn:aws:iam::1:role/a", "ROLE_ARN": "arn:aws:iam::2:role/b"},
                ["AssumeRoleWithWebIdentity", "AssumeRole"])
check("the second is signed for STS", "" if len(got) > 1 and "/sts/aws4_request" in (got[1]["auth"] or "") else got)
with_keys("ROLE_ARN on top of keys", KEYS | {"ROLE_ARN": "arn:aws:iam::2:role/b", "AWS_ENDPOINT_URL_STS": cloud.url}, ["AssumeRole"])
got = with_keys("EKS Pod Identity", POD, ["pod identity"])
check("Pod Identity: the token of the file", "" if got == ["pod-token"] else got)
tls = aws.ThreadingHTTPServer(("127.0.0.1", 0), aws.Handler)
tls.cloud, tls.daemon_threads, context = cloud, True, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(scratch / "srv.pem", scratch / "srv.key")
tls.socket = context.wrap_socket(tls.socket, server_side=True)
aws.threading.Thread(target=tls.serve_forever, daemon=True).start()
with_keys("a container's by https, with AWS_CA_BUNDLE", POD | {"AWS_CA_BUNDLE": scratch / "ca.pem", "AWS_CONTAINER_CREDENTIALS_FULL_URI":
                                                               "https://localhost:%d/v1/credentials" % tls.server_address[1]}, ["pod identity"])
cloud.busy = 1
with_keys("EKS Pod Identity, whose agent is busy", POD, ["pod identity"])
with_keys("IMDSv2", IMDS, ["imds token", "imds", "imds"])
for cloud.imds_v1 in (403, 404, 405):
    with_keys(f"IMDSv1, of a server that refuses to give a token with {cloud.imds_v1}", IMDS, ["imds token", "imds", "imds"])
with_keys("... unless that is disabled", IMDS | TLS | {"AWS_EC2_METADATA_V1_DISABLED": "true"}, ["imds token"], 1, ["without credentials"])
cloud.imds_v1 = 0
MODE = "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"
with_keys("IMDS: an endpoint that is set, whatever the mode", IMDS | {MODE: "IPv6"}, ["imds token", "imds", "imds"])
with_keys("IMDS: another mode", IMDS | {MODE: "hybrid"}, [], 1, [MODE, "'hybrid'", "expected IPv4 or IPv6"])
with_keys("own keys come first", KEYS | POD | IMDS, [])
credentials.write_text(f"[other]\naws_access_key_id = no\n\n[work]\naws_access_key_id={ACCESS}\n"
                       f"aws_secret_access_key = {SECRET}\n")
with_keys("a profile", {"AWS_PROFILE": "work"}, [])
with_keys("a profile that is not there", {"AWS_PROFILE": "none"}, [], 1, ["AWS_PROFILE"])
config = scratch / "home/.aws/config"
config.write_text(f"""[default]
region = eu-test-1
endpoint_url = {URL}
s3 =
    endpoint_url = http://127.0.0.1:1
    region = no
[profile keys]
aws_access_key_id = {ACCESS}
aws_secret_access_key = {SECRET}
endpoint_url = {MOTO}
[profile 'a role']
role_arn = arn:aws:iam::3:role/c
source_profile = keys
external_id = x1
role_session_name = me
[profile chain]
role_arn = arn:aws:iam::4:role/d
source_profile = a role
[profile self]
role_arn = arn:aws:iam::5:role/e
source_profile = self
aws_access_key_id = {ACCESS}
aws_secret_access_key = {SECRET}
[profile env]
role_arn = arn:aws:iam::6:role/f
credential_source = EcsContainer
[profile web]
role_arn = arn:aws:iam::7:role/g
web_identity_token_file = {scratch / "jwt"}
[profile loop]
role_arn = r
source_profile = pool
[profile pool]
role_arn = r
source_profile = loop
[profile lost]
role_arn = r
source_profile = nowhere
[profile program]
credential_process = /bin/false
[profile sso]
sso_session = corp
[sso-session corp]
sso_region = us-east-1
[profile by sso]
role_arn = r
source_profile = sso
[profile code]
role_arn = r
source_profile = keys
mfa_serial = arn:aws:iam::8:mfa/me
[profile by code]
role_arn = r
source_profile = code
[profile served]
aws_access_key_id = {ACCESS}
aws_secret_access_key = {SECRET}
role_arn = arn:aws:iam::9:role/h
source_profile = served
endpoint_url = http://127.0.0.1:1
services = local
[services local]
ec2 =
  endpoint_url = http://127.0.0.1:2
s3 =
  endpoint_url = {MOTO}
sts =
  endpoint_url = {cloud.url}
[profile trust]
aws_access_key_id = {ACCESS}
aws_secret_access_key = {SECRET}
endpoint_url = {URL}
ca_bundle = {scratch / "ca.pem"}
[profile mistrust]
endpoint_url = {URL}
ca_bundle = {scratch / "other.pem"}
[profile trustless]
endpoint_url = {URL}
ca_bundle = /none.pem
[profile no server]
endpoint_url = https://
[profile machine]
ec2_metadata_service_endpoint = {cloud.url}
ec2_metadata_service_endpoint_mode = ipv6
""")
STS = {"AWS_ENDPOINT_URL_STS": cloud.url}
check("config: region and endpoint of the profile", fetch("s3://buck/data", FOLDER, KEYS | {"SSL_CERT_FILE": scratch / "ca.pem"}))
check("config: of AWS_PROFILE, with its keys", fetch("s3://buck/data", FOLDER, {"AWS_PROFILE": "keys"}))
check("config: the variables come first", fetch("s3://buck/data", FOLDER, ENV | {"AWS_PROFILE": "keys"}))
got = with_keys("a profile's role by another's keys", STS | {"AWS_PROFILE": "a role"}, ["AssumeRole"])
check("config: with its session's name and external ID",
      "" if got and (got[0]["RoleSessionName"], got[0]["ExternalId"], got[0]["RoleArn"][-1]) == ("me", "x1", "c") else got)
got = with_keys("a role by a role", STS | {"AWS_PROFILE": "chain"}, ["AssumeRole", "AssumeRole"])
check("config: in that order", "" if [a["RoleArn"][-1] for a in got] == ["c", "d"] else got)
with_keys("a role by the profile's own keys", STS | {"AWS_PROFILE": "self"}, ["AssumeRole"])
with_keys("a role by the pod's", STS | POD | {"AWS_PROFILE": "env"}, ["pod identity", "AssumeRole"])
with_keys("a role by a web identity", STS | {"AWS_PROFILE": "web"}, ["AssumeRoleWithWebIdentity"])
with_keys("a role without the pod's", STS | {"AWS_PROFILE": "env"}, [], 1, ["profile env", "EcsContainer", "no key"])
with_keys("roles in a circle", STS | {"AWS_PROFILE": "loop"}, [], 1, ["is it a loop"])
with_keys("a source that is not there", STS | {"AWS_PROFILE": "lost"}, [], 1, ["source_profile 'nowhere'", "no such profile"])
with_keys("a program that is not run", {"AWS_PROFILE": "program"}, [], 1, ["'program'", "credential_process", "AWS_ACCESS_KEY_ID"])
with_keys("SSO", {"AWS_PROFILE": "sso"}, [], 1, ["'sso'", "SSO"])
with_keys("a role by SSO", {"AWS_PROFILE": "by sso"}, [], 1, ["'by sso'", "SSO", "aws configure export-credentials"])
for name in ("code", "by code"):
    with_keys("a role with MFA", STS | {"AWS_PROFILE": name}, [], 1,
              [f"profile '{name}' uses a role with mfa_serial", "aws configure export-credentials"])
with_keys("MFA does not matter where there are others", POD | {"AWS_PROFILE": "code"}, ["pod identity"])
with_keys("nor for AWS_*", KEYS | {"AWS_PROFILE": "code"}, [])
with_keys("services of a profile: endpoints of s3 and sts", {"ENDPOINT": None, "AWS_PROFILE": "served"}, ["AssumeRole"])
with_keys("AWS_DEFAULT_PROFILE", {"ENDPOINT": None, "AWS_DEFAULT_PROFILE": "served"}, ["AssumeRole"])
with_keys("AWS_PROFILE comes before it", {"ENDPOINT": None, "AWS_DEFAULT_PROFILE": "code", "AWS_PROFILE": "keys"}, [])
with_keys("AWS_DEFAULT_PROFILE that is not there", {"AWS_DEFAULT_PROFILE": "none"}, [], 1, ["AWS_DEFAULT_PROFILE 'none'"])
check("config: variables come before services", fetch("s3://buck/one.txt", ["127.0.0.1:1"], STS | {
    "AWS_PROFILE": "served", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, status=1, argv=["--retries", 1]))
FILES = KEYS | {"SSL_CERT_FILE": None}
TRUST = {"AWS_PROFILE": "trust", "SSL_CERT_FILE": None}
check("config: ca_bundle says whom to trust", fetch("s3://buck/data", FOLDER, TRUST))
check("config: and for an upload", sends(scratch / "ca.pem", "s3://buck/ca.pem", TRUST))
check("config: unless SSL_CERT_FILE does", fetch("s3://buck/one.txt", ["ca_bundle of profile mistrust"], FILES | {
    "AWS_PROFILE": "mistrust"}, status=1) or fetch("s3://buck/one.txt", {"one.txt": b"other"}, FILES | {
        "AWS_PROFILE": "mistrust", "SSL_CERT_FILE": scratch / "ca.pem"}))
check("config: or AWS_CA_BUNDLE", fetch("s3://buck/one.txt", {"one.txt": b"other"}, FILES | {
    "AWS_PROFILE": "mistrust", "AWS_CA_BUNDLE": scratch / "ca.pem"}))
check("config: a ca_bundle that is not there", fetch("s3://buck/one.txt", ["ca_bundle of profile trustless: no such file: /none.pem"], FILES | {
    "AWS_PROFILE": "trustless"}, status=2))
check("config: an invalid endpoint_url", fetch("s3://buck/one.txt", ["the profile's endpoint_url: "], FILES | {
    "AWS_PROFILE": "no server"}, status=2))
with_keys("a profile's endpoint of IMDS", {"AWS_EC2_METADATA_DISABLED": "false", "AWS_PROFILE": "machine"}, ["imds token", "imds", "imds"])
with_keys("... unless a variable has another", IMDS | {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1", "AWS_PROFILE": "machine"} | TLS,
          [], 1, ["without credentials"])
with_keys("neither matters where there are others", POD | {"AWS_PROFILE": "sso"}, ["pod identity"])
with_keys("AWS_CONFIG_FILE", {"AWS_CONFIG_FILE": "/none", "AWS_PROFILE": "keys"}, [], 1, ["AWS_PROFILE 'keys'", "/none"])
with_keys("a profile and no home", {"HOME": None, "AWS_PROFILE": "keys"}, [], 1, ["AWS_PROFILE 'keys'", "~/.aws/config"])
config.unlink()
cloud.deny = "AccessDenied"
with_keys("STS says no", IRSA | {"AWS_ROLE_ARN": "arn:aws:iam::1:role/a"}, ["AssumeRoleWithWebIdentity"], 1, ["trust policy"])
cloud.deny, cloud.throttle = None, 2
with_keys("STS that throttles, with status 400", IRSA | {"AWS_ROLE_ARN": "arn:aws:iam::1:role/a"}, ["AssumeRoleWithWebIdentity"] * 3)
cloud.throttle = 99
problem = fetch("s3://buck/one.txt", ["STS answers 400 Throttling: Rate exceeded"], {"ENDPOINT": MOTO} | IRSA | {
    "AWS_ROLE_ARN": "arn:aws:iam::1:role/a"}, status=1, argv=["--retries", 1])
check("... for ever: an error, in its words", problem)
cloud.throttle, cloud.pod = 0, "another"
with_keys("Pod Identity says no", POD, ["pod identity"], 1, ["Pod Identity agent"])
cloud.pod = "pod-token"
with_keys("no token to strangers in the clear", POD | {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://10.0.0.1/x"}, [], 1,
          ["expected https"])
s3.put_bucket_policy(Bucket="buck", Policy=json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": "*", "Action": ["s3:GetObject", "s3:ListBucket"],
     "Resource": ["arn:aws:s3:::buck", "arn:aws:s3:::buck/*"]}]}))
with_keys("nobody: a public bucket, unsigned", TLS, [])
s3.delete_bucket_policy(Bucket="buck")
cloud.lasts = 60
asked = with_keys("a key that ends soon", IRSA | {"AWS_ROLE_ARN": "r"}, ["AssumeRoleWithWebIdentity"])
cloud.lasts = 3600

# ---- uploads ----
out = scratch / "m"
for name, data in (("sub/x.safetensors", BIG), ("config.json", b"{}"), ("empty", b""), ("b c+\u00e9.txt", b"x"),
                   ("exact", BIG[:8 * 2**20])):
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_bytes(data)
os.symlink("/etc/passwd", out / "link")
SENT = {k: v for k, v in files_of(out).items() if k != "link"}
for name, uri, env in (("versitygw", "s3://buck/out/m1", ENV), ("moto", "s3://buck/out/m1/", MENV)):
    check(name + ": a folder is sent, its link is left out", sends(out, uri, env, want="skipped link"))
    check(name + ": and comes back", fetch("s3://buck/out/m1", SENT, env))
    check(name + ": what is there is not sent again", sends(out, uri, env, want="; 0 B sent"))
    (out / "config.json").write_bytes(b"[]")
    check(name + ": what has changed is", sends(out, uri, env, want="; 2 B sent"))
    SENT["config.json"] = b"[]"
    check(name + ": and is right", fetch("s3://buck/out/m1", SENT, env))
    (out / "config.json").write_bytes(b"{}")
    SENT["config.json"] = b"{}"
for uri, env in (("s3://buck/up#1/m?a=b", ENV), ("s3://buck/up%20#/100%/", MENV)):
    check("a folder is sent to " + uri, sends(out, uri, env) or fetch(uri, SENT, env))
check("... and not beside it", [o["Key"] for s in (s3, moto) for p in ("up", "up ", "up%20")
                                for o in s.list_objects_v2(Bucket="buck", Prefix=p + "/").get("Contents", [])])
check("a file is sent to a key with # in it", sends(out / "config.json", "s3://buck/c#.json?x", ENV) or
      fetch("s3://buck/c#.json?x", {"c#.json?x": b"{}"}, ENV))
# What the user names may be a link, as --to of a download; what is below it is not followed.
linked = scratch / "linked"
linked.symlink_to(out)
check("a link to a directory is followed", sends(linked, "s3://buck/linked", ENV, want="skipped link") or fetch("s3://buck/linked", SENT, ENV))
check("... and one on the way there", sends(linked / "sub", "s3://buck/behind", ENV) or fetch("s3://buck/behind", {"x.safetensors": BIG}, ENV))
(scratch / "one").symlink_to(out / "config.json")
check("... and one to a file", sends(scratch / "one", "s3://buck/one.json", ENV) or fetch("s3://buck/one.json", {"one.json": b"{}"}, ENV))
(scratch / "nowhere").symlink_to(scratch / "none")
check("a link to nothing: an error", sends(scratch / "nowhere", "s3://buck/nowhere", ENV, 1, "nowhere: no such file or directory to upload"))
(scratch / "outside").mkdir()
shutil.rmtree(out / ".kftrainer", ignore_errors=True)
(out / ".kftrainer").symlink_to(scratch / "outside")
check("our own directory is not written through a link", sends(linked, "s3://buck/state", ENV) or
      [str(p) for p in (scratch / "outside").iterdir()] or fetch("s3://buck/state", SENT, ENV))
(out / ".kftrainer").unlink()


def resumed():
    broken.rate = 0
    faults("/buck/resume/x.safetensors* delay=0")
    env = os.environ | {k: str(v) for k, v in BENV.items()}
    child = subprocess.Popen([PROGRAM, "export-model", out / "sub", "--uri", "s3://buck/resume", "--connections", "1"],
                             env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(500):
        if sum(r["method"] == "PUT" for r in broken.records) >= 1:
            break
        time.sleep(0.01)
    child.kill()
    child.wait()
    time.sleep(0.5)
    faults("")
    problem = sends(out / "sub", "s3://buck/resume", BENV)
    puts = sum(r["method"] == "PUT" for r in broken.records)
    parts = -(-(out / "sub/x.safetensors").stat().st_size // (5 << 20))
    return problem or ("" if 0 < puts < parts else f"{puts} parts of {parts} were sent again")


check("an upload that was killed goes on: parts that are there are not sent again", resumed())
check("and is right", fetch("s3://buck/resume", {"x.safetensors": BIG}, ENV))
faults("/buck/flaky* status=503 3")
check("an upload through 503s", sends(out, "s3://buck/flaky", BENV) or fetch("s3://buck/flaky", SENT, ENV))
faults("/buck/flaky2* status=503")
check("an upload that is always refused: as often as --retries says",
      sends(out, "s3://buck/flaky2", BENV, 1, "tried 2 times", argv=["--retries", 1]))
broken.records.clear()
faults("/buck/signed/config.json status=503,2 1")
problem = sends(out, "s3://buck/signed", BENV, argv=["--allow", "config.json"])
for _ in range(600):  # the proxy takes its note behind the answer
    dates = [r["date"] for r in broken.records if r["path"] == "/buck/signed/config.json"]
    if len(dates) == 2:
        break
    time.sleep(0.1)
check("a retried upload is signed again", problem or ("" if len(dates) == len(set(dates)) == 2 else dates))
for name, env in (("versitygw", BENV),):
    broken.records.clear()
    faults("/buck/lost/x.safetensors lost=uploadId")
    problem = sends(out / "sub", "s3://buck/lost", env) or fetch("s3://buck/lost", {"x.safetensors": BIG}, ENV)
    posts = [r for r in broken.records if r["method"] == "POST"]
    check(name + ": a completion whose response is lost is not sent again", problem or ("" if len(posts) == 2 else posts))
faults("")


class Other(aws.Handler):
    """Its ETags of objects that were sent in parts are made in another way, as those of Alibaba's OSS."""
    parts, objects, late, short = {}, {}, 0, 0

    def do_PUT(self):
        url = aws.urlsplit(self.path)
        query = {k: v[0] for k, v in aws.parse_qs(url.query, keep_blank_values=True).items()}
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        head = {"Content-Length": 0}
        if self.command == "GET":
            return self.answer(200, "<L><IsTruncated>false</IsTruncated></L>", "text/xml")
        if self.command == "PUT" and Other.late:
            Other.late -= 1
            return self.answer(400, "<Error><Code>RequestTimeout</Code><Message>Idle connections will be closed.</Message></Error>", "text/xml")
        if "uploads" in query:
            return self.answer(200, "<R><UploadId>u1</UploadId></R>", "text/xml")
        if "partNumber" in query:
            Other.parts[int(query["partNumber"])] = data
            head["ETag"] = '"%s"' % hashlib.md5(data).hexdigest()
        elif self.command == "POST":
            sums = [hashlib.md5(data).hexdigest() for _, data in sorted(Other.parts.items())]
            tag = '"%s-%d"' % (hashlib.md5("".join(sums).encode()).hexdigest().upper(), len(sums))
            whole = b"".join(data for _, data in sorted(Other.parts.items()))
            Other.objects[url.path] = whole[:len(whole) - Other.short], tag
            return self.answer(200, f"<R><ETag>{tag}</ETag></R>", "text/xml")
        elif self.command == "HEAD" and url.path in Other.objects:
            head = {"Content-Length": len(Other.objects[url.path][0]), "ETag": Other.objects[url.path][1]}
        self.send_response(404 if self.command == "HEAD" and url.path not in Other.objects else 200)
        for k, v in head.items():
            self.send_header(k, str(v))
        self.end_headers()

    do_GET = do_HEAD = do_POST = do_DELETE = do_PUT


other = aws.ThreadingHTTPServer(("127.0.0.1", 0), Other)
aws.threading.Thread(target=other.serve_forever, daemon=True).start()
OTHER = ENV | {"ENDPOINT": "http://127.0.0.1:%d" % other.server_address[1]}
Other.late = 2
check("a server whose ETags of parts are others: sent, also through RequestTimeout with status 400", sends(out / "sub", "s3://buck/o", OTHER) or
      ("" if Other.objects["/buck/o/x.safetensors"][0] == BIG and not Other.late else "not all of it"))
Other.short = 1
check("... but not if bytes are missing", sends(out / "sub", "s3://buck/short", OTHER, 1, "its ETag or size does not match"))


def uploads(key):
    return [u["UploadId"] for u in s3.list_multipart_uploads(Bucket="buck").get("Uploads", []) if u["Key"] == key]


theirs = s3.create_multipart_upload(Bucket="buck", Key="adopt/x.safetensors")["UploadId"]
s3.upload_part(Bucket="buck", Key="adopt/x.safetensors", UploadId=theirs, PartNumber=1, Body=BIG[:5 << 20])
check("another program's multipart upload is left alone", sends(out / "sub", "s3://buck/adopt", ENV) or
      fetch("s3://buck/adopt", {"x.safetensors": BIG}, ENV) or ("" if uploads("adopt/x.safetensors") == [theirs] else "it was adopted"))
faults("/buck/refused/x.safetensors deny=partNumber=3")
check("a multipart upload that fails leaves no parts behind", sends(out / "sub", "s3://buck/refused", BENV, 1, "denied") or
      uploads("refused/x.safetensors"))
faults("/buck/away/x.safetensors status=503")
check("nor does a whole run", sends(out / "sub", "s3://buck/away", BENV, 1, "503", argv=["--retries", 1]) or
      uploads("away/x.safetensors"))
check("nothing of ours is left in the folder", "" if not list((out / "sub").rglob("uploads.jsonl")) else "uploads.jsonl is")
faults("")
check("patterns of an upload", sends(out, "s3://buck/some", ENV, argv=["--allow", "*.json"]) or
      fetch("s3://buck/some", {"config.json": b"{}"}, ENV))
check("one file, to just that key", sends(out / "sub/x.safetensors", "s3://buck/single/y.bin", ENV, want="20.0 MiB sent") or
      fetch("s3://buck/single", {"y.bin": BIG}, ENV))
check("and not again", sends(out / "sub/x.safetensors", "s3://buck/single/y.bin", ENV, want="; 0 B sent"))
check("one file needs a name there", sends(out / "config.json", "s3://buck/single/", ENV, 1, "KEY"))
check("an upload without the right to make it", sends(out, "s3://buck/no", ENV | {"SECRET_ACCESS_KEY": "x"}, 1, "SECRET_ACCESS_KEY"))
check("an upload of nothing", sends(scratch / "home/.aws/none", "s3://buck/no", ENV, 1, "no such file or directory"))
check("an upload to a scheme that takes none", sends(out, "https://buck/no", ENV, 1, "file:// or gs://"))
lines = run("export-model", out, "--uri", "s3://buck/json", "--progress", "json", env=ENV).stdout.splitlines()
check("an upload's progress as JSON", "" if lines and json.loads(lines[-1])["event"] == "done" and
      json.loads(lines[-1])["bytesDone"] == sum(map(len, SENT.values())) else lines[-3:])

# ---- gs:// ----
cloud.objects = {"data/" + k: v for k, v in SMALL.items()} | {"data2/x": b"no", "data/": b"", "one": b"1", "data/n.composed": b""}
cloud.objects |= {f"many/{i:04}": b"%d" % i for i in range(1500)}
GOOGLE = {"STORAGE_EMULATOR_HOST": cloud.url}
WANT = SMALL | {"n.composed": b""}
subprocess.run(["openssl", "genrsa", "-out", scratch / "rsa.pem", "2048"], check=True, capture_output=True)
(scratch / "sa.json").write_text(json.dumps({
    "type": "service_account", "client_email": "a@b.example", "private_key_id": "k1",
    "private_key": (scratch / "rsa.pem").read_text(), "token_uri": cloud.url + "/token"}))
ACCOUNT = GOOGLE | {"GOOGLE_APPLICATION_CREDENTIALS": scratch / "sa.json"}
cloud.asked.clear()
check("gs: a service account", fetch("gs://buck/data", WANT, ACCOUNT))


def jwt():
    form = dict(cloud.asked)["oauth"]
    head, claims, signature = form["assertion"].split(".")
    decoded = [base64.urlsafe_b64decode(x + "=" * (-len(x) % 4)) for x in (head, claims, signature)]
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding
    key = serialization.load_pem_private_key((scratch / "rsa.pem").read_bytes(), None)
    key.public_key().verify(decoded[2], f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
    said = json.loads(decoded[1])
    return "" if json.loads(decoded[0])["alg"] == "RS256" and said["iss"] == "a@b.example" and \
        said["aud"] == cloud.url + "/token" and said["exp"] - said["iat"] == 3600 else said


check("gs: its JWT is signed as RFC 7518 says", jwt())
check("gs: the metadata server", fetch("gs://buck/one", {"one": b"1"},
                                       GOOGLE | {"GCE_METADATA_HOST": cloud.url[7:], "NO_GCE_CHECK": None}))
late = aws.ThreadingHTTPServer(("127.0.0.1", 0), aws.Handler, bind_and_activate=False)
late.daemon_threads, late.cloud, cloud.busy = True, cloud, 1
late.server_bind()
timer = aws.threading.Timer(1, lambda: (late.server_activate(), late.serve_forever()))
timer.daemon = True
timer.start()
check("gs: GKE's, which refuses connections at first, and then is busy", fetch("gs://buck/one", {"one": b"1"}, GOOGLE | {
    "GCE_METADATA_HOST": "127.0.0.1:%d" % late.server_address[1], "NO_GCE_CHECK": None}))
check("gs: 1,500 objects, two pages", fetch("gs://buck/many", {f"{i:04}": b"%d" % i for i in range(1500)}, ACCOUNT))
check("gs: no credentials, of a bucket that is not public", fetch("gs://buck/data", ["GOOGLE_APPLICATION_CREDENTIALS"], GOOGLE, 1))
cloud.public = True
check("gs: no credentials, of a public one", fetch("gs://buck/data", WANT, GOOGLE))
check("gs: no object", fetch("gs://buck/none", ["no such object"], GOOGLE, 1))
cloud.objects |= {"parts//a///b": b"1", "parts///c": b"2"}
check("gs: a key with empty parts", fetch("gs://buck/parts", {"a/b": b"1", "c": b"2"}, GOOGLE))
cloud.objects["evil/../../x"] = b"x"
check("gs: a key that leads outside", fetch("gs://buck/evil", ["invalid file name"], GOOGLE, 1))
cloud.objects |= {"c#/" + k: v for k, v in SHARP.items()} | {"c/x": b"plain"}
check("gs: # in a prefix", fetch("gs://buck/c#", SHARP, ACCOUNT) or fetch("gs://buck/c", {"x": b"plain"}, ACCOUNT))
for key, data in SHARP.items():
    check("gs: the object c#/" + ascii(key), fetch("gs://buck/c#/" + key, {key: data}, ACCOUNT))
check("gs: HMAC keys, by S3's protocol, # in a prefix", fetch("gs://buck/c#", SHARP, MENV))
check("gs: HMAC keys, by S3's protocol", fetch("gs://buck/data", FOLDER, MENV))
cloud.public = False
check("gs: a folder is sent with a token, large files in parts", sends(out, "gs://buck/out/m1", ACCOUNT) or
      fetch("gs://buck/out/m1", SENT, ACCOUNT) or ("" if cloud.composed else "not in parts"))
cloud.asked.clear()
check("... what is there is not sent again, unless its sum is unknown", sends(out, "gs://buck/out/m1", ACCOUNT) or
      ("" if {n for what, n in cloud.asked if what == "PUT"} == cloud.composed else cloud.asked))
cloud.payer = "example.com:my-project-1"
PAYS = ACCOUNT | {"GOOGLE_CLOUD_QUOTA_PROJECT": cloud.payer}
check("gs: Requester Pays: who pays is asked for", fetch("gs://buck/one", ["set GOOGLE_CLOUD_QUOTA_PROJECT to the project"], ACCOUNT, 1) or
      sends(out, "gs://buck/paid", ACCOUNT, 1, "set GOOGLE_CLOUD_QUOTA_PROJECT to the project"))
check("... and named", fetch("gs://buck/one", {"one": b"1"}, PAYS) or sends(out, "gs://buck/paid", PAYS) or fetch("gs://buck/paid", SENT, PAYS))
check("... by a project's ID", fetch("gs://buck/one", ["GOOGLE_CLOUD_QUOTA_PROJECT: invalid"], PAYS | {"GOOGLE_CLOUD_QUOTA_PROJECT": "a\r\nb: c"}, 2))
cloud.payer = None
check("gs: an upload without credentials", sends(out, "gs://buck/no", GOOGLE, 1, "GOOGLE_APPLICATION_CREDENTIALS"))
cloud.oauth = "ya29.another"
check("gs: an upload to a bucket that is not there", sends(out, "gs://none/x", ACCOUNT, 1, "no such bucket"))
check("gs: an upload with HMAC keys", sends(out, "gs://buck/hmac", MENV) or fetch("gs://buck/hmac", SENT, MENV))
finish()
