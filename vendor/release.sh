#!/bin/bash
# vendor/release.sh FOLDER
#
# All that users install, into FOLDER, which is replaced as a whole: programs, Python wheels, Debian
# packages, container image, chart, manifests, SBOM, licenses, the archive of sources, SHA256SUMS.
# The same commit, compilers and certificates give the same bytes. ARCHES names the processors
# ("amd64 arm64" if unset; amd64 is always one); IMAGE is what the manifests name,
# kftrainer:VERSION if unset. The version is that of vendor/version.sh; in
# the names of images and charts, whose characters are fewer, it has - in place of +.
set -euo pipefail
export LC_ALL=C
umask 022
cd "$(dirname "$0")/.."
to=$(realpath -ms "$1") new=$to.new
if [ -e "$to" ] && [ ! -f "$to/SHA256SUMS" ] && ! rmdir "$to" 2>/dev/null; then
	echo "vendor/release.sh: $1 is not empty and no release (no SHA256SUMS): name another folder" >&2
	exit 1
fi
read -r version SOURCE_DATE_EPOCH < <(vendor/version.sh)
export SOURCE_DATE_EPOCH
tag=${version/+/-}
commit=$(if [ -s vendor/version ]; then sed -n 2p vendor/version; else git rev-parse --short=12 HEAD 2>/dev/null || true; fi)
declare -A programs=() flavors=([amd64]=musl [arm64]=aarch64)
for arch in amd64 ${ARCHES-arm64}; do
	programs[$arch]=build/release-$arch/kftrainer
done
native=${programs[amd64]}
"${MAKE:-make}" --no-print-directory RELEASE="$version" COMMIT="$commit" build/licenses.txt "${programs[@]}"
rm -rf "$new"
mkdir -p "$new"
for arch in "${!programs[@]}"; do
	install -m 755 "${programs[$arch]}" "$new/kftrainer-$version-linux-$arch"
	vendor/wheel.py "${programs[$arch]}" "$version" "$new"
	vendor/deb.py "${programs[$arch]}" "$version" "$new" "$native"
	vendor/sbom.py "${programs[$arch]}" "$version" "$(vendor/sysroot.sh "${flavors[$arch]}")" \
		"$new/kftrainer-$version-$arch.spdx.json"
done
vendor/image.py "$(IFS=,; echo "${programs[*]}")" "$tag" "$new/kftrainer-$tag-image.tar"
vendor/chart.py "$native" "$tag" "$new/kftrainer-$tag.tgz"
"$native" install --crds -o yaml >"$new/crds.yaml"
"$native" install --runtimes-job --image "${IMAGE:-kftrainer:$tag}" -o yaml >"$new/install.yaml"
"$native" version --licenses >"$new/LICENSES.txt"
if [ ! -s vendor/version ]; then # in an archive of sources they are at hand
	vendor/sources.sh "$version" "$new/kftrainer-$version-sources.tar"
fi
find "$new" -type f -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
(cd "$new" && sha256sum -- * >../SHA256SUMS.new && mv ../SHA256SUMS.new SHA256SUMS)
rm -rf "$to"
mv "$new" "$to"
echo "$to: kftrainer $version for ${!programs[*]}, $(du -sm "$to" | cut -f 1) MB"
