#!/bin/bash
# core/kube against a real API server and etcd: what is watched survives restarts and
# compaction, one of several leads, events are counted. kubecheck (tests/unit/kube) does it.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
if ! make -s build/san/tests/unit/kube/kubecheck >"$scratch/make" 2>&1; then
	check "kubecheck is built" eval 'cat "$scratch/make"; false'
	finish
fi
cluster_up
kc create namespace kube-test >"$scratch/namespace"
kt() { kc -n kube-test "$@"; }

# kubecheck NAME ARGUMENT...: in the background; what it says is in $scratch/NAME.
kubecheck() {
	local name=$1
	shift
	in_cluster bash -c 'echo $$ >"$0"; exec "$@"' "$scratch/$name.pid" \
		build/san/tests/unit/kube/kubecheck "$cluster_state/admin.kubeconfig" "$@" \
		>"$scratch/$name" 2>&1 &
	jobs_of[$name]=$!
}
declare -A jobs_of
signal() { in_cluster kill -s "$2" "$(cat "$scratch/$1.pid")"; }
ended_well() { # NAME: with status 0, so without a leak
	wait "${jobs_of[$1]}" || {
		cat "$scratch/$1"
		return 1
	}
}
says() { wait_for 60 grep -x "$2" "$scratch/$1" || { cat "$scratch/$1"; return 1; }; }
once() { [ "$(grep -cx "$2" "$scratch/$1")" = 1 ] || { cat "$scratch/$1"; return 1; }; }

# ---- watching ------------------------------------------------------------------------------------
config() { kt create configmap "$1" --from-literal=v="$2" && kt label configmap "$1" "kft=$$"; }
change() { kt patch configmap "$1" --type merge -p "{\"data\":{\"v\":\"$2\"}}"; }
restart() { cluster stop kube-apiserver && cluster start kube-apiserver && wait_for 60 kc get --raw /readyz; }
compact() { # all that etcd still knows of the past
	local revision
	revision=$(in_cluster curl -sf http://127.0.0.1:2379/v3/kv/range -d '{"key":"AA=="}' | grep -o '"revision":"[0-9]*"') &&
		in_cluster curl -sf http://127.0.0.1:2379/v3/kv/compaction -d "{$revision,\"physical\":true}"
}
for i in 1 2 3 4 5; do config "c$i" "$i"; done >"$scratch/configs"
kubecheck watch watch "kft=$$"
check "all pages are listed" says watch "synced 5"
changed() { change c1 one && config c6 6 && says watch "MODIFIED kube-test/c1 one" && says watch "ADDED kube-test/c6 6"; }
check "changes are seen" changed
check "the API server is killed and comes back" restart
after() { change c2 two && says watch "MODIFIED kube-test/c2 two"; }
check "changes after that are seen" after
# Not while it sleeps: what was sent before the restart would still be in its socket.
check "it sleeps, and its connection ends" eval 'signal watch STOP && restart'
missed() {
	kt delete configmap c3 && change c4 four && config c7 7 &&
		kt delete configmap c5 && config c5 again && compact && restart
}
check "meanwhile much happens, and etcd compacts it" missed
check "it wakes up" signal watch CONT
caught_up() {
	says watch "DELETED kube-test/c3 3" && says watch "MODIFIED kube-test/c4 four" &&
		says watch "ADDED kube-test/c7 7" && says watch "DELETED kube-test/c5 5" &&
		says watch "ADDED kube-test/c5 again"
}
check "what it missed is reported from a new list" caught_up
nothing_twice() {
	for line in "ADDED kube-test/c1 1" "MODIFIED kube-test/c1 one" "MODIFIED kube-test/c2 two" \
		"MODIFIED kube-test/c4 four" "DELETED kube-test/c3 3" "ADDED kube-test/c6 6"; do
		once watch "$line" || return 1
	done
}
check "nothing is reported twice" nothing_twice
check "it ends when asked to" eval 'signal watch TERM && ended_well watch'

# ---- leading -------------------------------------------------------------------------------------
lease() { [ "$(kt get lease lead -o "jsonpath={.spec.$1}")" = "$2" ]; }
leads() { wait_for 60 grep -q "^leads " "$scratch/$1" || { cat "$scratch/$1"; return 1; }; }
waits() { ! grep -q "^leads " "$scratch/$1"; }
kubecheck a lead kube-test lead a
check "the first leads" leads a
kubecheck b lead kube-test lead b
check "the second sees the leader" says b "holder a"
sleep 17 # longer than a lease lasts
check "and waits as long as it is renewed" waits b
signal a KILL
of_lease() { date -d "$(kt get lease lead -o "jsonpath={.spec.$1}")" +%s%3N; } # milliseconds
renewed=$(of_lease renewTime)
check "the first is killed: the second takes over" leads b
check "not before the lease has run out" [ $(($(of_lease acquireTime) - renewed)) -ge 15000 ]
check "a transition is counted" lease leaseTransitions 1
kubecheck c lead kube-test lead c
check "a third waits" says c "holder b"
check "the second ends and gives it up" eval 'signal b TERM && ended_well b && ! grep -q ^lost "$scratch/b"'
check "the third has it" leads c
check "and is who the lease names" lease holderIdentity c
gone() { cluster stop kube-apiserver && wait_for 60 grep -q "^lost " "$scratch/c"; }
check "without an API server it is lost in time" gone
check "and the process ends" ended_well c
in_time() { # 10 s after the last renewal began
	local from to
	from=$(sed -n 's/^leads //p' "$scratch/c") to=$(sed -n 's/^lost //p' "$scratch/c")
	[ $((to - from)) -ge 9000 ]
}
check "not before the deadline" in_time
check "the API server comes back" eval 'cluster start kube-apiserver && wait_for 60 kc get --raw /readyz'
kubecheck d lead kube-test lead d
check "another leads" leads d
check "it gives the lease up" eval 'signal d TERM && ended_well d && lease holderIdentity "" && lease leaseDurationSeconds 1'

# ---- events --------------------------------------------------------------------------------------
kubecheck e events kube-test c1 300
check "600 events are recorded" ended_well e
event() { # REASON FIELD WANT
	[ "$(kt get events --field-selector "reason=$1" -o "jsonpath={.items[*]$2}")" = "$3" ] ||
		{ kt get events -o yaml; return 1; }
}
check "the same again is one event with a count" event Again .count 300
check "a series is one with the last message" event Pods .message "300 pods"
check "they are about the object" event Again .involvedObject.name c1
check "they have a firstTimestamp" eval '! event Again .firstTimestamp "" >/dev/null'
controller() {
	kt get events.v1.events.k8s.io -o 'jsonpath={.items[*].reportingController}' | grep -qw trainer-trainjob-controller &&
		kt get events.v1.events.k8s.io -o 'jsonpath={.items[*].action}' | grep -qw Reconciling
}
check "events.k8s.io has controller and action" controller
check "nothing was dropped" eval '! grep error "$scratch/e"'
finish
