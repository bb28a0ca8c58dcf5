#!/usr/bin/env python3
"""vendor/deb.py PROGRAM VERSION FOLDER [NATIVE]: a Debian package, without dpkg.

In it: the program, its link kubectl-trainer, the manual page, and completions for bash, zsh and
fish, as NATIVE (PROGRAM by default) prints them: a program that runs here. It needs no other
package. Compressed by xz: Debian 11 and Ubuntu 20.04 know no zstd. The same inputs give the same
bytes: times are SOURCE_DATE_EPOCH or 0. MAINTAINER="NAME <ADDRESS>" says who publishes it; without it the
address is one that RFC 2606 keeps from ever existing.
"""
import datetime
import email.utils
import gzip
import hashlib
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile

import artifact

MAINTAINER = os.environ.get("MAINTAINER", "The authors of kftrainer <nobody@kftrainer.invalid>")
CONTROL = """\
Package: kftrainer
Version: {version}
Architecture: {arch}
Maintainer: {MAINTAINER}
Installed-Size: {size}
Recommends: ca-certificates
Section: science
Priority: optional
Description: Kubeflow Trainer as one static program
 kftrainer trains machine learning models on Kubernetes, or on this machine
 without it: command line, controller, and helpers in the pods. YAML and Python
 SDK of Kubeflow Trainer v2 work with it unmodified.
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: kftrainer
Comment: The texts of the libraries that are linked with the program are in LIBRARIES.gz.

Files: *
Copyright: 2025-2026 the authors of kftrainer
License: Apache-2.0
 On Debian systems, the complete text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""
CHANGES = """\
kftrainer ({version}) stable; urgency=medium

  * See CHANGELOG.md in the source of kftrainer.

 -- {MAINTAINER}  {date}
"""
OVERRIDES = """\
# Static by intent, so that it runs on every release; LIBRARIES.gz lists what is in it.
kftrainer: embedded-library *
kftrainer: shared-library-lacks-prerequisites *
"""
DOC, MAN = "usr/share/doc/kftrainer/", "usr/share/man/man1/"


def debian_version(version):
    """0.2.0-dev+abc is 0.2.0~dev+abc, which is before 0.2.0."""
    return version.replace("-", "~")


def printed(program, shell):
    return subprocess.run([program, "completion", shell], check=True, capture_output=True).stdout


def packed(text):
    return gzip.compress(text if isinstance(text, bytes) else text.encode(), 9, mtime=0)


def contents(program, version, native):
    """path -> (bytes, or the text of a link, mode)"""
    date = email.utils.format_datetime(datetime.datetime.fromtimestamp(artifact.EPOCH, datetime.timezone.utc))
    texts = artifact.licenses()
    return {
        "usr/bin/kftrainer": (program, 0o755),
        "usr/bin/kubectl-trainer": ("kftrainer", 0o777),
        "usr/share/bash-completion/completions/kftrainer": (printed(native, "bash"), 0o644),
        DOC + "LIBRARIES.gz": (packed(texts["LIBRARIES"]), 0o644),
        DOC + "NOTICE": (texts["NOTICE"], 0o644),
        DOC + "changelog.gz": (packed(CHANGES.format(version=version, date=date, MAINTAINER=MAINTAINER)), 0o644),
        DOC + "copyright": (COPYRIGHT.encode(), 0o644),
        "usr/share/fish/vendor_completions.d/kftrainer.fish": (printed(native, "fish"), 0o644),
        "usr/share/lintian/overrides/kftrainer": (OVERRIDES.encode(), 0o644),
        MAN + "kftrainer.1.gz": (packed((artifact.ROOT / "kftrainer.1").read_bytes()), 0o644),
        MAN + "kubectl-trainer.1.gz": ("kftrainer.1.gz", 0o777),
        "usr/share/zsh/vendor-completions/_kftrainer": (printed(native, "zsh"), 0o644),
    }


def archive(files):
    """A tar.xz with the folders that the files need."""
    out, seen = io.BytesIO(), set()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, (data, mode) in sorted(files.items()):
            folders = path.split("/")[:-1]
            for depth in range(len(folders) + 1):
                folder = "/".join([".", *folders[:depth]])
                if folder not in seen:
                    seen.add(folder)
                    tar.addfile(entry(folder + "/", 0o755, type=tarfile.DIRTYPE))
            if isinstance(data, str):
                tar.addfile(entry("./" + path, mode, type=tarfile.SYMTYPE, linkname=data))
            else:
                tar.addfile(entry("./" + path, mode, size=len(data)), io.BytesIO(data))
    return lzma.compress(out.getvalue(), preset=6)


def entry(name, mode, **more):
    info = tarfile.TarInfo(name)
    info.mode, info.mtime, info.uname, info.gname = mode, artifact.EPOCH, "root", "root"
    for key, value in more.items():
        setattr(info, key, value)
    return info


def ar(members):
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{artifact.EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        out += data + b"\n" * (len(data) % 2)
    return out


def package(program, version, arch, native):
    files = contents(program, version, native)
    real = {path: data for path, (data, _) in files.items() if isinstance(data, bytes)}
    size = sum(len(data) // 1024 + 1 for data in real.values()) + 20
    sums = "".join(f"{hashlib.md5(data).hexdigest()}  {path}\n" for path, data in sorted(real.items()))
    control = CONTROL.format(version=version, arch=arch, size=size, MAINTAINER=MAINTAINER)
    return ar([("debian-binary", b"2.0\n"),
               ("control.tar.xz", archive({"control": (control.encode(), 0o644), "md5sums": (sums.encode(), 0o644)})),
               ("data.tar.xz", archive(files))])


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__.splitlines()[0])
    if not re.fullmatch(r"[^<>\n]+ <[^<>@\s]+@[^<>@\s]+>", MAINTAINER):
        sys.exit(f"deb.py: MAINTAINER is {MAINTAINER!r}: want NAME <ADDRESS>")
    with open(sys.argv[1], "rb") as file:
        program = file.read()
    version, arch = debian_version(sys.argv[2]), artifact.architectures(program)[0]
    native = os.path.abspath(sys.argv[-1] if len(sys.argv) == 5 else sys.argv[1])
    artifact.write(f"{sys.argv[3]}/kftrainer_{version}_{arch}.deb", package(program, version, arch, native))


if __name__ == "__main__":
    main()
