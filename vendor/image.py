#!/usr/bin/env python3
"""vendor/image.py BINARY[,BINARY] VERSION OUTPUT: a container image FROM scratch, without a container engine.

In it: the program at /kftrainer, links to it by the names that upstream's data cache has (head,
worker), the certificates of the package ca-certificates (as installed here: they are what is
pinned there; nothing that this machine's owner added), a user 65532, and in /licenses our LICENSE
and NOTICE, the texts of the libraries that the program is linked with (build/licenses.txt: what
its `version --licenses` prints) and that of the certificates.
OUTPUT is an OCI image layout (github.com/opencontainers/image-spec, image-layout.md) in a tar
that `docker load` reads, too. The same inputs give the same bytes: times are SOURCE_DATE_EPOCH
or 0, nothing is compressed. CERTIFICATES names another bundle (PEM).
Of several programs, one for each processor, the image is an index; older versions of docker, which
know none, load one image for each: kftrainer:VERSION for amd64, kftrainer:VERSION-arm64.
"""
import datetime
import glob
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile

import artifact

CERTIFICATES = "/usr/share/ca-certificates/mozilla/*.crt"
USER = 65532
OCI = "application/vnd.oci.image."


def certificates():
    own = os.environ.get("CERTIFICATES")
    files = [own] if own else sorted(glob.glob(CERTIFICATES))
    pem = b"".join(open(file, "rb").read().rstrip(b"\n") + b"\n" for file in files)
    if b"BEGIN CERTIFICATE" not in pem:
        sys.exit("vendor/image.py: no certificates; install ca-certificates, or CERTIFICATES=FILE")
    return pem


def licenses():
    """(name, text) of each file of /licenses, in the order of the names."""
    texts = artifact.licenses()
    if not os.environ.get("CERTIFICATES"):
        texts["ca-certificates"] = artifact.read("/usr/share/doc/ca-certificates/copyright")
        texts["ca-certificates-MPL-2.0"] = artifact.read("/usr/share/common-licenses/MPL-2.0")
    return sorted(texts.items())


def archive(entries):
    """A tar of (path, bytes, or the text of a link, or None for a folder, mode), in the given order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, data, mode in entries:
            info = tarfile.TarInfo(path)
            info.mode, info.mtime = mode, artifact.EPOCH
            if data is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(data, str):
                info.type, info.linkname, data = tarfile.SYMTYPE, data, None
            else:
                info.size = len(data)
            tar.addfile(info, io.BytesIO(data or b""))
    return out.getvalue()


def layer(program):
    passwd = f"root:x:0:0:root:/:/kftrainer\nnonroot:x:{USER}:{USER}:nonroot:/:/kftrainer\n"
    group = f"root:x:0:\nnonroot:x:{USER}:\n"
    return archive([
        ("etc", None, 0o755),
        ("etc/group", group.encode(), 0o644),
        ("etc/passwd", passwd.encode(), 0o644),
        ("etc/ssl", None, 0o755),
        ("etc/ssl/certs", None, 0o755),
        ("etc/ssl/certs/ca-certificates.crt", certificates(), 0o644),
        ("head", "kftrainer", 0o777),
        ("kftrainer", program, 0o755),
        ("licenses", None, 0o755),
        *((f"licenses/{name}", text, 0o644) for name, text in licenses()),
        ("tmp", None, 0o1777),
        ("worker", "kftrainer", 0o777),
    ])


class Blobs:
    def __init__(self):
        self.entries = {}

    def add(self, data, media_type):
        if not isinstance(data, bytes):
            data = json.dumps(data, separators=(",", ":")).encode()
        digest = hashlib.sha256(data).hexdigest()
        self.entries["blobs/sha256/" + digest] = data
        return {"mediaType": media_type, "digest": "sha256:" + digest, "size": len(data)}


def add_image(blobs, program, version):
    """The manifest's descriptor, and what docker's own manifest.json has of it."""
    created = datetime.datetime.fromtimestamp(artifact.EPOCH, datetime.timezone.utc)
    platform = {"architecture": artifact.architectures(program)[0], "os": "linux"}
    files = blobs.add(layer(program), OCI + "layer.v1.tar")
    config = blobs.add({
        "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        **platform,
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/kftrainer"],
            "WorkingDir": "/",
            "Env": ["PATH=/"],
            "Labels": {
                "org.opencontainers.image.title": "kftrainer",
                "org.opencontainers.image.version": version,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [files["digest"]]},
        "history": [{"created_by": "vendor/image.py"}],
    }, OCI + "config.v1+json")
    manifest = blobs.add({"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
                          "config": config, "layers": [files]}, OCI + "manifest.v1+json")
    path = "blobs/sha256/{}".format
    suffix = "" if platform["architecture"] == "amd64" else "-" + platform["architecture"]
    docker = {"Config": path(config["digest"][7:]), "RepoTags": [f"kftrainer:{version}{suffix}"],
              "Layers": [path(files["digest"][7:])]}
    return {**manifest, "platform": platform}, docker


def image(programs, version):
    blobs = Blobs()
    manifests, docker = zip(*(add_image(blobs, program, version) for program in programs))
    # What `ctr images import` and `docker load` call it.
    names = {"io.containerd.image.name": f"docker.io/library/kftrainer:{version}",
             "org.opencontainers.image.ref.name": version}
    index = {"schemaVersion": 2, "mediaType": OCI + "index.v1+json"}
    top = manifests[0]
    if len(manifests) > 1:
        top = blobs.add({**index, "manifests": manifests}, OCI + "index.v1+json")
    else:
        docker[0]["RepoTags"] = [f"kftrainer:{version}"]
    index["manifests"] = [{**top, "annotations": names}]
    entries = [("blobs", None, 0o755), ("blobs/sha256", None, 0o755)]
    entries += [(file, data, 0o644) for file, data in sorted(blobs.entries.items())]
    for file, value in (("index.json", index), ("manifest.json", docker),
                        ("oci-layout", {"imageLayoutVersion": "1.0.0"})):
        entries.append((file, json.dumps(value, separators=(",", ":")).encode(), 0o644))
    return archive(entries)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.splitlines()[0])
    binaries, version, output = sys.argv[1:]
    programs = [pathlib.Path(binary).read_bytes() for binary in binaries.split(",")]
    programs.sort(key=artifact.architectures)
    data = image(programs, version)
    artifact.write(output, data)
    print(f"kftrainer:{version}, sha256:{hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
