#!/bin/bash
# PyTorch on two nodes, on rows of a data cache: in the pods of the job, and in a LeaderWorkerSet that its own
# controller runs. The image of the nodes has no pyarrow: pods fetch it, the program and the table from a server
# on the control plane's node.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/cluster/with_lws.sh
. "$(dirname "$0")/../cluster/with_lws.sh"
e2e_last
check "LeaderWorkerSet's controller" lws_up
ours=kftrainer:$("$kftrainer" version | awk 'NR == 1 { print $2 }')
in_cluster "$kftrainer" install --runtime torch-distributed-with-cache --cache-namespace "$ns" >"$scratch/install" 2>&1

# ---- what the pods fetch -------------------------------------------------------------------------
web=http://$cluster_ip:8100
www=$scratch/www
mkdir "$www"
arrow=$(echo "$(tests/setup.sh venv cache19)"/lib/python3*/site-packages)
tar -C "$arrow" --exclude tests --exclude include --exclude src -cf "$www/python.tar" pyarrow
cp examples/cache_train.py "$www/"
cat >"$www/start.py" <<-END
	import os, tarfile, urllib.request
	tarfile.open(fileobj=urllib.request.urlopen("$web/python.tar"), mode="r|").extractall("/tmp/py")
	urllib.request.urlretrieve("$web/cache_train.py", "/tmp/cache_train.py")
	os.environ["PYTHONPATH"] = "/tmp/py:" + os.environ["PYTHONPATH"]
	os.execvp("torchrun", ["torchrun", "/tmp/cache_train.py"])
END
MAKE_TABLE=$scratch/table PYTHONPATH=$arrow /usr/bin/python3 examples/cache_train.py
PYTHONPATH=$arrow /usr/bin/python3 - "$scratch/table" "$www/table.parquet" <<-'END'
	import sys
	from pyarrow import parquet
	parquet.write_table(parquet.read_table(sys.argv[1]), sys.argv[2], row_group_size=4000)
END
serve web /usr/bin/python3 tests/e2e/files.py "$cluster_ip" 8100 "$www"
check "the pods' files are served" wait_for 20 in_cluster curl -sf -o /dev/null -I "$web/table.parquet"

job() { # RUNTIME
	cat <<-END
		{runtimeRef: {name: $1},
		 initializer: {dataset: {storageUri: "cache://examples/line", env: [
		  {name: METADATA_LOC, value: "$web/table.parquet"}, {name: CLUSTER_SIZE, value: "3"}, {name: CACHE_IMAGE, value: "$ours"},
		  {name: HEAD_CPU, value: 50m}, {name: HEAD_MEM, value: 64Mi}, {name: WORKER_CPU, value: 50m}, {name: WORKER_MEM, value: 128Mi},
		  {name: READINESS_INITIAL_DELAY_SECONDS, value: "0"}, {name: READINESS_PERIOD_SECONDS, value: "1"}]}},
		 trainer: {image: $image, numNodes: 2, numProcPerNode: 1, env: [{name: OMP_NUM_THREADS, value: "1"}],
		  command: [python3, -c, "import urllib.request; exec(urllib.request.urlopen('$web/start.py').read())"]}}
	END
}
trained() { # JOB: each rank on its half, all rows once
	logs "$1" >"$scratch/logs" 2>&1
	cat "$scratch/logs"
	[ "$(grep -c 'rank [01] of 2: 50000 rows' "$scratch/logs")" = 2 ] &&
		grep -q 'all ranks: 100000 rows, checksum right' "$scratch/logs"
}

check "a job with its cache in its own pods" train pods "$(job torch-distributed-with-cache-jobs)"
check "a job with its cache in a LeaderWorkerSet" train lws "$(job torch-distributed-with-cache)"
for job in pods lws; do # of a job that fails the pods are deleted
	in_cluster "$kftrainer" logs $job -n "$ns" -f >"$scratch/$job.log" 2>&1 &
done
for job in pods lws; do
	check "$job: completes" eval "becomes $job Complete || { tail -n 60 $scratch/$job.log; false; }"
	check "$job: trained on all rows of the table" trained $job
done
served() { [ "$(k get leaderworkerset lws-cache -o 'jsonpath={.status.conditions[?(@.type=="Available")].status}')" = True ]; }
check "the LeaderWorkerSet was available" served
k delete trainjob lws >/dev/null
gone() { ! k get leaderworkerset lws-cache && ! k get service lws-cache-service; }
check "... and goes with its job" wait_for 60 gone
finish
