#!/bin/bash
# `submit --export-to --register` with real kubelets: two nodes train, the model of rank 0 goes to an S3 server and its
# version into MLflow, from pods with a random user, a root that cannot be written, and no capability. The same words with
# --local find that version.
# before: tests/setup.sh store
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared
strict='runAsUser: 1234567, runAsGroup: 0, runAsNonRoot: true, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}'
runtime exports 0 torch >"$scratch/exports"
sed -i "s/image: kft.local.torch:1}/image: kft.local\/torch:1, securityContext: {$strict}}/; s/^  template:/&\n    metadata: {annotations: {kftrainer.io\/export-secret: store}}/; s/^      replicatedJobs:/      failurePolicy: {maxRestarts: 2}\n&/" "$scratch/exports"
k apply -f "$scratch/exports" >/dev/null
mlflow=http://$cluster_ip:7090
mkdir -p "$scratch/code"

# ---- the servers -----------------------------------------------------------------------------------
answers() { in_cluster curl -s -o "$scratch/curl" "$1" || { tail -n 5 "$scratch"/{s3,mlflow}.log; return 1; }; } # URL
serve_s3
serve_mlflow
check "an S3 server answers" wait_for 30 answers "http://$cluster_ip:7070/"
check "... and MLflow" wait_for 120 answers "$mlflow/health"
credentials=(ENDPOINT="http://$cluster_ip:7070" ACCESS_KEY_ID=key SECRET_ACCESS_KEY=secretsecret)
k create secret generic store "${credentials[@]/#/--from-literal=}" >/dev/null

# ---- the job ---------------------------------------------------------------------------------------
cat >"$scratch/code/train.py" <<'END'
import json, os, ssl, torch, urllib.request
torch.manual_seed(0)
model, x = torch.nn.Linear(1, 1), torch.arange(10.0).reshape(10, 1) / 10
for step in range(200):
    loss = ((model(x) - 3 * x) ** 2).mean()
    model.zero_grad(); loss.backward()
    with torch.no_grad():
        for p in model.parameters(): p -= 0.2 * p.grad
torch.save(model.state_dict(), os.environ["KFTRAINER_MODEL_DIR"] + "/model.pt")
if os.environ["JOB_COMPLETION_INDEX"] == "0":
    url, ca, token = (os.environ.get("KUBEFLOW_TRAINER_SERVER_" + name) for name in ("URL", "CA_CERT", "TOKEN"))
    body = {"trainerStatus": {"progressPercentage": 100, "lastUpdatedTime": "2026-11-27T10:00:00Z",
                              "metrics": [{"name": "loss", "value": "%.6f" % loss}]}}
    urllib.request.urlopen(urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json", "Authorization": "Bearer " + (open(token).read() if token else "")},
        method="POST"), context=ssl.create_default_context(cafile=ca) if url.startswith("https:") else None).read()
    print("loss %.6f" % loss)
END
(cd "$scratch/code" && git init -q && git add . && git -c user.name=t -c user.email=t@example.com commit -qm train)
words=(--runtime exports --nodes 2 --workspace "$scratch/code" --export-to s3://bucket/line --register "mlflow+$mlflow"
	--model-name line --property data=v7 -- python3 train.py)
submit() { # ARGUMENT...
	in_cluster env KUBECONFIG="$cluster_state/admin.kubeconfig" XDG_STATE_HOME="$scratch/state" PATH="/usr/bin:$PATH" "${credentials[@]}" \
		timeout 300 "$kftrainer" submit "$@" >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }
}
check "a job that exports and registers its model" submit -n $ns --name trained "${words[@]}"
check "... completes" becomes trained Complete
check "... its log says so" eval 'logs trained | grep -x "registered: version 1 of line"'
read_back() {
	in_cluster "$(tests/setup.sh venv registry)/bin/python" -W ignore - "$mlflow" <<-'END'
		import json, sys, mlflow
		for v in mlflow.MlflowClient(sys.argv[1]).search_model_versions("name = 'line'"):
		    tags = {k: t for k, t in v.tags.items() if not k.startswith("kftrainer.")}
		    print(json.dumps([v.version, v.source, tags], sort_keys=True))
	END
}
is_registered() {
	local loss
	loss=$(logs trained | sed -n 's/^loss //p')
	cat >"$scratch/wanted" <<-END
		["1", "s3://bucket/line", {"commit": "$(git -C "$scratch/code" rev-parse HEAD)", "data": "v7", "format": "pytorch", "metrics.loss": "$loss", "runtime": "exports", "trainjob.name": "trained", "trainjob.namespace": "$ns", "trainjob.uid": "$(of trained .metadata.uid)", "workspace": "$(of trained .metadata.annotations.kftrainer\\.io/workspace)"}]
	END
	read_back >"$scratch/got" && diff "$scratch/got" "$scratch/wanted"
}
check "... MLflow's client has the version, and where it comes from" is_registered
check "... the bucket has the model" eval '[ "$(find "$scratch/s3/bucket" -type f -printf "%P ")" = "line/model.pt " ]'
sed "s/ metadata: {annotations: {kftrainer.io.export-secret: store}}//" "$scratch/exports" >"$scratch/local.yaml"
check "the same words on this machine" submit --local --name local --runtime-file "$scratch/local.yaml" -n $ns "${words[@]}"
check "... find the same files, and their version" grep -q 'registered before: version 1 of line' "$scratch/out"
check "... there is one" eval '[ "$(read_back | wc -l)" = 1 ]'

# shellcheck disable=SC2016
check "a bucket that does not exist" submit -n $ns --name absent --export-to s3://absent/x --runtime exports --nodes 2 -- \
	bash -c 'echo weights >"$KFTRAINER_MODEL_DIR/model"'
check "... fails the job" becomes absent Failed
check "... which does not train again, though restarts are left" eval '[ "$(k get jobset absent -o "jsonpath={.status.restarts}")" -le 0 ]'
check "... and is why" why_says absent '^absent has failed: .*s3://absent/: no such bucket'
check "no secret is shown" eval '! { logs trained; logs absent; k get events,trainjobs,jobsets -o json; } | grep secretsecret'
k delete trainjobs --all --wait=false >/dev/null
finish
