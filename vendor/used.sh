#!/bin/sh
# vendor/used.sh
#
# Prints, of the libraries that not every build needs, those whose header one of our
# rooms includes: only they are fetched and built.
set -eu
cd "$(dirname "$0")/.."
while read -r name header; do
	! grep -rqsE "^#include <$header>" core cmd plugins gpu || echo "$name"
done <<END
lz4 lz4[a-z]*\.h
END
