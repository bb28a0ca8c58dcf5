#!/bin/bash
# The controller's connections to the API server are cut while it works.
# shellcheck source=tests/cluster/faults.sh
. "$(dirname "$0")/faults.sh"
scene watch
