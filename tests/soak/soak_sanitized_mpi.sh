#!/bin/bash
# The whole matrix of one implementation of MPI, with agent and worker under ASan and UBSan.
#
#   [MPI=openmpi4] tests/soak/soak_sanitized_mpi.sh
cd "$(dirname "$0")/../.." || exit 1
export MPI=${MPI:-openmpi4}
exec tests/soak/soak_sanitized.sh tests/mpi/test_*
