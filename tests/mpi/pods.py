"""
Pods as namespaces: each an address and a name, in a network that nothing leaves.

A pod has one neighbor, the router that it shares with all others: a table of all pods in each of them would
be more than a machine keeps (net.ipv4.neigh.default.gc_thresh3, one for all its namespaces).
"""
import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000
ROUTER = "10.87.255.254"
ROUTES = [("ip_forward", "1"), ("conf/all/send_redirects", "0"), ("conf/br0/send_redirects", "0")]
# In namespaces of the pod's own: its hosts file, its name, and nothing of this machine's in memory.
DIE_WITH_US = ["setpriv", "--pdeathsig", "KILL"]
ENTER = ["unshare", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-ec",
         'mount --bind "$0" /etc/hosts; hostname "$1"; shift; mount -t tmpfs tmpfs /dev/shm; '
         'mount -t tmpfs tmpfs /run; mkdir /run/sshd; exec "$@"']


def ip(*args):
    subprocess.run(["ip", *args], check=True)


def enter_network():
    """This process moves into a network of its own: call it before there are threads."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare: a network namespace")
    ip("link", "set", "lo", "up")
    ip("link", "add", "br0", "type", "bridge")
    ip("addr", "add", ROUTER + "/16", "dev", "br0")
    ip("link", "set", "br0", "up")
    for name, value in ROUTES:
        with open("/proc/sys/net/ipv4/" + name, "w") as f:
            f.write(value)


class Pod:
    count = 0

    def __init__(self, hosts_file, hostname, *names):
        Pod.count += 1
        self.address = f"10.87.{Pod.count >> 7}.{(Pod.count & 127) + 1}"
        self.hosts_file, self.hostname = hosts_file, hostname
        self.holder = subprocess.Popen([*DIE_WITH_US, "unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
                                       stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.net = f"/proc/{self.holder.pid}/ns/net"
        link = f"v{self.holder.pid}"
        ip("link", "add", link, "master", "br0", "type", "veth", "peer", "name", "eth0",
           "netns", str(self.holder.pid))
        ip("link", "set", link, "up")
        subprocess.run(["nsenter", f"--net={self.net}", "sh", "-ec",
                        f"ip link set lo up; ip addr add {self.address}/32 dev eth0; ip link set eth0 up; "
                        f"ip route add {ROUTER} dev eth0; ip route add default via {ROUTER}"], check=True)
        with open(hosts_file, "a") as f:
            f.write(f"{self.address} {hostname} {' '.join(names)}\n")

    def popen(self, *argv, **options):
        """A container: all of its processes end with what this returns."""
        return subprocess.Popen([*DIE_WITH_US, "nsenter", f"--net={self.net}", *ENTER, self.hosts_file, self.hostname, *argv],
                                **options)

    def pids(self, *names):
        """Its processes of these programs, as this machine numbers them."""
        mine = os.stat(self.net).st_ino
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.stat(f"/proc/{pid}/ns/net").st_ino != mine:
                    continue
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    program = f.read().split(b"\0")[0].decode(errors="replace")
            except OSError:
                continue
            if os.path.basename(program) in names:
                found.append(int(pid))
        return found

    def end(self):
        self.holder.kill()
        self.holder.wait()
