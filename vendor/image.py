#!/usr/bin/env python3
"""vendor/image.py BINARY VERSION OUTPUT: a container image FROM scratch, without a container engine.

In it: the program at /kftrainer, links to it by the names that upstream's data cache has (head,
worker), the certificates of the package ca-certificates (as installed here: they are what is
pinned there; nothing that this machine's owner added), a user 65532, and in /licenses our LICENSE
and NOTICE, the texts of the libraries that the program is linked with (build/licenses.txt: what
its `version --licenses` prints) and that of the certificates.
OUTPUT is an OCI image layout (github.com/opencontainers/image-spec, image-layout.md) in a tar
that `docker load` reads, too. The same inputs give the same bytes: times are SOURCE_DATE_EPOCH
or 0, nothing is compressed. CERTIFICATES names another bundle (PEM).
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

ROOT = pathlib.Path(__file__).resolve().parent.parent
CERTIFICATES = "/usr/share/ca-certificates/mozilla/*.crt"
USER = 65532
MACHINES = {62: "amd64", 183: "arm64"}  # e_machine of ELF
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


def architecture(elf):
    machine = int.from_bytes(elf[18:20], "little")
    if elf[:4] != b"\x7fELF" or machine not in MACHINES:
        sys.exit("vendor/image.py: that is no program for amd64 or arm64")
    return MACHINES[machine]


def certificates():
    own = os.environ.get("CERTIFICATES")
    files = [own] if own else sorted(glob.glob(CERTIFICATES))
    pem = b"".join(open(file, "rb").read().rstrip(b"\n") + b"\n" for file in files)
    if b"BEGIN CERTIFICATE" not in pem:
        sys.exit("vendor/image.py: no certificates; install ca-certificates, or CERTIFICATES=FILE")
    return pem


def licenses():
    """(name, text) of each file of /licenses, in the order of the names."""
    texts = {"LIBRARIES": ROOT / "build/licenses.txt", "LICENSE": ROOT / "LICENSE", "NOTICE": ROOT / "NOTICE"}
    if not os.environ.get("CERTIFICATES"):
        texts["ca-certificates"] = pathlib.Path("/usr/share/doc/ca-certificates/copyright")
        texts["ca-certificates-MPL-2.0"] = pathlib.Path("/usr/share/common-licenses/MPL-2.0")
    for name, path in sorted(texts.items()):
        try:
            yield name, path.read_bytes()
        except OSError as e:
            sys.exit(f"vendor/image.py: no license text: {e}; run: make kftrainer")


def archive(entries):
    """A tar of (path, bytes, or the text of a link, or None for a folder, mode), in the given order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, data, mode in entries:
            info = tarfile.TarInfo(path)
            info.mode, info.mtime = mode, EPOCH
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


def image(program, version):
    oci, blobs = "application/vnd.oci.image.", Blobs()
    created = datetime.datetime.fromtimestamp(EPOCH, datetime.timezone.utc)
    platform = {"architecture": architecture(program), "os": "linux"}
    name = f"kftrainer:{version}"
    files = blobs.add(layer(program), oci + "layer.v1.tar")
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
    }, oci + "config.v1+json")
    manifest = blobs.add({"schemaVersion": 2, "mediaType": oci + "manifest.v1+json",
                          "config": config, "layers": [files]}, oci + "manifest.v1+json")
    # What `ctr images import` and `docker load` call it.
    names = {"io.containerd.image.name": "docker.io/library/" + name,
             "org.opencontainers.image.ref.name": version}
    index = {"schemaVersion": 2, "mediaType": oci + "index.v1+json",
             "manifests": [{**manifest, "platform": platform, "annotations": names}]}
    path = "blobs/sha256/{}".format
    docker = [{"Config": path(config["digest"][7:]), "RepoTags": [name],
               "Layers": [path(files["digest"][7:])]}]
    entries = [("blobs", None, 0o755), ("blobs/sha256", None, 0o755)]
    entries += [(file, data, 0o644) for file, data in sorted(blobs.entries.items())]
    for file, value in (("index.json", index), ("manifest.json", docker),
                        ("oci-layout", {"imageLayoutVersion": "1.0.0"})):
        entries.append((file, json.dumps(value, separators=(",", ":")).encode(), 0o644))
    return archive(entries)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.splitlines()[0])
    binary, version, output = sys.argv[1:]
    with open(binary, "rb") as file:
        data = image(file.read(), version)
    os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
    with open(output + ".new", "wb") as file:
        file.write(data)
    os.replace(output + ".new", output)
    print(f"{output}: kftrainer:{version}, {len(data) / 1e6:.1f} MB, "
          f"sha256:{hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
