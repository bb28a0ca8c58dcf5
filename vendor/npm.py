#!/usr/bin/env python3
"""vendor/npm.py SOURCES OUTPUT: write the files that vendor/npm.lock takes of packages into the folder OUTPUT.

Packages are in the folder SOURCES, or in sources/ beside this script (`make sources`), or come from the registry
that npm is configured with: the public one without npm. One counts only if its sha256 is the lock's.
"""
import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PUBLIC = "https://registry.npmjs.org/"
MAX = 16 << 20


def entries():
    """(name, version, file, sha256, license, {path in the package: name}) of each line of the lock."""
    for line in (HERE / "npm.lock").read_text().splitlines():
        if line and not line.startswith("#"):
            *entry, license, rest = line.split(" ", 5)
            yield *entry, license, dict(word.split("=") for word in rest.split(" "))


def registry():
    if not shutil.which("npm"):
        return PUBLIC
    said = subprocess.run(["npm", "config", "get", "registry"], capture_output=True, text=True, check=False)
    return said.stdout.strip().rstrip("/") + "/" if said.stdout.startswith("http") else PUBLIC


def fetch(name, file):
    url = f"{registry()}{name}/-/{file}"
    print(f"vendor: fetching {file}", file=sys.stderr)
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read(MAX)
    except OSError as e:
        sys.exit(f"vendor: {file} cannot be downloaded from the npm registry: {e}; try again, or put it into vendor/sources/")


def package(sources, name, file, sha256):
    """Its bytes, which are kept in `sources`."""
    for path in (sources / file, HERE / "sources" / file):
        if path.is_file():
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() == sha256:
                return data
    data = fetch(name, file)
    if hashlib.sha256(data).hexdigest() != sha256:
        sys.exit(f"vendor: {file} is not what vendor/npm.lock says: nothing of it is used")
    sources.mkdir(parents=True, exist_ok=True)
    replace(sources / file, data)
    return data


def replace(path, data):
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_bytes(data)
    new.replace(path)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    sources, output = map(pathlib.Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    for name, _, file, sha256, _, files in entries():
        with tarfile.open(fileobj=io.BytesIO(package(sources, name, file, sha256))) as tar:
            for path, to in files.items():
                replace(output / to, tar.extractfile("package/" + path).read())


if __name__ == "__main__":
    main()
