#!/bin/bash
# A run directory outlives the TrainJob, its namespace and its pods: logs, why and runs say what they said before, and
# the run goes on in another namespace.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared
mkdir "$scratch/code"
serve_s3
check "an S3 server runs" wait_for 30 in_cluster curl -s -o "$scratch/curl" "http://$cluster_ip:7070/"
cat >"$scratch/code/train.sh" <<END
echo "rank \$JOB_COMPLETION_INDEX from \${KFTRAINER_RESUME_FROM##*/} \$*"
[ "\$2" ] && exit
mkdir "\$KFTRAINER_CHECKPOINT_DIR/.new"
echo "\$JOB_COMPLETION_INDEX" >"\$KFTRAINER_CHECKPOINT_DIR/.new/state.\$JOB_COMPLETION_INDEX"
mv "\$KFTRAINER_CHECKPOINT_DIR/.new" "\$KFTRAINER_CHECKPOINT_DIR/checkpoint-1"
$until_go
[ "\$JOB_COMPLETION_INDEX" = 0 ] && sleep 600
echo "the loss is not finite"
exit 3
END
# shellcheck disable=SC2317 # called by check
submit() { on_cluster submit "$@" >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }; }

# ---- a job of two nodes that fails, in a namespace of its own --------------------------------------------------------
stays=$ns ns=$ns-gone
kc create namespace "$ns" >/dev/null
wait_for 30 k get serviceaccount default >/dev/null
runtimes | k apply -f - >/dev/null 2> >(grep -v "^Warning: .*Open MPI 5" >&2)
place
check "a job with a run directory" submit -n "$ns" --name bert --runtime torch --nodes 2 --run-dir s3://bucket/bert \
	--annotation kftrainer.io/run-dir-secret=place --workspace "$scratch/code" -- bash train.sh first
check "... its checkpoint is complete" wait_for 120 test -s "$scratch/s3/bucket/bert/checkpoints/checkpoint-1.complete"
sorted() { sed 's/^\[[^]]*\] //' | grep -v "^kftrainer supervise\|^the loss" | sort; }
on_cluster logs -n "$ns" bert 2>/dev/null | sorted >"$scratch/logs"
check "... a node fails" eval 'go_on "$(pods bert | tr " " "\n" | grep node-0-1-)"'
check "... and so does the job" becomes bert Failed
on_cluster why -n "$ns" bert >"$scratch/why"
check "its logs and its cause, as they are now" eval '[ "$(grep -c "from  first" "$scratch/logs")" = 2 ] && grep -q "exit code 3" "$scratch/why"'
kc delete namespace "$ns" --timeout=300s >/dev/null
ns=$stays

# ---- TrainJob, pods and namespace are gone ---------------------------------------------------------------------------
check "logs --from say the same" eval 'in_cluster "$kftrainer" logs --from s3://bucket/bert | sorted | diff - "$scratch/logs"'
check "why --from names the node, its exit code and its last line" eval \
	'in_cluster "$kftrainer" why --from s3://bucket/bert >"$scratch/from" && grep -q "first failure is that of node-1" "$scratch/from" &&
	grep -q "exit code 3" "$scratch/from" && grep -q "the loss is not finite" "$scratch/from" && ! grep "has been deleted" "$scratch/from" || { cat "$scratch/from"; false; }'
check "runs lists it" eval 'in_cluster "$kftrainer" runs s3://bucket | grep -E "bert +Failed .* checkpoint-1 "'
place
check "it goes on in another namespace" submit --resume s3://bucket/bert -n "$ns" --name again -- second
check "... and completes" becomes again Complete
check "... by the JobSet that was made first" eval '! told again JobSetReplaced'
check "... both nodes from the checkpoint, with its code and arguments" eval '[ "$(logs again | grep -c "from checkpoint-1 first second")" = 2 ]'
finish
