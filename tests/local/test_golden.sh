#!/bin/bash
# The golden scenes, which need a controller, against `controller --local`: golden_scenes.py says
# what is left out, and why. The cases without a controller are `make golden`.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2154 # server.sh
. "$(dirname "$0")/server.sh"
up
tests/local/golden_scenes.py -j 12 'scene-*' || failures=$((failures + 1))
check "it is still the same process" kill -0 "$server"
finish
