#!/usr/bin/env python3
"""Local jobs where the kernel is old, or a filter of system calls (seccomp) hides what it has, as in containers."""
import ctypes
import errno
import os
import shutil
import struct
import subprocess
import tempfile

from examples import PROGRAM
from tap import check, finish, skip

# The same numbers on x86-64 and 64-bit Arm.
CALLS = {"pidfd_send_signal": 424, "open_tree": 428, "move_mount": 429, "fsopen": 430, "pidfd_open": 434,
         "clone3": 435, "close_range": 436, "openat2": 437, "faccessat2": 439, "mount_setattr": 442}
LOAD, EQUAL, RETURN, ALLOW, ERRNO = 0x20, 0x15, 0x06, 0x7FFF0000, 0x50000
NO_NEW_PRIVS, SET_SECCOMP, FILTER, UNAME26 = 38, 22, 2, 0x20000
NEW_USER, NOBODY = 0x10000000, 54321
libc = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def hide(calls, number, old):
    """From this process on, `calls` fail with that errno; `old`: uname(2) says Linux 2.6."""
    code = [(LOAD, 0, 0, 0)]
    for call in calls:
        code += [(EQUAL, 0, 1, CALLS[call]), (RETURN, 0, 0, ERRNO | number)]
    raw = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *op) for op in [*code, (RETURN, 0, 0, ALLOW)]))
    program = Program(len(code) + 1, ctypes.addressof(raw))
    if old:
        libc.personality(UNAME26)
    if libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def run(home, calls, number, *args, old=False):
    return subprocess.run([PROGRAM, *args], text=True, capture_output=True,
                          check=False, stdin=subprocess.DEVNULL, env={**os.environ, "HOME": home, "XDG_STATE_HOME": home},
                          preexec_fn=lambda: hide(calls, number, old))


def submit(home, calls, number, **how):
    return run(home, calls, number, "submit", "--local", "--runtime", "torch-distributed", "--name", "j", "--", "echo", "hello", **how)


def complete(done, isolated):
    if done.returncode or "hello" not in done.stdout:
        return done
    return None if ("no namespaces on this machine" in done.stderr) == (not isolated) else done


def too_old(done):
    lines = done.stderr.splitlines()
    good = len(lines) == 1 and "this machine has Linux 2.6." in lines[0] and lines[0].endswith(": local jobs need 5.3 or later")
    return None if done.returncode == 1 and good else done


with tempfile.TemporaryDirectory() as home:
    try:
        isolated = "no namespaces" not in submit(home, [], 0).stderr
    except (OSError, subprocess.SubprocessError) as e:
        skip("filters of system calls", e)
        finish()
    for why in (errno.ENOSYS, errno.EPERM):
        name = errno.errorcode[why]
        for calls in (["pidfd_open"], ["clone3"], ["close_range", "openat2", "faccessat2", "mount_setattr", "fsopen"]):
            check(f"{name} from {' '.join(calls)}", complete(submit(home, calls, why), isolated))
        for call in ("open_tree", "move_mount"):
            check(f"{name} from {call}: without namespaces", complete(submit(home, [call], why), False))
with tempfile.TemporaryDirectory() as home:
    check("Linux before 5.3: submit --local is one line", too_old(submit(home, ["pidfd_open"], errno.ENOSYS, old=True)))
    check("... controller --local, too", too_old(run(home, ["pidfd_open"], errno.ENOSYS, "controller", "--local", "--idle", "1s", old=True)))
    check("... nothing is written", os.listdir(home))
    done = run(home, ["pidfd_open"], errno.ENOSYS, "submit", "--dry-run=client", "--runtime", "torch-distributed", "--name", "j", "--", "true", old=True)
    check("... what is for a cluster runs", done if done.returncode else None)


def forbidden(home):
    """What an ordinary user sees in a user namespace in which no others may be made."""
    program = shutil.copy(PROGRAM, home)
    (begun, begins), (mapped, maps) = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        try:
            if libc.unshare(NEW_USER):  # the setting is that of the namespace: of this machine, without one
                os._exit(98)
            os.write(begins, b"x")
            os.read(mapped, 1)
            with open("/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as f:
                f.write("0")
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            out = os.open(home + "/out", os.O_WRONLY | os.O_CREAT, 0o600)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.execve(program, [program, "submit", "--local", "--runtime", "torch-distributed", "--", "echo", "hello"],
                      {"PATH": "/usr/bin:/bin", "HOME": home})
        finally:
            os._exit(99)
    os.read(begun, 1)
    for ids in ("uid_map", "gid_map"):
        with open(f"/proc/{pid}/{ids}", "w", encoding="ascii") as f:
            f.write("0 0 65536")
    os.write(maps, b"x")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with open(home + "/out", encoding="utf-8") as f:
        said = f.read()
    good = "no namespaces on this machine (user.max_user_namespaces=0): pods see" in said and "hello" in said
    return None if not status and good else (status, said)


if os.geteuid() or subprocess.run(["unshare", "-U", "true"], capture_output=True, check=False).returncode:
    skip("the setting that forbids namespaces is named", "needs root")
else:
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        check("the setting that forbids namespaces is named, and the job runs without", forbidden(home))
finish()
