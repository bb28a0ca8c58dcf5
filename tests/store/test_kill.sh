#!/bin/bash
# kill -9 at ten random moments: what comes twice is what the connections had received and not
# written, 16 MiB a kill at most (1 % of the file in all on a quiet machine); nothing wrong is ever
# under a final name; memory stays small.
. "$(dirname "$0")/lib.sh"
size=${SIZE:-600000000}
python3 - "$web/big" "$size" <<'END'
import os, sys
block = os.urandom(1 << 20)
with open(sys.argv[1], "wb") as f:
    left = int(sys.argv[2])
    n = 0
    while left:
        part = (n.to_bytes(8, "little") + block[8:])[:left]
        f.write(part)
        left -= len(part)
        n += 1
END
printf 'big sha256=%s\n' "$(sha256sum <"$web/big" | cut -c1-64)" >"$web/sum.urls"
serve url --root "$web" --rate 40000000
# Whoever else computes: it is the client that is to be short of processors, not the server.
renice -n -10 -p "${servers[0]}" >/dev/null 2>&1

killed() { # URI [OPTION]
	local kills=0 pid status_of=137
	clean
	break_it
	while [ "$kills" -lt 10 ]; do
		"$kftrainer" initialize-dataset --uri "$@" --to "$scratch/to" 2>"$scratch/err" &
		pid=$!
		sleep "0.$(printf %02d $((5 + RANDOM % 16)))"
		if kill -9 "$pid" 2>/dev/null; then
			kills=$((kills + 1))
		fi
		wait "$pid" 2>/dev/null
		status_of=$?
		[ "$status_of" != 0 ] || break
		[ ! -e "$scratch/to/big" ] || cmp "$web/big" "$scratch/to/big" || return 1
	done
	fetch --uri "$@"
	[ "$status" = 0 ] && same big || dump || return
	sleep 0.5
	python3 - "$log" "$size" "$kills" <<'END'
import json, sys
sent = sum(a["sent"] for a in map(json.loads, open(sys.argv[1])) if a["path"] == "/big")
size = int(sys.argv[2])
print(f"{sys.argv[3]} kills, {sent} bytes sent of {size}: {100 * (sent - size) / size:.2f} % twice")
assert sent >= size and sent - size <= int(sys.argv[3]) << 24
END
}
check "killed ten times, with a digest" killed "$url/sum.urls"
sed -n 's/^/# /p' "$scratch/check"
check "killed ten times, with an ETag only" killed "$url/big"
sed -n 's/^/# /p' "$scratch/check"
check "killed ten times, not verified" killed "$url/sum.urls" --no-verify
sed -n 's/^/# /p' "$scratch/check"

small() { # VmHWM while it runs
	clean
	"$kftrainer" initialize-dataset --uri "$url/sum.urls" --to "$scratch/to" 2>"$scratch/err" &
	local pid=$! most=0 now
	while now=$(awk '/VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
		most=$now
		sleep 0.1
	done
	wait "$pid" && [ "$most" -gt 0 ] && echo "$most kB" && [ "$most" -le $((32 * 1024)) ]
}
check "at most 32 MB of memory" small

# On a processor that others want, too, further connections only wait with the first ones. Nice, for the
# kernel prefers who has slept: at the same priority the client's threads hardly wait now and then. Where others
# keep the server from sending, the client waits for that: five tries.
few() {
	local spins=() cpu pid most=0 now
	cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
	clean
	for _ in 1 2 3 4; do
		taskset -c "$cpu" sh -c 'while :; do :; done' &
		spins+=($!)
	done
	nice -n 5 taskset -c "$cpu" "$kftrainer" initialize-dataset --uri "$url/big" --to "$scratch/to" 2>"$scratch/err" &
	pid=$!
	while now=$(awk '/^Threads/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
		[ "$now" -le "$most" ] || most=$now
		sleep 0.05
	done
	kill "${spins[@]}"
	wait "$pid" && echo "$most threads" && [ "$most" -gt 1 ] && [ "$most" -le 9 ] || { cat "$scratch/err"; return 1; }
}
if [ -r /proc/self/schedstat ]; then
	check "short of processors it opens no further connections" eval 'few || few || few || few || few'
else
	skip "short of processors it opens no further connections" "the kernel counts no waiting (schedstat)"
fi
finish
