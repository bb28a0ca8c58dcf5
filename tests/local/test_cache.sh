#!/bin/bash
# A data cache in the pods of a job under `submit --local` and `controller --local`, read by Debian's PyTorch with
# pyarrow 19, which upstream's client pins, under the name of the job's Service.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2154 # server.sh
. "$(dirname "$0")/server.sh"
unset KFTRAINER_ISOLATION
table=$scratch/table
mkdir "$scratch/python"
ln -s "$(tests/setup.sh venv cache19)"/lib/python3*/site-packages/pyarrow "$scratch/python/"
export PYTHONPATH=$scratch/python
MAKE_TABLE=$table /usr/bin/python3 examples/cache_train.py

job() { # NAME TABLE: examples/cache.yaml under that name, of that table, from any directory
	sed "s#^  name: cache\$#  name: $1#; s#value: /tmp/table#value: $2#; s#examples/cache_train#$PWD/&#" examples/cache.yaml >"$scratch/$1.yaml"
}

job first "$table"
job second "$table"
up
run kubectl apply -f "$scratch/second.yaml"
run "$kftrainer" submit --local "$scratch/first.yaml"
ok "two nodes train on rows of the cache" exits 0
ok "... each on its shard" test "$(grep -c 'rank [01] of 2: 50000 rows' "$scratch/out")" = 2
ok "... all ranks have read every row once" printed 'all ranks: 100000 rows, checksum right'
ok "... the fit is right" printed 'y = (2\.9|3\.0).* x \+ (0\.9|1\.0)'
ok "... the cache ends with the job" printed 'first: complete'
run kubectl wait --timeout=-1s --for=condition=Complete trainjob/second
ok "another job beside it, of this machine's API, has a cache of its own" exits 0
run kubectl logs -l jobset.sigs.k8s.io/jobset-name=second,jobset.sigs.k8s.io/replicatedjob-name=node --tail=-1
ok "... with all rows" printed 'all ranks: 100000 rows, checksum right'
run kubectl get services
ok "... and a Service" printed '^second-cache-service +ClusterIP '
kubectl delete trainjob second >/dev/null
gone() { ! kubectl get service second-cache-service; }
ok "... that goes with the job" until_true gone

job none "$scratch/nothing"
run "$kftrainer" submit --local "$scratch/none.yaml"
ok "a table that does not exist: the job fails" exits 1
ok "... and says so" printed "$scratch/nothing"

sed 's/-with-cache-jobs/-with-cache/' "$scratch/first.yaml" >"$scratch/upstream.yaml"
run env KUBECONFIG="$scratch/none" "$kftrainer" submit --local "$scratch/upstream.yaml"
ok "upstream's runtime, which would use a cluster, is refused" exits 2
ok "... with the one to use" printed 'torch-distributed-with-cache-jobs'
finish
