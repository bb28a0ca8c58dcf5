#!/usr/bin/env python3
"""The GPU helper for 64-bit Arm, under qemu, with the stand-in of NVIDIA's libraries compiled for it.

qemu-user cannot start a program from memory, as kftrainer does: the helper is started here, as gpu/helper.c has it.
"""
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True
from tap import check, finish

HELPER = ROOT / "build/aarch64/gpu-helper"
GLIBC = "/usr/aarch64-linux-gnu"
BUFFER, BUFFERS = 4096, 4
scratch = tempfile.TemporaryDirectory()
wire = (ROOT / "gpu/wire.h").read_text()
SHARED = eval(re.search(r"GPU_SHARED_SIZE = ([0-9* ]+),", wire)[1])
VERSION = int(re.search(r"GPU_WIRE_VERSION = (0x[0-9a-f]+)", wire)[1], 16)
OPS = re.findall(r"GPU_OP_(\w+)\b", wire.split("enum gpu_op {")[1].split("};")[0])
DONE = 0


class Helper:
    def __init__(self):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.shared = os.memfd_create("shared")
        os.ftruncate(self.shared, SHARED + BUFFER * BUFFERS)
        # Descriptors 3 and 4: the shell puts them there.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" 3<&{theirs.fileno()} 4<>/proc/self/fd/{self.shared}', HELPER], pass_fds=(theirs.fileno(), self.shared),
            env={**os.environ, "QEMU_LD_PREFIX": GLIBC, "QEMU_SET_ENV": f"LD_LIBRARY_PATH={scratch.name}", "STANDIN": "devices=2"})
        theirs.close()
        self.seq = 0

    def ask(self, op, device=0, *args, data=b""):
        self.seq += 1
        args = (*args, 0, 0, 0)[:3]
        self.socket.send(struct.pack("<4I3Q128s", VERSION, self.seq, 1 + OPS.index(op), device, *args, data))
        reply = self.socket.recv(1 << 18)
        version, seq, status, size = struct.unpack_from("<4I", reply)
        if (version, seq, 16 + size) != (VERSION, self.seq, len(reply)):
            raise RuntimeError(reply)
        return status, json.loads(reply[16:])


subprocess.run([ROOT / "tests/gpu/build.sh", scratch.name], check=True, env={**os.environ, "CC": "aarch64-linux-gnu-gcc"})
helper = Helper()
status, said = helper.ask("SYSTEM")
check("it finds the libraries and asks them", None if (status, said.get("devices")) == (DONE, 2) else (status, said))
status, said = helper.ask("DEVICE", 1)
check("a device's properties", None if status == DONE and "Stand-in" in said.get("name", "") else (status, said))
status, said = helper.ask("MEMORY", 1, 1 << 20, 2)
check("bytes go to a device and back", None if status == DONE else (status, said))
# mmap(2) takes offsets of whole pages alone, which qemu-user does not look at.
check("a feed's buffers lie where a page of 64 KiB can begin", SHARED % 65536)
status, said = helper.ask("FEED_OPEN", 1, BUFFER, BUFFERS)
check("... and are mapped", None if status == DONE and len(said["ranks"]) == 1 else (status, said))
status, said = helper.ask("FEED_CLOSE")
check("... and given back", None if status == DONE else (status, said))
helper.socket.close()
check("it ends with its socket", helper.process.wait())
finish()
