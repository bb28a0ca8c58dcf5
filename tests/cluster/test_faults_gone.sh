#!/bin/bash
# The controller sleeps while much happens that etcd then forgets.
# shellcheck source=tests/cluster/faults.sh
. "$(dirname "$0")/faults.sh"
scene gone
