#!/usr/bin/env python3
"""vendor/wheel.py PROGRAM VERSION FOLDER: a Python wheel, for pip, uv and pipx.

In it: the program, for the environment's bin, and metadata with the licenses; no Python code. A
static program runs with any libc: the tags are those of the oldest glibc and musl that installers
know (PEP 599 and 656). The same inputs give the same bytes: times are SOURCE_DATE_EPOCH, or 1980.
"""
import base64
import hashlib
import io
import re
import sys
import time
import zipfile

import artifact

TAGS = ("manylinux_2_17", "musllinux_1_1")
METADATA = """\
Metadata-Version: 2.4
Name: kftrainer
Version: {version}
Summary: {artifact.SUMMARY}
Author: The authors of kftrainer
License-Expression: Apache-2.0
License-File: LIBRARIES
License-File: LICENSE
License-File: NOTICE
Keywords: kubernetes,kubeflow,training,pytorch,jax,mpi
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Requires-Python: >=3.7
Description-Content-Type: text/markdown

kftrainer trains machine learning models on Kubernetes, or on your own machine without it. It is
Kubeflow Trainer v2 as one static program: command line, controller, and helpers in the pods. This
package has the program alone, no Python code.

    kftrainer submit --local --runtime torch-distributed --nodes 2 -- python3 train.py
    kftrainer --help
"""


def python_version(version):
    """0.2.0-dev+abc is 0.2.0.dev0+abc (PEP 440)."""
    found = re.fullmatch(r"(\d+\.\d+\.\d+)(-dev)?(\+[a-z0-9.]+)?", version)
    if not found:
        sys.exit(f"vendor/wheel.py: {version}: want X.Y.Z or X.Y.Z-dev+COMMIT")
    return found[1] + (".dev0" if found[2] else "") + (found[3] or "")


def wheel(program, version, tags):
    """Its bytes."""
    info, data = f"kftrainer-{version}.dist-info", f"kftrainer-{version}.data"
    lines = ["Wheel-Version: 1.0", "Generator: vendor/wheel.py", "Root-Is-Purelib: false",
             *(f"Tag: py3-none-{tag}" for tag in tags), ""]
    files = {f"{data}/scripts/kftrainer": program,
             f"{info}/METADATA": METADATA.format(version=version, artifact=artifact).encode(),
             f"{info}/WHEEL": "\n".join(lines).encode(),
             **{f"{info}/licenses/{name}": text for name, text in sorted(artifact.licenses().items())}}
    record = f"{info}/RECORD"
    rows = [f"{name},sha256={digest(text)},{len(text)}" for name, text in files.items()]
    files[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(max(artifact.EPOCH, 315532800))[:6])
            entry.create_system = 3  # Unix: the mode counts
            entry.external_attr = (0o100755 if name.endswith("/scripts/kftrainer") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return out.getvalue()


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.splitlines()[0])
    with open(sys.argv[1], "rb") as file:
        program = file.read()
    version = python_version(sys.argv[2])
    tags = [f"{tag}_{artifact.architectures(program)[1]}" for tag in TAGS]
    artifact.write(f"{sys.argv[3]}/kftrainer-{version}-py3-none-{'.'.join(tags)}.whl",
              wheel(program, version, tags))


if __name__ == "__main__":
    main()
