#!/usr/bin/env python3
"""vendor/sbom.py PROGRAM VERSION SYSROOT OUTPUT: what the program and its image hold, as SPDX 2.3 JSON.

Names, revisions and checksums are those of vendor/lock, for what SYSROOT was built with; licenses
those of vendor/licenses; and of vendor/npm.lock. A library's package is Debian's source package: its .dsc, which lists
the checksums of the rest. The same inputs give the same bytes: the time is SOURCE_DATE_EPOCH or 0.
"""
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import urllib.parse

import licenses
import npm

HERE = pathlib.Path(__file__).resolve().parent
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
NONE = "NOASSERTION"


def locked():
    """(NAME, VERSION) -> (file, sha256) of its .dsc."""
    lines = [line.split() for line in (HERE / "lock").read_text().splitlines()]
    return {(line[0], line[1]): (line[2], line[3])
            for line in lines if len(line) == 4 and line[2].endswith(".dsc")}


def package(name, version, expression, **more):
    return {"SPDXID": "SPDXRef-" + name, "name": name, "versionInfo": version,
            "downloadLocation": NONE, "filesAnalyzed": False, "licenseConcluded": expression,
            "licenseDeclared": expression, "copyrightText": NONE, "supplier": NONE, **more}


def debian(name, version, kind):
    """The reference by which scanners find a Debian package, github.com/package-url/purl-spec."""
    locator = f"pkg:deb/debian/{name}@{urllib.parse.quote(version, safe='+~.-')}{kind}"
    return {"externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": locator}],
            "supplier": "Organization: Debian"}


def library(name, version, expression, dsc):
    if name == "libgcc": # the compiler's, not of the lock
        return package(name, version, expression, **debian("gcc-12", version, "?arch=source"))
    more = debian(name, version, "?arch=source")
    if dsc:
        more["packageFileName"] = dsc[0]
        more["checksums"] = [{"algorithm": "SHA256", "checksumValue": dsc[1]}]
    return package(name, version, expression, **more)


def script(name, version, file, sha256, expression, _):
    """A package of the npm registry."""
    return package(name, version, expression, packageFileName=file,
                   checksums=[{"algorithm": "SHA256", "checksumValue": sha256}],
                   externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": f"pkg:npm/{name}@{version}"}])


def certificates():
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "ca-certificates"],
                           capture_output=True, text=True, check=False)
    version = shown.stdout or "unknown"
    return package("ca-certificates", version, "MPL-2.0 AND GPL-2.0-or-later",
                   **debian("ca-certificates", version, "?arch=all"))


def related(one, kind, other):
    return {"spdxElementId": "SPDXRef-" + one, "relationshipType": kind,
            "relatedSpdxElement": "SPDXRef-" + other}


def document(program, version, sysroot):
    digest = hashlib.sha256(program).hexdigest()
    dscs = locked()
    libraries = [library(*entry, dscs.get(entry[:2])) for entry in licenses.linked(sysroot)]
    scripts = [script(*entry) for entry in npm.entries()]
    created = datetime.datetime.fromtimestamp(EPOCH, datetime.timezone.utc)
    ours = package("kftrainer", version, "Apache-2.0", packageFileName="kftrainer",
                   checksums=[{"algorithm": "SHA256", "checksumValue": digest}],
                   primaryPackagePurpose="APPLICATION")
    image = package("image", version, NONE, primaryPackagePurpose="CONTAINER")
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"kftrainer-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/kftrainer-{version}-{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: kftrainer-vendor-sbom.py"]},
        "packages": [image, ours, certificates(), *libraries, *scripts],
        "relationships": [
            related("DOCUMENT", "DESCRIBES", "image"), related("image", "CONTAINS", "kftrainer"),
            related("image", "CONTAINS", "ca-certificates"),
            *(related("kftrainer", "STATIC_LINK", lib["name"]) for lib in libraries),
            *(related("kftrainer", "CONTAINS", one["name"]) for one in scripts)],
    }


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__.splitlines()[0])
    program, version, sysroot, output = sys.argv[1:]
    text = json.dumps(document(pathlib.Path(program).read_bytes(), version, sysroot), indent=2)
    pathlib.Path(output + ".new").write_text(text + "\n")
    os.replace(output + ".new", output)
    print(f"{output}: what is in it, as SPDX 2.3")


if __name__ == "__main__":
    main()
