#!/bin/bash
# The same sources make the same program, bit for bit: here, and from a copy in another folder.
# tests/soak/soak_repro.sh builds the libraries again, too.
# shellcheck source=tests/build/repro.sh
. "$(dirname "$0")/repro.sh"
check "the sources copied elsewhere" copy_tree
check "build there" build_again
check "and give the same bytes" same
finish
