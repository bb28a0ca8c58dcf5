#!/usr/bin/env python3
"""Run a command on a terminal of its own, do what it asks for, and print what happened.

The command's output asks: "ready": Ctrl-C; "resize": another size; "type": a line and Ctrl-D;
"die": three times, the program is interrupted, terminated and killed, and the terminal checked.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

ROWS, COLUMNS = 33, 101


def size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def start(argv):
    pid, fd = pty.fork()
    if not pid:
        size(0, ROWS, COLUMNS)
        os.execvp(argv[0], argv)
    return pid, fd


class Session:
    def __init__(self, argv):
        self.pid, self.fd = start(argv)
        self.before = termios.tcgetattr(self.fd)
        self.text = b""

    def read(self, seconds=0.2):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            self.text += data
            return bool(data)
        return True

    def until(self, word):
        end = time.monotonic() + 60
        while word not in self.text and time.monotonic() < end:
            if not self.read():
                return False
        return word in self.text

    def end(self):
        while self.read():
            pass
        status = os.waitpid(self.pid, 0)[1]
        return os.waitstatus_to_exitcode(status)


def restored(argv, how):
    # The terminal outlives the program: this process leads its session.
    master, slave = pty.openpty()
    size(master, ROWS, COLUMNS)
    before = termios.tcgetattr(slave)
    pid = os.fork()
    if not pid:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(slave, fd)
        os.execvp(argv[0], argv)
    text = b""
    while b"die" not in text:
        text += os.read(master, 65536)
    assert termios.tcgetattr(slave) != before, "the terminal was not raw"
    os.kill(pid, how)
    os.waitpid(pid, 0)
    for _ in range(600):
        if termios.tcgetattr(slave) == before:
            return "restored"
        time.sleep(0.1)
    return "NOT RESTORED after " + how.name


argv = sys.argv[1:]
if "die" in argv[-1]:
    print(*[restored(argv, s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)])
    sys.exit(0)
s = Session(argv)
for word, act in ((b"ready", lambda: os.write(s.fd, b"\x03")), (b"resize", lambda: size(s.fd, 44, 122)),
                  (b"type", lambda: os.write(s.fd, b"a line\n\x04"))):
    if word.decode() in argv[-1] and s.until(word):
        act()
code = s.end()
sizes = re.findall(rb"(\d+ \d+)\r\n", s.text)
print("size", *[x.decode() for x in sizes], "code", code, s.text)
