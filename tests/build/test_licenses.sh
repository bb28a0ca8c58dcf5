#!/bin/bash
# Whoever hands the program on knows what is in it: `version`, `version --licenses`, the image and
# its SBOM name every library that the link map shows.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
version=$(cat core/assets/VERSION)
map=build/rel/kftrainer.map
text=$scratch/licenses

# FILE or ARCHIVE(MEMBER), a line each: what contributes to the program and is not our own.
linked_files() {
	awk '/^Linker script and memory map/ { map = 1 }
		map && $1 == "LOAD" && $2 ~ /\.o$/ { print $2 }
		!map && /^\/.*\)$/ && !/^ / { print $1 }' "$map" | grep -v '^build/' | sort -u
}
library_of() { # FILE or ARCHIVE(MEMBER)
	case $1 in
	*/libc/lib/*) echo musl ;;
	*/mimalloc.o) echo mimalloc ;;
	*/fastmem.o | *"libmbedcrypto.a(glue.o)") echo kftrainer ;;
	*/libcurl.a*) echo curl ;;
	*/libnghttp2.a*) echo nghttp2 ;;
	*/libssh2.a*) echo libssh2 ;;
	*/libmbedcrypto.a"("*.c.o")" | */libmbedtls.a* | */libmbedx509.a*) echo mbedtls ;;
	*"libmbedcrypto.a(x25519.o)") echo mbedtls ;; # its 3rdparty/everest
	*/libmbedcrypto.a*) echo nettle ;;
	*/libzstd.a*) echo libzstd ;;
	*/libz.a*) echo zlib ;;
	*/libbrotli.a*) echo brotli ;;
	*/liblz4.a*) echo lz4 ;;
	*/libyaml.a*) echo libyaml ;;
	*/libcjson.a*) echo cjson ;;
	*/libexpat.a*) echo expat ;;
	*/libgcc.a* | */libgcc_eh.a* | */crtbegin*.o | */crtend*.o) echo libgcc ;;
	*) echo "unknown:$1" ;;
	esac
}
linked_files | while read -r file; do library_of "$file"; done | sort -u >"$scratch/linked"

known() { cat "$scratch/linked"; [ "$(wc -l <"$scratch/linked")" -ge 14 ] && ! grep unknown "$scratch/linked"; }
each_linked() { # COMMAND: for each library of the map, NAME VERSION
	local name
	while read -r name; do
		[ "$name" = kftrainer ] || "$1" "$name" || { echo "$name is missing"; return 1; }
	done <"$scratch/linked"
}
version_names() { ./kftrainer version | grep -Eq "(with|,) $1 "; }
licenses_name() { grep -Eq "^  $1 [^ ]+: [A-Za-z]" "$text" && grep -Eq "^$1 [^ ]+: [A-Za-z]" "$text"; }
has_text() { # NAME: more than a title before the next entry
	[ "$(awk -v n="$1" '/^=====+$/ { getline; on = $1 == n; next } on' "$text" | wc -w)" -gt 150 ]
}
says() { grep -Fq "$1" "$text" || { echo "not in it: $1"; false; }; }
texts() {
	says "Apache License" && says "Version 2.0, January 2004" && says "GNU LESSER GENERAL PUBLIC LICENSE" &&
		says "GCC RUNTIME LIBRARY EXCEPTION" && says "Daniel Stenberg" && says "Rich Felker" &&
		{ says "Yann Collet" || says "Meta Platforms"; }
}
relink() { says "KFTRAINER_NETTLE=\$PWD/my-nettle make" && says "kftrainer-$version-sources.tar"; }
no_output_format() { ! ./kftrainer version --licenses -o json; }
in_image() {
	vendor/image.py kftrainer "$version" "$scratch/image.tar" && python3 - "$scratch/image.tar" >"$scratch/of-image" <<-'PYTHON'
		import json, sys, tarfile
		tar = tarfile.open(sys.argv[1])
		layer = json.load(tar.extractfile("manifest.json"))[0]["Layers"][0]
		files = tarfile.open(fileobj=tar.extractfile(layer))
		sys.stdout.buffer.write(files.extractfile("licenses/LIBRARIES").read())
	PYTHON
	cmp "$text" "$scratch/of-image"
}
sbom() { vendor/sbom.py kftrainer "$version" "$(vendor/sysroot.sh)" "$1"; }
sbom_twice() { sbom "$scratch/a.json" && sbom "$scratch/b.json" && cmp "$scratch/a.json" "$scratch/b.json"; }
sbom_names() { grep -Fq "\"name\": \"$1\"" "$scratch/a.json"; }
# What the SPDX 2.3 specification demands of each part, and the lock's own words.
sbom_whole() {
	python3 - "$scratch/a.json" "$(sha256sum <kftrainer | cut -d ' ' -f 1)" <<-'PYTHON'
		import json, re, sys
		doc = json.load(open(sys.argv[1]))
		assert doc["spdxVersion"] == "SPDX-2.3" and doc["dataLicense"] == "CC0-1.0"
		assert doc["SPDXID"] == "SPDXRef-DOCUMENT" and sys.argv[2] in doc["documentNamespace"]
		assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", doc["creationInfo"]["created"])
		ids = {"SPDXRef-DOCUMENT"}
		lock = [line.split()[:4] for name in ("lock", "npm.lock") for line in open("vendor/" + name)]
		for p in doc["packages"]:
		    assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", p["SPDXID"]) and p["SPDXID"] not in ids, p
		    ids.add(p["SPDXID"])
		    for key in "name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText":
		        assert p[key], (key, p)
		    if "packageFileName" in p and p["name"] != "kftrainer":
		        assert [p["name"], p["versionInfo"], p["packageFileName"], p["checksums"][0]["checksumValue"]] in lock, p
		for r in doc["relationships"]:
		    assert r["spdxElementId"] in ids and r["relatedSpdxElement"] in ids, r
		linked = {r["relatedSpdxElement"] for r in doc["relationships"] if r["relationshipType"] == "STATIC_LINK"}
		assert len(linked) >= 11, linked
	PYTHON
}

check "the link map shows only libraries that are known" known
check "version names each" each_linked version_names
check "version --licenses is text" eval './kftrainer version --licenses >"$text" && [ -s "$text" ]'
check "... that names each, with a license" each_linked licenses_name
check "... and has the text of each" each_linked has_text
check "... Apache's, the LGPL, GCC's exception, and their authors" texts
check "... and how to relink with another Nettle" relink
check "... and has no other form" no_output_format
if ls /usr/share/ca-certificates/mozilla/*.crt >/dev/null 2>&1; then
	check "the image has the same text" in_image
else
	skip "the image has the same text" "the package ca-certificates is not installed"
fi
check "the SBOM: the same bytes twice" sbom_twice
check "... names each library" each_linked sbom_names
check "... is SPDX 2.3, with the lock's revisions and checksums" sbom_whole
finish
