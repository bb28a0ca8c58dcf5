#!/bin/bash
# One file of more than 2^31 bytes: from the hub, to an S3 server, and back. Its bytes are the
# same, and at most 32 MB of memory are used.
# shellcheck source=tests/store/lib.sh
. "$(dirname "$0")/../store/lib.sh"
size=2200000000 room=7000000000
free=$(df --output=avail -B 1 "$scratch" | tail -n 1)
[ "$free" -ge $room ] || {
	skip "a file of 2.2 GB" "$scratch has less than 7 GB free"
	finish
}
mkdir -p "$scratch/hub/models/org/large" "$scratch/s3/bucket"
file=$scratch/hub/models/org/large/w.safetensors
echo '{}' >"${file%/*}/hub.json"
# Random, no two blocks the same.
python3 - "$file" $size <<'END'
import os, sys
block, left, n = os.urandom(16 << 20), int(sys.argv[2]), 0
with open(sys.argv[1], "wb") as file:
    while left:
        left -= file.write((n.to_bytes(8, "little") + block[8:])[:left])
        n += 1
END
sum=$(sha256sum <"$file")

# peak COMMAND...: what it said, how long it took, and its peak in kB, which has to be at most 32 MB.
peak() {
	python3 -S -c 'import os, sys, time
began = time.monotonic()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
print(f"{time.monotonic() - began:.1f} s, {used.ru_maxrss} kB")
sys.exit(os.waitstatus_to_exitcode(status) or used.ru_maxrss > 32 * 1024)' "$@"
}
same_sum() { [ "$(sha256sum <"$1")" = "$sum" ] && rm -r "$scratch/to"; } # FILE

# Ends with its input.
mkfifo "$scratch/input"
exec 7<>"$scratch/input"
python3 tests/store/hub.py "$scratch/hub" --processes 2 <"$scratch/input" >"$scratch/hub.json" 2>"$scratch/hub.log" 7>&- &
servers+=($!)
for _ in $(seq 600); do
	[ ! -s "$scratch/hub.json" ] || break
	sleep 0.1
done
HF_ENDPOINT=$(sed -n 's/.*"hub": "\([^"]*\)".*/\1/p' "$scratch/hub.json")
export HF_ENDPOINT
check "from the hub, in 32 MB" peak "$kftrainer" initialize-model --uri hf://org/large --to "$scratch/to"
sed -n 's/^/# /p' "$scratch/check"
check "... unchanged" same_sum "$scratch/to/w.safetensors"

# ---- to S3 and back --------------------------------------------------------------------------------
gateway=$(tests/store/versitygw.sh 2>"$scratch/s3.log") || {
	skip "to an S3 server and back" "versitygw is not there: tests/setup.sh store"
	finish
}
port=$(python3 tests/ports.py)
export ENDPOINT=http://127.0.0.1:$port ACCESS_KEY_ID=key SECRET_ACCESS_KEY=secretsecret
ROOT_ACCESS_KEY=key ROOT_SECRET_KEY=secretsecret "$gateway" --port "127.0.0.1:$port" --quiet \
	posix "$scratch/s3" >"$scratch/s3.log" 2>&1 &
servers+=($!)
for _ in $(seq 300); do
	! curl -s -o "$scratch/curl" "$ENDPOINT/" || break
	sleep 0.1
done
check "to an S3 server, in 32 MB" peak "$kftrainer" export-model "${file%/*}" --uri s3://bucket/model
sed -n 's/^/# /p' "$scratch/check"
rm "$file"
check "... and back, in 32 MB" peak "$kftrainer" initialize-dataset --uri s3://bucket/model --to "$scratch/to"
sed -n 's/^/# /p' "$scratch/check"
check "... as it was" same_sum "$scratch/to/w.safetensors"
finish
