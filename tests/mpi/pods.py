"""Pods as namespaces: each an address and a name, in a network that nothing leaves."""
import ctypes
import os
import subprocess
import tempfile

CLONE_NEWNET = 0x40000000
# In namespaces of the pod's own: its hosts file, its name, nothing of this machine's in /run.
ENTER = ["unshare", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
         "sh", "-ec", 'mount --bind "$0" /etc/hosts; hostname "$1"; shift; mount -t tmpfs tmpfs /dev/shm; exec "$@"']


def ip(*args):
    subprocess.run(["ip", *args], check=True)


class Pod:
    def __init__(self, network, name, hostname, address):
        self.name, self.hostname, self.address, self.network = name, hostname, address, network
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
                                       stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.net = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]
        link = f"v{self.holder.pid}"
        ip("link", "add", link, "master", "br0", "type", "veth", "peer", "name", "eth0", "netns", str(self.holder.pid))
        ip("link", "set", link, "up")
        for words in (["link", "set", "lo", "up"], ["addr", "add", f"{address}/16", "dev", "eth0"],
                      ["link", "set", "eth0", "up"]):
            subprocess.run([*self.net, "ip", *words], check=True)

    def popen(self, *argv, **options):
        """Its processes end with it, as with a container's first."""
        return subprocess.Popen([*self.net, *ENTER, self.network.hosts_file, self.hostname, *argv], **options)

    def end(self):
        self.holder.kill()
        self.holder.wait()


class Network:
    """This process moves into it: make one before there are threads."""

    def __init__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare: a network namespace")
        ip("link", "set", "lo", "up")
        ip("link", "add", "br0", "type", "bridge")
        ip("link", "set", "br0", "up")
        self.hosts_file = tempfile.mktemp(prefix="mpi-hosts-")
        self.pods = {}
        self.names = {}

    def add(self, name, hostname, *names):
        address = f"10.87.0.{len(self.pods) + 2}"
        self.pods[name] = Pod(self, name, hostname, address)
        with open(self.hosts_file, "a") as f:
            if len(self.pods) == 1:
                f.write("127.0.0.1 localhost\n")
            f.write(f"{address} {' '.join(names)}\n")
        return self.pods[name]

    def end(self):
        for pod in self.pods.values():
            pod.end()
        if os.path.exists(self.hosts_file):
            os.unlink(self.hosts_file)
