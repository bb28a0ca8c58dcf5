"""A supervisor of a test: its output is in a file, and it ends with the test."""
import os
import random
import signal
import subprocess

from servers import children, scratch

LIMIT_S = 120


class Text(str):
    """Also where it is empty it says what is wrong: `differ(got, want) and r.text`."""

    def __bool__(self):
        return True


class Supervised:
    def __init__(self, argv, env):
        self.out = scratch / f"out-{random.randrange(1 << 60)}"
        with open(self.out, "wb") as f:
            self.process = subprocess.Popen(argv, stdout=f, stderr=f, stdin=subprocess.DEVNULL, start_new_session=True, env=os.environ | env)
        children.append(self.process)

    def wait(self):
        try:
            return self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            return "it does not end"

    def kill(self):
        """As a node does that is lost: with all of its processes."""
        os.kill(self.process.pid, signal.SIGSTOP)
        for pid in subprocess.run(["ps", "--ppid", str(self.process.pid), "-o", "pid="], capture_output=True, text=True).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    @property
    def text(self):
        return Text(self.out.read_text())


def differ(got, want):
    return "" if got == want else f"got {got!r}\nexpected {want!r}"
