#!/usr/bin/env python3
"""An API server that has one TrainJob and whose pods write logs, on loopback over TLS: for
the figure of `kftrainer logs -f`, and for faults that a real cluster does not have at hand.

usage: logserver.py FOLDER [--ranks N] [--rate LINES] [--seconds S] [--cut P] [--short]

Writes FOLDER/config, a kubeconfig, prints "ready", and ends when stdin does. Rank r has written
line i, "rank R line I ...", at start + i/rate seconds; several lines have one timestamp. The job
is complete after S seconds. --cut: each piece of an answer is the last one with that
probability, in the middle of a line, and a tenth of the calls get 503; --short: an answer
that is cut ends in order, as when an API server goes, but none of the last ones."""
import argparse
import asyncio
import calendar
import json
import os
import random
import ssl
import subprocess
import sys
import time
from urllib.parse import parse_qs, urlsplit

PAD = "loss 0.123456 accuracy 0.987654 step time 12.3 ms, and so on"
TICK = 0.1


class World:
    def __init__(self, args):
        self.args = args
        self.start = time.time() + 0.5
        self.end = self.start + args.seconds
        self.seen = {}

    def written(self):
        """How many lines each rank has by now."""
        return max(0, min(int((time.time() - self.start) * self.args.rate), self.args.seconds * self.args.rate))

    def over(self):
        return time.time() >= self.end

    def stamp_of(self, i):
        """Seconds and nanoseconds of line i: two lines have the same."""
        ns = int(self.start * 1e9) + (i // 2 * 2) * 1_000_000_000 // self.args.rate
        return divmod(ns, 1_000_000_000)

    def text(self, rank, first, last, stamps):
        lines, known, prefix = [], None, ""
        for i in range(first, last):
            if stamps:
                s, ns = self.stamp_of(i)
                if s != known:
                    known, prefix = s, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(s))
                lines.append(f"{prefix}.{ns:09d}Z rank {rank} line {i} {PAD}\n")
            else:
                lines.append(f"rank {rank} line {i} {PAD}\n")
        return "".join(lines).encode()

    def first_since(self, second):
        """The first line that is not older than that second."""
        i = max(0, int((second - self.start) * self.args.rate) - 4)
        while self.stamp_of(i)[0] < second:
            i += 1
        return i

    def job(self):
        status = {"jobsStatus": [{"name": "node", "ready": 1, "active": 1, "succeeded": 0, "failed": 0, "suspended": 0}]}
        if self.over():
            status = {"conditions": [{"type": "Complete", "status": "True", "reason": "AllJobsCompleted", "message": "",
                                      "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
        return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
                "metadata": meta("bench", "j", 2 if self.over() else 1),
                "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": self.args.ranks}},
                "status": status}

    def jobset(self):
        container = {"name": "node", "image": "i"}
        return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta("bench", "s", 1),
                "spec": {"replicatedJobs": [{"name": "node", "replicas": 1, "template": {
                    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                    "spec": {"parallelism": self.args.ranks, "completions": self.args.ranks, "completionMode": "Indexed",
                             "template": {"spec": {"containers": [container]}}}}}]}}

    def pods(self):
        for r in range(self.args.ranks):
            state = {"terminated": {"exitCode": 0, "reason": "Completed"}} if self.over() else {"running": {}}
            m = meta(f"bench-node-0-{r}-abcde", f"p{r}", 2 if self.over() else 1)
            m["labels"] = {"jobset.sigs.k8s.io/jobset-name": "bench", "jobset.sigs.k8s.io/replicatedjob-name": "node",
                           "batch.kubernetes.io/job-completion-index": str(r)}
            m["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "bench-node-0", "uid": "j",
                                     "controller": True}]
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": m, "spec": {"containers": [{"name": "node", "image": "i"}]},
                   "status": {"phase": "Succeeded" if self.over() else "Running",
                              "containerStatuses": [{"name": "node", "restartCount": 0, "state": state}]}}


def meta(name, uid, version):
    return {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(version),
            "creationTimestamp": "2026-01-01T00:00:00Z"}


class Cut(Exception):
    pass


class Answer:
    def __init__(self, world, writer):
        self.world, self.writer = world, writer

    async def begin(self, status="200 OK", kind="application/json"):
        self.writer.write(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())

    async def piece(self, data):
        if data:
            self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await self.writer.drain()

    async def end(self):
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def whole(self, doc, status="200 OK"):
        await self.begin(status)
        await self.piece(json.dumps(doc).encode())
        await self.end()

    async def watch(self, objects):
        await self.begin()
        world = self.world
        if not world.over():
            while not world.over():
                await asyncio.sleep(0.05)
            for obj in objects():
                await self.piece(json.dumps({"type": "MODIFIED", "object": obj}).encode() + b"\n")
        await asyncio.sleep(3600)

    async def log(self, rank, query):
        world = self.world
        stamps = query.get("timestamps") == ["true"]
        at = 0
        if "sinceTime" in query:
            at = world.first_since(calendar.timegm(time.strptime(query["sinceTime"][0], "%Y-%m-%dT%H:%M:%SZ")))
        elif "tailLines" in query:
            at = max(0, world.written() - int(query["tailLines"][0]))
        await self.begin(kind="text/plain")
        while True:
            over, last = world.over(), world.written()
            if last > at:
                data = world.text(rank, at, last, stamps)
                if random.random() < world.args.cut and not (over and world.args.short):
                    await self.piece(data[:random.randrange(len(data))])
                    if world.args.short:
                        break
                    raise Cut()
                await self.piece(data)
                at = last
            if over or query.get("follow") != ["true"]:
                break
            await asyncio.sleep(TICK)
        await self.end()

    async def list(self, kind, items):
        await self.whole({"kind": kind, "metadata": {"resourceVersion": "1"}, "items": items})

    async def take(self, target):
        world, url = self.world, urlsplit(target)
        query, parts = parse_qs(url.query), url.path.strip("/").split("/")
        watch = query.get("watch") == ["true"]
        if world.args.cut and parts[-1] == "log" and random.random() < 0.1:
            return await self.whole({"kind": "Status", "code": 503, "message": "no luck"}, "503 Service Unavailable")
        if parts[-1] == "log":
            return await self.log(int(parts[-2].split("-")[3]), query)
        if parts[-1] == "pods":
            return await (self.watch(world.pods) if watch else self.list("PodList", list(world.pods())))
        if parts[-1] == "trainjobs":
            return await (self.watch(lambda: [world.job()]) if watch else self.list("TrainJobList", [world.job()]))
        if parts[-2:] == ["trainjobs", "bench"]:
            return await self.whole(world.job())
        if parts[-2:] == ["jobsets", "bench"]:
            return await self.whole(world.jobset())
        return await self.whole({"kind": "Status", "code": 404, "message": f"{url.path} not found"}, "404 Not Found")


async def serve(world, reader, writer):
    try:
        while line := await reader.readline():
            while (await reader.readline()).strip():
                pass
            await Answer(world, writer).take(line.split()[1].decode())
    except (Cut, ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
        pass
    writer.transport.abort()


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/key",
                    "-out", f"{folder}/crt"], check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/crt", f"{folder}/key")
    return context


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--cut", type=float, default=0)
    parser.add_argument("--short", action="store_true")
    args = parser.parse_args()
    context = certificate(args.folder)
    world = World(args)
    server = await asyncio.start_server(lambda r, w: serve(world, r, w), "127.0.0.1", 0, backlog=1024, ssl=context)
    port = server.sockets[0].getsockname()[1]
    with open(f"{args.folder}/config", "w", encoding="ascii") as file:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "x",
                   "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                   "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{port}",
                                                          "certificate-authority": os.path.abspath(f"{args.folder}/crt")}}],
                   "users": [{"name": "u", "user": {"token": "t"}}]}, file)
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)

asyncio.run(main())
