#!/usr/bin/env python3
"""vendor/chart.py PROGRAM VERSION OUTPUT: the Helm chart, a .tgz, from core/assets/chart.

Its folder files/ is what PROGRAM install prints, so there is one source of both. The same inputs
give the same bytes.
"""
import gzip
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "core/assets/chart/kftrainer"


def printed(program, *args):
    return subprocess.run([program, "install", *args], check=True, capture_output=True).stdout


def crds(program):
    """A line each; Helm shall not delete them, and all TrainJobs with them."""
    lines = []
    for crd in json.loads(printed(program, "--crds", "-o", "json"))["items"]:
        crd["metadata"].setdefault("annotations", {})["helm.sh/resource-policy"] = "keep"
        lines += ["---", json.dumps(crd, separators=(",", ":"), ensure_ascii=False)]
    return ("\n".join(lines) + "\n").encode()


def cache(program):
    """The rights in a namespace of this name, for the chart's own ones."""
    docs = printed(program, "--crds", "--cache-namespace", "cache-namespace", "-o", "yaml").split(b"\n---\n")
    return b"\n---\n".join(doc for doc in docs if b"kind: CustomResourceDefinition" not in doc)


def files(program, version):
    for path in sorted(SOURCE.rglob("*")):
        if path.is_file():
            text = path.read_bytes()
            if path.name == "Chart.yaml":
                text = text.replace(b"0.0.0", version.encode())
            yield str(path.relative_to(SOURCE)), text
    yield "files/controller.yaml", printed(program, "--controller", "--strict-rbac", "-o", "yaml")
    yield "files/cache.yaml", cache(program)
    yield "files/crds.yaml", crds(program)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.splitlines()[0])
    program, version, output = os.path.abspath(sys.argv[1]), *sys.argv[2:]
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in files(program, version):
            info = tarfile.TarInfo("kftrainer/" + name)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
    with open(output + ".new", "wb") as file:
        file.write(gzip.compress(text.getvalue(), 9, mtime=0))
    os.replace(output + ".new", output)
    print(f"{output}: {os.path.getsize(output) / 1e3:.0f} KB")


if __name__ == "__main__":
    main()
