#!/usr/bin/env python3
"""tests/e2e/oci.py NAME OUTPUT COMMAND [KEY=VALUE]... LAYER...: an image for `ctr`.

OUTPUT is an OCI image layout (github.com/opencontainers/image-spec, image-layout.md) in a tar.
COMMAND is what it runs unless told otherwise, KEY=VALUE are variables. Layers are copied through, whatever their size.
"""
import hashlib
import io
import json
import platform
import sys
import tarfile

OCI = "application/vnd.oci.image."
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def blob(tar, media_type, file):
    """Adds it under its checksum."""
    digest = hashlib.sha256()
    for part in iter(lambda: file.read(1 << 20), b""):
        digest.update(part)
    info = tarfile.TarInfo("blobs/sha256/" + digest.hexdigest())
    info.size = file.tell()
    file.seek(0)
    tar.addfile(info, file)
    return {"mediaType": OCI + media_type, "digest": "sha256:" + digest.hexdigest(),
            "size": info.size}


def text(value):
    return io.BytesIO(json.dumps(value).encode())


def write(name, output, command, variables, files):
    machine = {"architecture": MACHINES[platform.machine()], "os": "linux"}
    with tarfile.open(output, "w") as tar:
        layers = []
        for file in files:
            with open(file, "rb") as data:
                layers.append(blob(tar, "layer.v1.tar", data))
        config = blob(tar, "config.v1+json", text({
            **machine,
            "config": {"Env": [PATH, *variables], "Cmd": [command]},
            "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
        }))
        manifest = blob(tar, "manifest.v1+json", text({
            "schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
            "config": config, "layers": layers}))
        index = {"schemaVersion": 2, "manifests": [{
            **manifest, "platform": machine,
            "annotations": {"io.containerd.image.name": name}}]}
        for path, value in (("index.json", index), ("oci-layout", {"imageLayoutVersion": "1.0.0"})):
            data = text(value)
            info = tarfile.TarInfo(path)
            info.size = len(data.getvalue())
            tar.addfile(info, data)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    rest = sys.argv[4:]
    write(*sys.argv[1:4], [word for word in rest if "=" in word],
          [word for word in rest if "=" not in word])
