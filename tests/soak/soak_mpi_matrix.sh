#!/bin/bash
# Each implementation of MPI with each transport, and all rows: `make check` has a part of it.
cd "$(dirname "$0")/../.." || exit 1
LANES=2 exec tests/run.sh mpi tests/mpi/test_*
