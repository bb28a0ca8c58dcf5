#!/bin/bash
# A million schedules of each simulated world, from three seeds, in as many processes as there are CPUs; and a tenth as
# many, of other seeds, under ASan and UBSan.
#
#   SCHEDULES=1000000 SEEDS="1 1000000001 2000000001" tests/soak/soak_sim.sh [cache|jobs|journal]...
cd "$(dirname "$0")/../.." || exit 1
set -o pipefail
[ $# -gt 0 ] || set -- cache jobs journal supervise
run() { # BUILD WORLD SCHEDULES SEED...: in a hundred parts
	local program=build/$1/tests/sim/$2 each=$(($3 / 100))
	make -s "$program" || return
	for seed in "${@:4}"; do
		seq "$seed" "$each" $((seed + 99 * each))
	done | xargs -P "$(nproc)" -I{} "$program" --seed {} --schedules "$each" | grep -v '^1\.\.1$'
}
for world; do
	read -ra seeds <<<"${SEEDS:-1 1000000001 2000000001}"
	run rel "$world" "${SCHEDULES:-1000000}" "${seeds[@]}" || status=1
	run san "$world" "$((${SCHEDULES:-1000000} / 10))" "${seeds[@]/%/00}" || status=1
done
exit "${status:-0}"
