#!/bin/bash
# install and uninstall on a real API server: what is there is taken over, who may do what.
. "$(dirname "$0")/lib.sh"
ns=$trainer_ns
name=kubeflow-trainer-controller-manager
account=system:serviceaccount:$ns:$name

trainer() { in_cluster "$kftrainer" "$@"; }
# became WHAT N: so many lines of the last output end so
became() {
	[ "$(grep -c ": $1\$" "$scratch/out")" = "$2" ] || { cat "$scratch/out"; return 1; }
}
installs() { trainer install "$@" >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }; }
# shellcheck disable=SC2120 # called by check
uninstalls() { trainer uninstall "$@" >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }; }
says() { grep -e "$1" "$scratch/out" || { cat "$scratch/out"; return 1; }; }
fails() { # LIKE ARGUMENT...
	! trainer "${@:2}" >"$scratch/out" 2>&1 && grep -e "$1" "$scratch/out" || { cat "$scratch/out"; return 1; }
}
of() { kc get "$1" "$2" -n "$ns" -o jsonpath="{$3}"; } # KIND NAME PATH

# can USER VERB RESOURCE[/SUBRESOURCE] [NS [NAME]]; cannot likewise
asks() {
	local sub=
	[ "${3#*/}" = "$3" ] || sub=${3#*/}
	kc auth can-i "$2" "${3%/*}${5:+/$5}" ${sub:+--subresource="$sub"} \
		--as "$1" --as-group system:authenticated ${4:+-n "$4"} 2>&1
}
can() { asks "$@" | grep -qx yes; }
cannot() { asks "$@" | grep -qx no; }

everything_can() {
	local what
	while read -r what; do
		# shellcheck disable=SC2086
		can "$account" $what || { echo "cannot $what"; return 1; }
	done <<-END
		watch trainjobs.trainer.kubeflow.org
		patch trainjobs.trainer.kubeflow.org/status default
		delete trainjobs.trainer.kubeflow.org default some
		update trainjobs.trainer.kubeflow.org/finalizers default
		watch clustertrainingruntimes.trainer.kubeflow.org
		patch trainingruntimes.trainer.kubeflow.org default
		create jobsets.jobset.x-k8s.io default
		delete jobsets.jobset.x-k8s.io default
		create podgroups.scheduling.x-k8s.io default
		patch podgroups.scheduling.volcano.sh default
		get secrets default some
		create configmaps default
		patch configmaps default some
		watch pods
		watch limitranges
		watch runtimeclasses.node.k8s.io
		get priorityclasses.scheduling.k8s.io
		create events default
		create tokenreviews.authentication.k8s.io
		create subjectaccessreviews.authorization.k8s.io
		update leases.coordination.k8s.io $ns trainer.kubeflow.org
		watch validatingwebhookconfigurations.admissionregistration.k8s.io default validator.trainer.kubeflow.org
		watch mutatingwebhookconfigurations.admissionregistration.k8s.io default defaulter.trainer.kubeflow.org
		update secrets $ns kubeflow-trainer-webhook-cert
	END
}
nothing_else_can() {
	local what
	while read -r what; do
		# shellcheck disable=SC2086
		cannot "$account" $what || { echo "can $what"; return 1; }
	done <<-END
		list secrets default
		watch secrets default
		delete configmaps default some
		update configmaps default some
		delete secrets default some
		update secrets default some
		create pods default
		delete pods default some
		create trainjobs.trainer.kubeflow.org default
		update leases.coordination.k8s.io default some
		list namespaces
		create clusterroles.rbac.authorization.k8s.io
		update validatingwebhookconfigurations.admissionregistration.k8s.io default some
		patch validatingwebhookconfigurations.admissionregistration.k8s.io default validator.trainer.kubeflow.org
		patch mutatingwebhookconfigurations.admissionregistration.k8s.io default defaulter.trainer.kubeflow.org
		patch leases.coordination.k8s.io $ns trainer.kubeflow.org
	END
}
users_can() {
	kc create rolebinding editor --clusterrole edit --user editor -n default &&
		kc create rolebinding viewer --clusterrole view --user viewer -n default &&
		wait_for 20 can editor create trainjobs.trainer.kubeflow.org default &&
		can editor get trainingruntimes.trainer.kubeflow.org default &&
		can editor get pods/log default &&
		cannot editor create trainingruntimes.trainer.kubeflow.org default &&
		wait_for 20 can viewer list trainjobs.trainer.kubeflow.org default &&
		can viewer get trainingruntimes.trainer.kubeflow.org default &&
		cannot viewer create trainjobs.trainer.kubeflow.org default &&
		can nobody list clustertrainingruntimes.trainer.kubeflow.org &&
		can nobody get configmaps "$ns" kubeflow-trainer-public &&
		cannot nobody get configmaps "$ns" kubeflow-trainer-config
}

# --strict-rbac: what the controller's account writes, whatever its rights say.
owner() { # UID [CONTROLLER]
	printf '[{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "j", "uid": "%s", "controller": %s}]' \
		"$1" "${2:-true}"
}
as_controller() { # KIND NAMESPACE NAME OWNERS VERB FLAG...
	kc "${@:5}" --as "$account" -f - <<-END 2>&1
		apiVersion: v1
		kind: $1
		metadata: {name: $3, namespace: $2, ownerReferences: $4, finalizers: [${finalizer:-}], annotations: {${annotation:-}}}
		${extra:-}
	END
}
refused() { as_controller "$@" | grep -e "${like:-writes only what a TrainJob controls}"; }
allowed() { as_controller "$@" | grep -e 'created$' -e 'replaced' -e 'serverside-applied' -e 'unchanged'; }
unowned_refused() {
	wait_for 60 refused Secret default probe '[]' create --dry-run=server &&
		refused ConfigMap default probe '[]' create &&
		refused Secret "$ns" other '[]' create &&
		refused ConfigMap "$ns" kubeflow-trainer-webhook-cert '[]' create &&
		refused Secret default kubeflow-trainer-webhook-cert '[]' create &&
		refused Secret default probe "$(owner one false)" create &&
		refused Secret default probe '[{apiVersion: v1, kind: TrainJob, name: j, uid: "1", controller: true}]' create
}
owned_allowed() {
	allowed Secret default mine "$(owner one)" create &&
		allowed ConfigMap default mine "$(owner one)" create &&
		extra=$'type: kubernetes.io/ssh-auth\nstringData: {ssh-privatekey: x}' allowed Secret default keys "$(owner one)" create &&
		extra='immutable: true' allowed ConfigMap default mine "$(owner one)" apply --server-side --force-conflicts
}
token_refused() { # whoever has the controller's token would have that of any account
	local annotation='kubernetes.io/service-account.name: default' extra='type: kubernetes.io/service-account-token'
	like='only Secrets of type' refused Secret default probe "$(owner one)" create &&
		refused Secret "$ns" kubeflow-trainer-webhook-cert '[]' create
}
others_kept() { # no ownership is forged over what is a user's, or another TrainJob's
	local finalizer=example.com/kept # there is no such TrainJob, and garbage is collected
	kc create secret generic theirs -n default --from-literal=token=x &&
		like='does not take over' refused Secret default theirs "$(owner one)" apply --server-side --force-conflicts &&
		allowed Secret default anothers "$(owner one)" create &&
		kc patch secret anothers -n default --as "$account" --type merge \
			-p '{"metadata": {"ownerReferences": '"$(owner two)}}" 2>&1 | grep 'does not take over' &&
		kc patch secret anothers -n default --type merge -p '{"metadata": {"finalizers": null}}'
}
others_write() { kc create configmap theirs -n default --from-literal=a=b; }
own_certificate() {
	kc get secret kubeflow-trainer-webhook-cert -n "$ns" -o yaml | kc replace --as "$account" -f - | grep 'replaced$'
}

# As upstream's manifests leave one: its selector, a volume for the certificate, slow probes.
deployment() { # LABELS [FLAG]
	# shellcheck disable=SC2086
	kc apply --server-side ${2:-} -f - <<-END
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: $name, namespace: $ns}
		spec:
		  selector: {matchLabels: {$1}}
		  template:
		    metadata: {labels: {$1}}
		    spec:
		      serviceAccountName: $name
		      containers:
		      - name: manager
		        image: example/upstream
		        args: [--config=/controller_manager_config.yaml, --zap-log-level=2]
		        readinessProbe: {httpGet: {path: /readyz, port: 8081}, initialDelaySeconds: 10, periodSeconds: 15}
		        volumeMounts: [{name: cert, mountPath: /tmp/k8s-webhook-server/serving-certs}]
		      volumes: [{name: cert, secret: {secretName: kubeflow-trainer-webhook-cert}}]
	END
}
upstream='app.kubernetes.io/name: trainer, app.kubernetes.io/component: manager, app.kubernetes.io/part-of: kubeflow'
in_place() { # the same object, with our arguments and probes
	[ "$(of deployment $name .metadata.uid)" = "$uid" ] &&
		[ "$(of deployment $name '.spec.template.spec.containers[0].args[0]')" = controller ] &&
		[ -z "$(of deployment $name '.spec.template.spec.containers[0].readinessProbe.initialDelaySeconds')" ]
}
handed_back() { # nothing of ours that would keep upstream's image from running
	deployment "$upstream" --force-conflicts && [ "$(of deployment $name .metadata.uid)" = "$uid" ] &&
		[ "$(of deployment $name '.spec.template.spec.containers[0].image')" = example/upstream ] &&
		[ "$(of deployment $name '.spec.template.spec.containers[0].args[0]')" = --config=/controller_manager_config.yaml ] &&
		[ -z "$(of deployment $name '.spec.template.spec.containers[0].command')" ]
}
recreated() { [ "$(of deployment $name .metadata.uid)" != "$uid" ] && [ "$(of deployment $name .spec.replicas)" = 2 ]; }

# As Argo CD compares them; what the API server adds within a list would differ for ever.
applied_again() {
	trainer install --runtimes -o yaml >"$scratch/runtimes.yaml" && kc apply -f "$scratch/runtimes.yaml" >/dev/null &&
		kc apply -f "$scratch/runtimes.yaml" >"$scratch/out" && became_all unchanged
}
became_all() { [ -s "$scratch/out" ] && ! grep -v " $1\$" "$scratch/out"; }
change_config() {
	kc patch configmap kubeflow-trainer-config -n "$ns" --type merge \
		-p '{"data":{"controller_manager_config.yaml":"mine"}}'
}
on_host_network() { # a user's choice, kept
	kc patch deployment $name -n "$ns" --type merge \
		-p '{"spec":{"template":{"spec":{"hostNetwork":true,"dnsPolicy":"ClusterFirstWithHostNet"}}}}' && installs &&
		[ "$(of deployment $name '.spec.template.spec.hostNetwork')" = true ]
}
config_is() { [ "$(of configmap kubeflow-trainer-config '.data.controller_manager_config\.yaml')" = "$1" ]; }
keep_secret() {
	kc patch secret kubeflow-trainer-webhook-cert -n "$ns" --type merge -p '{"data":{"ca.crt":"YQ=="}}' &&
		installs --controller && [ "$(of secret kubeflow-trainer-webhook-cert '.data.ca\.crt')" = YQ== ]
}
gone() { ! kc get "$@" 2>&1 | grep -v -e NotFound -e 'No resources found'; }

# A node of which only the API server knows; its pods run when the test says so, and answer
# where the controller's process listens.
pretend_node() {
	kc create -f - <<-END &&
		apiVersion: v1
		kind: Node
		metadata: {name: pretended, labels: {kubernetes.io/hostname: pretended}}
	END
		kc patch node pretended --subresource=status -p '{"status": {
			"capacity": {"cpu": "8", "memory": "8Gi", "pods": "20"},
			"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "20"},
			"conditions": [{"type": "Ready", "status": "True", "reason": "Pretended",
				"lastHeartbeatTime": "'"$(date -u +%FT%TZ)"'"}]}}' &&
		kc taint node pretended node.kubernetes.io/not-ready- 2>/dev/null
	return 0
}
pods_run() {
	local pod
	for pod in $(kc get pods -n "$ns" -l app.kubernetes.io/component=manager --field-selector spec.nodeName=pretended -o name); do
		kc patch "$pod" -n "$ns" --subresource=status -p '{"status": {"phase": "Running",
			"podIP": "'"$cluster_ip"'", "podIPs": [{"ip": "'"$cluster_ip"'"}],
			"conditions": [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}]}}'
	done
	grep -q . <<<"${pod:-}"
}
waits() {
	local installing
	pretend_node
	trainer install --wait --timeout 600s --replicas 1 >"$scratch/out" 2>&1 &
	installing=$!
	wait_for 30 kc get sa "$name" -n "$ns" &&
		cluster kubeconfig "$scratch/account.kubeconfig" "$account" || return 1
	in_cluster env KUBECONFIG="$scratch/account.kubeconfig" \
		bash -c 'echo $$ >"$0"; exec "$@"' "$scratch/controller-1.pid" \
		"$kftrainer" controller >"$scratch/controller.log" 2>&1 &
	wait_for 60 pods_run || { kc get pods -n "$ns" -o wide; kc describe pods -n "$ns" | tail -5; return 1; }
	wait "$installing" && says 'available' && says 'the webhooks answer' ||
		{ cat "$scratch/out"; tail -n 5 "$scratch/controller.log"; return 1; }
}
job_stays() {
	kc create namespace team && kc create -f - <<-END &&
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: kept, namespace: team}
		spec: {runtimeRef: {name: torch-distributed}, suspend: true}
	END
		uninstalls && kc get trainjob kept -n team
}

# What the Job of `install --runtimes-job` runs, with its account; there is no node for it here.
runs_job() {
	local args account=kubeflow-trainer-runtimes-installer
	mapfile -t args < <(kc get job -n "$ns" -l app.kubernetes.io/component=runtimes-installer \
		-o 'jsonpath={range .items[0].spec.template.spec.containers[0].args[*]}{@}{"\n"}{end}')
	[ "${args[*]}" = "install --runtimes --image=i.example/kftrainer:1" ] || { echo "${args[*]}"; return 1; }
	cluster kubeconfig "$scratch/$account.kubeconfig" "system:serviceaccount:$ns:$account" &&
		in_cluster env KUBECONFIG="$scratch/$account.kubeconfig" "$kftrainer" "${args[@]}"
}
by_kubectl() { trainer install --crds --runtimes-job --image i.example/kftrainer:1 -o yaml | kc apply --server-side -f -; }

cluster_up
missing() { fails "the server could not find the requested resource; Kubeflow Trainer is not installed in this cluster: run 'kftrainer install'" "$@"; }
check "without the CRDs, commands say that they are missing" eval 'missing get && missing get a && missing wait a && missing submit --runtime torch-distributed -- true'
check "... so does why" fails 'Kubeflow Trainer is not installed in this cluster: run .kftrainer install' why a
check "nothing there: all is created" installs
check "... every object" became created 38
check "... and the CRDs are served" kc get trainjobs,trainingruntimes,clustertrainingruntimes -A
check "again: nothing changes" installs
check "... of every object" became unchanged 38
check "kubectl apply of the runtimes, twice: no list has less than the API server stores" applied_again
check "the controller's account can do its work" everything_can
check "... and no more" nothing_else_can
check "users: edit, view, anybody" users_can
check "--strict-rbac: two more objects" installs --strict-rbac
check "... created" became created 2
check "... the controller writes no Secret and no ConfigMap that no TrainJob controls" unowned_refused
check "... those that one does" owned_allowed
check "... takes over no other's" others_kept
check "... makes no token of a service account" token_refused
check "... its certificate" own_certificate
check "... and others are not asked" others_write
check "settings that a user wrote" change_config
check "... are kept" installs
check "... and it is said" says 'kubeflow-trainer-config: unchanged: managed by another writer'
check "... really" config_is mine
check "the network of the node, where the API server cannot reach that of pods" on_host_network
check "an existing certificate is kept" keep_secret
check "--wait has an end, and says why" fails 'not available within 2 s: .*nodes' install --controller --wait --timeout 2s
check "uninstall --dry-run" uninstalls --dry-run
check "... removes nothing" became 'would be removed' 36
check "uninstall" uninstalls
check "... all but CRDs and namespace" became removed 36
check "... really" gone -n "$ns" -l app.kubernetes.io/name=trainer \
	deployment,service,secret,configmap,role,rolebinding,poddisruptionbudget,networkpolicy
check "... the CRDs stay" kc get crd trainjobs.trainer.kubeflow.org
check "again: nothing to remove" uninstalls
check "... of all" became removed 0
check "data caches in two namespaces" installs --cache-namespace default --cache-namespace kube-public --cache-token-review
check "... of all" became created 41
check "uninstall" uninstalls
check "... takes their rights, too" became removed 41
check "... really" gone -A -l app.kubernetes.io/name=trainer clusterrole,clusterrolebinding,serviceaccount,rolebinding
check "a Deployment of upstream's" deployment "$upstream"
uid=$(of deployment $name .metadata.uid)
check "... is taken over" installs --controller
check "... in place" in_place
check "... and can be handed back" handed_back
kc delete deployment $name -n "$ns" >/dev/null
check "a Deployment with another selector" deployment 'app.kubernetes.io/instance: kubeflow-trainer'
uid=$(of deployment $name .metadata.uid)
check "... is deleted" installs --controller
check "... which is said" says 'deleted: its pod selector is different and cannot be changed'
check "... and recreated" recreated
kc label service $name -n "$ns" --overwrite app.kubernetes.io/managed-by=Helm >/dev/null
kc annotate service $name -n "$ns" meta.helm.sh/release-name=rel >/dev/null
kc label clusterrole kubeflow-trainer-view --overwrite app.kubernetes.io/part-of=other >/dev/null
check "uninstall leaves what is not ours" uninstalls
check "... a Helm release's" says "kept: managed by the Helm release rel"
check "... another program's" says 'kubeflow-trainer-view: kept: part of other'
kc delete deployment,configmap,secret,service -n "$ns" --all >/dev/null
check "--wait: until the webhooks answer" waits
check "a TrainJob outlives the controller" job_stays
check "... without its runtime, which is said" says 'uninstall: warning: 1 TrainJob still refers to a removed runtime (team/kept); list_jobs'
check "uninstall --crds" uninstalls --crds
check "... takes the TrainJob, too: nothing to say" eval '! says warning'
check "... takes them, too" became removed 3
check "install, while they still go" installs --crds --apply
check "... waits until they are gone" became created 3
check "uninstall --crds, alone" uninstalls --crds --runtimes
check "runtimes without CRDs: one line" wait_for 20 fails '^kftrainer install: ClusterTrainingRuntime .*: not applied within 1 s' \
	install --runtimes --timeout 1s
check "kubectl applies CRDs and a Job for the runtimes at once" by_kubectl
check "... which has the rights for them" runs_job
check "... all of them" test "$(kc get clustertrainingruntimes -o name | wc -l)" = 13
check "... and no other" cannot "system:serviceaccount:$ns:kubeflow-trainer-runtimes-installer" delete clustertrainingruntimes.trainer.kubeflow.org
check "uninstall" uninstalls
check "... takes the Job and its rights" gone -A -l app.kubernetes.io/component=runtimes-installer job,serviceaccount,clusterrole,clusterrolebinding
controller_down
finish
