#!/usr/bin/env python3
"""tests/e2e/torch_layer.py OUTPUT: Python, PyTorch, Open MPI, OpenSSH and a shell: the nodes' images.
tests/e2e/torch_layer.py --key: what decides its bytes, as lines

Nothing is downloaded: its files are those of Debian packages that tests/setup.sh has installed
here, and the shared libraries that they load (ldd). OUTPUT is the tar of an image's layer.
"""
import os
import subprocess
import sys
import tarfile
import tempfile

# What a person expects in a container, PyTorch with what it imports, Open MPI and OpenSSH.
PACKAGES = """base-files bash dash coreutils sed grep procps libc-bin hostname mawk findutils
python3 python3-minimal python3.11 python3.11-minimal libpython3-stdlib libpython3.11-minimal
libpython3.11-stdlib python3-torch python3-numpy python3-typing-extensions python3-yaml python3-six
python3-future python3-pkg-resources libtorch1.13 netbase libc6
openmpi-bin openmpi-common libopenmpi3 libpmix2 openssh-server openssh-client""".split()
LEFT_OUT = ("/usr/share/doc/", "/usr/share/man/", "/usr/share/locale/", "/usr/share/lintian/",
            "/usr/include/", "/usr/lib/python3/dist-packages/torch/test/",
            "/usr/lib/python3/dist-packages/torch/include/", "/usr/share/info/")
# Debian 12 merges /usr: these links are no package's.
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
TEXTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\nmpiuser:x:1000:1000::/home/mpiuser:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nmpiuser:x:1000:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
    # As images for MPI have it: the nodes' port, any host.
    "etc/ssh/ssh_config": "Port 2222\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n",
}
FOLDERS = {"tmp": 0o1777, "root": 0o700, "home": 0o755, "home/mpiuser": 0o1777, "proc": 0o755, "sys": 0o755, "dev": 0o755, "run": 0o755}


def lines(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False).stdout.splitlines()


def package_files():
    """Every file that dpkg knows of them, by the name it has once links of folders are resolved."""
    files = set()
    for line in lines("dpkg", "-L", *PACKAGES):
        if line.startswith(LEFT_OUT) or not os.path.lexists(line):
            continue
        folder, base = os.path.split(line)
        files.add(os.path.join(os.path.realpath(folder), base))
    return files


def chain(path):
    """A path, and where it leads link by link."""
    while True:
        yield path
        if not os.path.islink(path):
            return
        target = os.path.join(os.path.dirname(path), os.readlink(path))
        folder, base = os.path.split(os.path.normpath(target))
        path = os.path.join(os.path.realpath(folder), base)


def is_elf(path):
    if not os.path.isfile(path) or os.path.islink(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(files):
    elves = [file for file in sorted(files) if is_elf(file)]
    for line in lines("ldd", *elves):
        words = line.split()
        path = words[2] if "=>" in words and len(words) > 2 else words[0] if words else ""
        if path.startswith("/") and not path.endswith(":") and os.path.lexists(path):
            folder, base = os.path.split(path)
            yield from chain(os.path.join(os.path.realpath(folder), base))


def content():
    files = package_files()
    # Links that Debian's alternatives make: BLAS among them, which libraries() follows.
    files |= {"/usr/bin/awk", "/etc/alternatives/awk"}
    files |= {step for file in files if os.path.islink(file) for step in chain(file)
              if os.path.lexists(step)}
    files |= set(libraries(files))
    return sorted(file for file in files if os.path.islink(file) or os.path.isfile(file)
                  if file.lstrip("/") not in TEXTS)


def add_text(tar, name, text):
    data = text.encode()
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        tar.addfile(info, file)


def write_layer(path):
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, mode in FOLDERS.items():
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, mode
            tar.addfile(info)
        for name, target in LINKS.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
        for file in content():
            info = tar.gettarinfo(file, file.lstrip("/"))
            if info.islnk():  # names of one file: each its own
                info.type, info.size = tarfile.REGTYPE, os.path.getsize(file)
            info.uid = info.gid = info.mtime = 0
            info.uname = info.gname = ""
            if info.isreg():
                with open(file, "rb") as data:
                    tar.addfile(info, data)
            else:
                tar.addfile(info)
        for name, text in TEXTS.items():
            add_text(tar, name, text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--key":
        print("\n".join(sorted(lines("dpkg-query", "-W", *PACKAGES))))
    else:
        write_layer(sys.argv[1])
