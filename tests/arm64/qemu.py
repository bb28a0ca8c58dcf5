#!/usr/bin/env python3
"""tests/arm64/qemu.py COMMAND...: runs it where programs for 64-bit Arm start by their name, under qemu-user.

The command is in user and mount namespaces of its own with a binfmt_misc of their own (Linux 6.7): the
machine's stays as it is. All of the caller's users exist there. ./kftrainer is the program for Arm. Where
this is not possible the command does not run: "skip cross: WHY" goes to standard output and to RESULTS.
"""
import ctypes
import os
import pathlib
import shutil
import signal
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/aarch64/kftrainer"
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_BIND, MS_REC, MS_SLAVE = 4096, 16384, 1 << 19
PR_SET_PDEATHSIG = 1
# ELF of 64 bits, little-endian, e_type 2 or 3, e_machine 183; P: argv[0] stays, F: open the interpreter now.
MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
libc = ctypes.CDLL(None, use_errno=True)


def call(what, result):
    if result:
        raise OSError(f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind=None, flags=0):
    source, target = (str(x).encode() for x in (source, target))
    call(f"mount {target.decode()}", libc.mount(source, target, kind, flags, None))


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def map_ids(pid):
    """Each of our users and groups is itself."""
    for kind in ("gid", "uid"):
        if os.geteuid() == 0:
            with open(f"/proc/self/{kind}_map", encoding="ascii") as file:
                ranges = [line.split() for line in file]
            write(f"/proc/{pid}/{kind}_map", "".join(f"{inner} {inner} {count}\n" for inner, _, count in ranges))
        else:
            write(f"/proc/{pid}/setgroups", "deny")
            own = os.geteuid() if kind == "uid" else os.getegid()
            write(f"/proc/{pid}/{kind}_map", f"{own} {own} 1")


def enter(qemu, place, ready, mapped):
    """In the child: the namespaces, what they hold."""
    call("prctl", libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0))
    call("unshare", libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    os.write(ready, b"x")
    if os.read(mapped, 1) != b"x":
        raise OSError("the users cannot be mapped")
    mount("none", "/", flags=MS_REC | MS_SLAVE)
    mount("binfmt_misc", place, b"binfmt_misc")
    write(f"{place}/register", f":kftrainer-aarch64:M:0:{MAGIC}:{MASK}:{qemu}:FP")
    mount(PROGRAM, ROOT / "kftrainer", flags=MS_BIND)


def skip(why):
    line = f"skip cross: {why}"
    print(line, flush=True)
    if results := os.environ.get("RESULTS"):
        with open(results, "a", encoding="utf-8") as file:
            file.write(line + "\n")
    sys.exit(0)


def run(qemu, place, command):
    ready, mapped, failed = os.pipe(), os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for end in (ready[0], mapped[1], failed[0]):
                os.close(end)
            enter(qemu, place, ready[1], mapped[0])
            os.execvp(command[0], command)
        except OSError as e:
            os.write(failed[1], str(e).encode())
        finally:
            os._exit(1)
    for end in (ready[1], mapped[0], failed[1]):
        os.close(end)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda n, _: os.kill(pid, n))
    if os.read(ready[0], 1):
        try:
            map_ids(pid)
            os.write(mapped[1], b"x")
        except OSError as e:
            print(e, file=sys.stderr)
    os.close(mapped[1])
    why = os.read(failed[0], 1000).decode()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if why:
        skip(why)
    return status if status >= 0 else 128 - status


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[0])
    qemu = shutil.which("qemu-aarch64-static")
    if not qemu:
        skip("qemu-aarch64-static is not installed")
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="kft-binfmt-") as place:
        return run(qemu, place, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
