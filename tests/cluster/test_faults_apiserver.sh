#!/bin/bash
# The API server is killed while the controller works.
# shellcheck source=tests/cluster/faults.sh
. "$(dirname "$0")/faults.sh"
scene apiserver
