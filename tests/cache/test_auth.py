#!/usr/bin/env python3
"""Bearer tokens of the data cache: who has the one in the file reads, nobody else does."""
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache", also="cache19")
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

from fleet import Fleet, Server
from tap import check, finish

scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-auth-"))
pq.write_table(pa.table({"i": range(1000)}), scratch / "t.parquet", row_group_size=100)
token = scratch / "token"
token.write_text("first.token\n")


def headers(*values):
    return flight.FlightCallOptions(headers=[(b"authorization", v) for v in values])


def read(fleet, options):
    rows = []
    with flight.FlightClient(fleet.head.uri) as client:
        info = client.get_flight_info(flight.FlightDescriptor.for_path("0", "1"), options)
    for endpoint in info.endpoints:
        with flight.FlightClient(endpoint.locations[0]) as client:
            rows += client.do_get(endpoint.ticket, options).read_all()["i"].to_pylist()
    return rows


def denied(call, text):
    try:
        call()
    except flight.FlightUnauthorizedError as e:
        return None if text in str(e) else e
    return "it was not refused"


def attacks(worker, *options, text="only the head may assign rows"):
    """Who may only read tries to assign rows."""
    with flight.FlightClient(worker.uri) as client:
        yield "assign", denied(lambda: list(client.do_action(flight.Action("assign", b'{"first": 0, "end": 1, "rows": 1000}'), *options)), text)
        yield "DoPut", denied(lambda: client.do_put(flight.FlightDescriptor.for_path(), pa.schema([("i", pa.int64())]), *options)[1].read(), text)


def refused(call, *secrets):
    try:
        call()
    except flight.FlightUnauthenticatedError as e:
        return f"a token in: {e}" if any(s in str(e) for s in ("first", "second", *secrets)) else None
    return "it was not refused"


with Fleet(scratch / "t.parquet", 2, args=("--token-file", token), head=("--token-file", token)) as fleet:
    check("the head reaches its workers with its token, a client reads with it",
          None if read(fleet, headers(b"Bearer first.token")) == list(range(1000)) else "wrong")
    info = flight.FlightDescriptor.for_path("0", "1")
    ticket = flight.Ticket(b"\0\1")
    for what, options in (("no token", headers()), ("another token", headers(b"Bearer first.tokem")), ("a longer token", headers(b"Bearer first.token2")),
                          ("no scheme", headers(b"first.token")), ("Basic", headers(b"Basic first.token")), ("an empty one", headers(b"Bearer"))):
        with flight.FlightClient(fleet.head.uri) as head, flight.FlightClient(fleet.workers[0].uri) as worker:
            check(f"{what}: UNAUTHENTICATED", refused(lambda: head.get_flight_info(info, options)) or refused(lambda: worker.do_get(ticket, options).read_all())
                  or refused(lambda: list(worker.do_action(flight.Action("assign", b'{"first": 0, "end": 1, "rows": 1}'), options))))
    for what, problem in attacks(fleet.workers[0], headers(b"Bearer first.token")):
        check(f"with a reader's token, {what} is denied", problem)
    check("and changes nothing", None if read(fleet, headers(b"Bearer first.token")) == list(range(1000)) else "wrong")
    check("/ready needs none", None if [s.ready()[0] for s in (fleet.head, *fleet.workers)] == [200] * 3 else "wrong")
    replaced = scratch / "token.new"
    replaced.write_text("second.token")
    replaced.rename(token)
    check("a token that is replaced: the new one counts", None if read(fleet, headers(b"Bearer second.token")) == list(range(1000)) else "wrong")
    check("and the old one does not", refused(lambda: read(fleet, headers(b"Bearer first.token"))))
    token.write_text("")
    check("an empty file changes nothing", None if read(fleet, headers(b"Bearer second.token")) == list(range(1000)) else "wrong")
    token.write_text("second.token")
    lines = [line for s in (fleet.head, *fleet.workers) for line in s.lines if line and "second" in line.replace("second.token: ", "")]
    check("no token in the logs", lines or None)

with Fleet(scratch / "t.parquet", 1) as fleet:
    for what, problem in attacks(fleet.workers[0]):
        check(f"without tokens, {what} is denied to all but the head", problem)

# Who knows the name of the header may still not assign: while a head calls, or without its token.
own = scratch / "head-token"
own.write_text("heads.own\n")
for args in ((), ("--head-token-file", own)):
    with Fleet(scratch / "t.parquet", 1, args=args, head=args) as fleet:
        for what, problem in attacks(fleet.workers[0], flight.FlightCallOptions(headers=[(b"kftrainer-head", b"Bearer mine")]), text="head"):
            check(f"{what} with a secret of one's own is denied {args and 'where the head has a token'}", problem)
        fleet.head.stop()
        fleet.head = fleet.start_head()
        fleet.wait()
        check("a head that starts again has its workers", None if read(fleet, headers()) == list(range(1000)) else "wrong")

worker = Server("worker", scratch / "t.parquet", "--token-file", token)
for what, problem in attacks(worker, headers(b"Bearer second.token")):
    check(f"with a reader's token, {what} is denied before a head calls", problem)
head = Server("head", scratch / "t.parquet", "--worker", f"127.0.0.1:{worker.port}")
said = head.wait_for(r"worker is not ready.*")[0]
check("a head without the token: its worker says what is missing", None if "bearer token is required" in said else said)
head.stop()
worker.stop()
for what, text in (("empty", ""), ("two words", "a b")):
    token.write_text(text)
    try:
        Server("worker", scratch / "t.parquet", "--token-file", token)
        check(f"a token file that is refused: {what}", "it started")
    except RuntimeError as e:
        check(f"a token file that is refused: {what}", None if "want one token" in str(e) else e)
shutil.rmtree(scratch)
finish()
