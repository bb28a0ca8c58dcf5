#!/usr/bin/env python3
"""vendor/licenses.py VERSION SYSROOT: what `kftrainer version --licenses` prints.

Our LICENSE and NOTICE, then each library of vendor/licenses that SYSROOT was built with, and
its texts, which vendor/build.sh took from the library's own source; and what vendor/npm.lock names.
"""
import os
import pathlib
import sys

import npm

HERE = pathlib.Path(__file__).resolve().parent
RULE = "=" * 100


def table():
    """(name, license) of each line of vendor/licenses."""
    for line in (HERE / "licenses").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, expression = line.split(" ", 2)
            yield name, expression


def linked(sysroot):
    """(name, version, license) of what is in the program: not all is, on every machine."""
    lines = (pathlib.Path(sysroot) / "versions").read_text().splitlines()
    versions = dict(line.split(" ", 1) for line in lines)
    return [(name, versions[name], expression) for name, expression in table() if name in versions]


def scripts():
    """(name, version, license) of what is in the page of `kftrainer ui`."""
    return [(name, revision, expression) for name, revision, _, _, expression, _ in npm.entries()]


def plain(text):
    """Pages and carriage returns taken away, and white space at the end of a line."""
    text = text.replace("\f", "").replace("\r", "")
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n") + "\n"


def texts(sysroot, name):
    if name == "nettle":
        yield (HERE / "relink.txt").read_text()
    of_script = HERE.parent / "build/page" / (name + ".LICENSE")
    folder = pathlib.Path(sysroot) / "licenses" / name
    for path in sorted(folder.iterdir()) if folder.is_dir() else [of_script]:
        yield f"---- {path.name}\n\n{plain(path.read_text(errors='replace'))}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    version, sysroot = sys.argv[1:]
    libraries = linked(sysroot) + scripts()
    parts = [plain((HERE.parent / "NOTICE").read_text()).rstrip() + "\n\n" + "".join(
        f"  {name} {revision}: {expression}\n" for name, revision, expression in libraries)]
    parts.append(f"{RULE}\nkftrainer {version}: Apache-2.0\n\n" +
                 plain((HERE.parent / "LICENSE").read_text()))
    for name, revision, expression in libraries:
        parts.append(f"{RULE}\n{name} {revision}: {expression}\n\n" + "\n".join(texts(sysroot, name)))
    sys.stdout.write("\n".join(parts).replace("VERSION-sources", version + "-sources")
                     .replace("kftrainer-VERSION", "kftrainer-" + version))


if __name__ == "__main__":
    main()
