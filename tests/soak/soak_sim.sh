#!/bin/bash
# A million schedules of each simulated world, from three seeds, in as many processes as there are CPUs.
#
#   SCHEDULES=1000000 SEEDS="1 1000000001 2000000001" tests/soak/soak_sim.sh [cache|jobs]...
cd "$(dirname "$0")/../.." || exit 1
set -o pipefail
[ $# -gt 0 ] || set -- cache jobs
each=$((${SCHEDULES:-1000000} / 100))
for world; do
	make -s "build/rel/tests/sim/$world" || exit
	for seed in ${SEEDS:-1 1000000001 2000000001}; do
		seq "$seed" "$each" $((seed + 99 * each))
	done | xargs -P "$(nproc)" -I{} "build/rel/tests/sim/$world" --seed {} --schedules "$each" |
		grep -v '^1\.\.1$' || status=1
done
exit "${status:-0}"
