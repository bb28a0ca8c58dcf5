#!/bin/bash
# What a pod is called and who it can reach: indexes, host names, addresses, order of starting.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"

cat >ask.py <<'PY'
import os, socket, sys
job = sys.argv[1]
names = [f"{job}-{r}-{i}-{p}" for r, i, p in (("node", 0, 0), ("node", 0, 1), ("aux", 0, 0), ("aux", 1, 0))]
seen = []
for name in names:
    forms = [f"{name}.{job}", f"{name}.{job}.default", f"{name}.{job}.default.svc", f"{name}.{job}.default.svc.cluster.local"]
    if os.environ["MODE"] == "namespaces":
        forms.append(name)
    addresses = {socket.gethostbyname(form) for form in forms}
    assert len(addresses) == 1, (name, addresses)
    seen.append(addresses.pop())
assert len(set(seen)) == 4, seen
if os.environ["MODE"] == "namespaces":
    me = socket.gethostname()
    assert me == os.environ["HOSTNAME"], (me, os.environ["HOSTNAME"])
    assert socket.gethostbyname(me) == os.environ["IP"], me
assert os.environ["IP"] in seen, (os.environ["IP"], seen)
print("resolved", os.environ["WHO"], os.environ.get("JOB_COMPLETION_INDEX"))
PY
cat >meet.py <<'PY'
import os, socket, sys, time
host, index, port = sys.argv[1], os.environ["JOB_COMPLETION_INDEX"], int(os.environ["PORT"])
if index == "0":
    server = socket.create_server((os.environ["IP"], port))
    for _ in range(2):
        peer, where = server.accept()
        print("heard", peer.makefile().readline().strip(), flush=True)
        peer.sendall(b"go\n")
else:
    while True:
        try:
            peer = socket.create_connection((host, port))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    peer.sendall(f"index {index}\n".encode())
    print("told", peer.makefile().readline().strip())
PY
env='env: [{name: WHO, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]'
job names 2 <<Y
replicatedJobs:
- name: aux
  replicas: 2
  template:
    spec:
      completions: 1
      parallelism: 1
      template:
        spec: {restartPolicy: Never, containers: [{name: aux, image: none, command: [python3, ask.py, names], $env}]}
- name: node
  template:
    LABEL
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: node, image: none, command: [python3, ask.py, names], $env}]}
Y
MODE=namespaces submit names
ok "every pod resolves every name to its own address" exits 0
ok "replicas and indexes: each in its place" lines 4 '^\[(aux-0-0|aux-1-0|node-0|node-1)\] +resolved names-(node|aux)-[01]-[01]-[a-z0-9]{5} [01]$'

job meet 3 < <(node 'exec python3 meet.py meet-node-0-0.meet 0' | sed "s|image: none,|image: none, $env,|")
port=$((20000 + $$ % 9000))
PORT=$port submit meet
ok "a server in pod 0, found by name" exits 0
ok "... hears both others" printed '\[node-0\] heard index 2'
ok "... which it answers" lines 2 '\[node-[12]\] told go'
PORT=$port KFTRAINER_ISOLATION=none submit meet
ok "without namespaces: the same" lines 2 '\[node-[12]\] told go'

# Two jobs listen on the same port: each pod has its own address.
job twin 3 < <(sed -n '/^      replicatedJobs/,/^---/p' meet.yaml | sed 's/^      //; /^---/d; s/meet-node-0-0.meet/twin-node-0-0.twin/')
PORT=$port "$kftrainer" submit --local twin.yaml >twin.out 2>&1 </dev/null &
twin=$!
PORT=$port submit meet
wait $twin
ok "the same port in two jobs at once" test "$?$status" = 00

order() { # POLICY DEPENDS-ON
	cat <<-Y
		$1
		replicatedJobs:
		- name: first
		  replicas: 2
		  template:
		    spec:
		      template:
		        spec:
		          restartPolicy: Never
		          containers:
		          - name: first
		            image: none
		            command: [bash, -c, 'echo first is here; while [ ! -e ready ]; do sleep 0.05; done; touch ready-\$JOB_GLOBAL_INDEX; while [ ! -e over ]; do sleep 0.05; done; touch ended; echo first ends']
		            env: [{name: JOB_GLOBAL_INDEX, valueFrom: {fieldRef: {fieldPath: "metadata.labels['jobset.sigs.k8s.io/job-global-index']"}}}]
		            readinessProbe: {exec: {command: [bash, -c, 'touch ready; ls ready-?']}, periodSeconds: 1}
		- name: node
		  $2
		  template:
		    LABEL
		    spec:
		      template:
		        spec:
		          restartPolicy: Never
		          containers: [{name: node, image: none, command: [bash, -c, 'ls ready-?; ls ended || echo none has ended; touch over; echo second is here']}]
	Y
}
for case in "dependsOn Ready||dependsOn: [{name: first, status: Ready}]" \
	"startupPolicy InOrder|startupPolicy: {startupPolicyOrder: InOrder}|"; do
	IFS='|' read -r what policy depends <<<"$case"
	rm -f ready ready-? over ended
	job order 1 < <(order "$policy" "$depends")
	submit order
	ok "$what: starts when all of the first are ready, not when they end" exits 0
	ok "... and not later" printed 'none has ended'
	ok "... both replicas" lines 2 'first-[01]-0. first ends'
done
rm -f ready ready-? over ended
touch ready over
job order 1 < <(order "" "dependsOn: [{name: first, status: Complete}]" | grep -v readinessProbe)
submit order
ok "dependsOn Complete: starts" exits 0
ok "... when both have ended" test "$(grep -n 'second is here' out | cut -d: -f1)" -gt "$(grep -n 'first ends' out | tail -1 | cut -d: -f1)"
finish
