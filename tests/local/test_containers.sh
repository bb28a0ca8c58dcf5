#!/bin/bash
# What a container finds: init containers, sidecars, variables, volumes; as root and as an ordinary user.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"
chmod 711 "$scratch"
install -m 755 "$kftrainer" program
kftrainer=$scratch/program

# as_user NAME: submit as an ordinary user from a folder of their own, which has NAME.yaml and the helpers.
user=nobody
mkdir -m 755 home home/state home/work
chown "$user" home home/state home/work 2>/dev/null
as_user() {
	cp "$1.yaml" home/work/ && (cd home/work &&
		run setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups env HOME="$scratch/home" XDG_STATE_HOME="$scratch/home/state" \
			timeout -k 10 600 "$kftrainer" submit --local "$1.yaml"
		exit "$status")
	status=$?
}
both() { # WHAT NAME REGEX: as the caller, and as an ordinary user where the caller is root
	submit "$2"
	ok "$1" printed "$3"
	ok "... exits 0" exits 0
	if [ "$(id -u)" = 0 ]; then
		as_user "$2"
		ok "$1, as an ordinary user" printed "$3"
		ok "... exits 0" exits 0
	else
		skip "$1, as an ordinary user" "is one"
	fi
}

job init 1 < <(node 'echo "main: $(cat /kft-shared-'$$'/order | tr "\n" " ")"; ls /kft-shared-'$$'/beside >/dev/null' "$(cat <<-Y
	volumes: [{name: v, emptyDir: {}}]
	initContainers:
	- {name: one, image: none, command: [bash, -c, 'sleep 0.3; echo one >>/s/order'], volumeMounts: [{name: v, mountPath: /s}]}
	- name: beside
	  image: none
	  restartPolicy: Always
	  command: [bash, -c, 'echo sidecar >>/s/order; touch /s/beside; trap "exit 0" TERM; sleep 1000 & wait']
	  startupProbe: {exec: {command: [ls, /s/beside]}, periodSeconds: 1}
	  volumeMounts: [{name: v, mountPath: /s}]
	- {name: two, image: none, command: [bash, -c, 'echo two >>/s/order'], volumeMounts: [{name: v, mountPath: /s}]}
Y
)" | sed "s|name: node, image: none,|name: node, image: none, volumeMounts: [{name: v, mountPath: /kft-shared-$$}],|")
both "init containers one after the other, a sidecar beside them and the main container" init 'main: one sidecar two $'
ok "... the mount points are not there outside" test ! -e /s -a ! -e "/kft-shared-$$"

job env 1 < <(node 'printf "%s\n" "$A|$B|$C|$D|$E|$F|$G|$H|$I|$P_K1|$P_K2|$0|$1|$2"' |
	sed 's|\]}\]$|, $(A), $$(A), "$(NONE)"], env: ENV, envFrom: [{prefix: P_, configMapRef: {name: cm}}, {secretRef: {name: missing, optional: true}}], resources: {requests: {memory: 64Mi}, limits: {cpu: 1500m}}}]|' |
	sed 's|ENV|[{name: A, value: a}, {name: B, value: $(A)b}, {name: C, value: $$(A)}, {name: D, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}, {name: E, valueFrom: {resourceFieldRef: {resource: requests.memory, divisor: 1Mi}}}, {name: F, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}, {name: G, valueFrom: {configMapKeyRef: {name: cm, key: K1}}}, {name: H, valueFrom: {secretKeyRef: {name: se, key: pass}}}, {name: I, valueFrom: {secretKeyRef: {name: se, key: none, optional: true}}}]|')
cat >>env.yaml <<'Y'
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {K1: v1, K2: "two words", script.sh: "echo from a config map\n"}, binaryData: {bin: AAECgP8=}}
---
{apiVersion: v1, kind: Secret, metadata: {name: se}, data: {pass: c2VzYW1l}, stringData: {key: "private\n"}}
Y
both "variables of every kind" env '\] a\|ab\|\$\(A\)\|default\|64\|2\|v1\|sesame\|\|v1\|two words\|a\|\$\(A\)\|\$\(NONE\)$'

# Mount points that the machine does not have, in /dev/shm, /etc, the root folder and the caller's home.
cat >look.sh <<'SH'
set -e
umask 022
m=$1
[ "$(cat /etc/$m/K1)" = v1 ]
[ "$(cat /etc/$m/script.sh)" = "echo from a config map" ]
[ "$(stat -Lc %a /etc/$m/secret)" = 400 ]
[ "$(cat /$m/proj/a/pass)" = sesame ]
[ "$(cat /$m/proj/name)" = "$POD" ]
grep -q 'team="red"' /$m/info/labels
[ "$(od -An -tx1 </$m/bin)" = " 00 01 02 80 ff" ]
! { echo x >/etc/$m/K1; } 2>/dev/null
[ -s /etc/passwd ] && [ -d /usr/bin ] && getent hosts localhost >/dev/null
echo mine >"$HOME/$m/deep/er/file"
mkdir /dev/shm/$m-x 2>/dev/null && rmdir /dev/shm/$m-x || true
echo "$POD" >/dev/shm/$m/who
echo "$POD" >>/$m/hp/everybody
sleep 0.5
[ "$(cat /dev/shm/$m/who)" = "$POD" ]
[ "$(cat "$HOME/$m/deep/er/file")" = mine ]
echo all found
SH
cp look.sh home/work/
m=kft-$$
mkdir -m 777 hostpath
volumes_job() { # HOME
	job volumes 2 < <(cat <<-Y
		replicatedJobs:
		- name: node
		  template:
		    LABEL
		    spec:
		      backoffLimit: 0
		      template:
		        metadata: {labels: {team: red}}
		        spec:
		          restartPolicy: Never
		          volumes:
		          - {name: empty, emptyDir: {}}
		          - {name: shm, emptyDir: {medium: Memory}}
		          - {name: cm, configMap: {name: cm, items: [{key: K1, path: K1}, {key: script.sh, path: script.sh}]}}
		          - {name: all, configMap: {name: cm}}
		          - {name: se, secret: {secretName: se, defaultMode: 0400}}
		          - {name: pr, projected: {sources: [{secret: {name: se, items: [{key: pass, path: a/pass}]}}, {downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}]}}
		          - {name: info, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
		          - {name: hp, hostPath: {path: $scratch/hostpath, type: Directory}}
		          containers:
		          - name: node
		            image: none
		            command: [bash, look.sh, $m]
		            env: [{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
		            volumeMounts:
		            - {name: cm, mountPath: /etc/$m}
		            - {name: se, mountPath: /etc/$m/secret, subPath: key}
		            - {name: pr, mountPath: /$m/proj}
		            - {name: info, mountPath: /$m/info}
		            - {name: all, mountPath: /$m/bin, subPath: bin}
		            - {name: empty, mountPath: $1/$m/deep/er}
		            - {name: shm, mountPath: /dev/shm/$m}
		            - {name: hp, mountPath: /$m/hp}
	Y
	)
	sed -n '/^kind: TrainJob/,$p' env.yaml | sed -n '/^---/,$p' >>volumes.yaml
}
clean_host() { # but for empty mount points where an ordinary user may write: those are made, and stay
	rmdir "/dev/shm/$m" 2>/dev/null
	[ ! -e "/$m" ] && [ ! -e "/etc/$m" ] && [ ! -e "/dev/shm/$m" ] && ! grep -qF "$m" /proc/self/mountinfo
}
export HOME="${HOME:-/}"
volumes_job "$HOME"
submit volumes
ok "volumes of every kind at mount points that do not exist" lines 2 'all found$'
ok "... exits 0" exits 0
ok "... a hostPath keeps what is written" test "$(wc -l <hostpath/everybody)" = 2
ok "... the machine is as it was" clean_host
rm -rf hostpath/everybody "${HOME:?}/$m"
if [ "$(id -u)" = 0 ]; then
	volumes_job "$scratch/home"
	as_user volumes
	ok "volumes of every kind, as an ordinary user" lines 2 'all found$'
	ok "... exits 0" exits 0
	ok "... a hostPath keeps what is written" test "$(wc -l <hostpath/everybody)" = 2
	ok "... the machine is as it was" clean_host
else
	skip "volumes of every kind, as an ordinary user" "is one"
fi

# Limits: held where control groups can be written, else said.
job memory 1 < <(node 'exec python3 -c "b = bytearray(400 << 20); print(\"had it all\")"' | sed 's|image: none,|image: none, resources: {limits: {memory: 100Mi, cpu: 500m}},|')
submit memory
if printed 'limits.memory is not applied'; then
	ok "memory limit: where it is not applied this is said, and the job runs" printed 'had it all'
else
	ok "memory limit: killed, 137" exits 137
	ok "... recognised" printed 'OOMKilled|out of memory|memory limit'
fi
ok "what is not applied is said once" test -z "$(grep 'not applied' out | sort | uniq -d)"
job notes 3 < <(node 'echo started' 'nodeSelector: {a: b}' | sed 's|image: none,|image: none, tty: true, securityContext: {runAsUser: 5},|')
submit notes
ok "... once for all pods" lines 1 'nodeSelector is not applied'
ok "... and before the start" test "$(grep -n 'not applied' out | tail -1 | cut -d: -f1)" -lt "$(grep -n 'started' out | head -1 | cut -d: -f1)"
finish
