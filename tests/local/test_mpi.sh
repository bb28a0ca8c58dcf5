#!/bin/bash
# MPI jobs on this machine, with Debian's Open MPI: where ranks run, how they end. `make mpi` has the
# other implementations.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for the ranks' shells; lib.sh
. "$(dirname "$0")/lib.sh"
unset KFTRAINER_ISOLATION NO_COLOR
example=$PWD/examples/mpi.yaml

mpi() { # NAME COMMAND: of two nodes with two ranks each
	run "$kftrainer" submit --local --name "$1" --runtime deepspeed-distributed --nodes 2 --nproc-per-node 2 -- \
		mpirun.openmpi sh -c "$2"
}
ranks() { # COUNT WHAT: so many ranks printed it
	[ "$(grep -c "rank [0-3] $2\$" "$scratch/out")" = "$1" ]
}
# Two addresses, each of two ranks; of processes of this machine, 127.0.0.1 aside.
two_places() {
	[ "$(sed -n 's/.* rank [0-3] at \(127\.[0-9.]*\)$/\1/p' "$scratch/out" | sort | uniq -c | awk '$1 == 2' | wc -l)" = 2 ]
}

run "$kftrainer" submit --local "$example"
ok "examples/mpi.yaml: exit code 0" exits 0
ok "... two ranks in the launcher's pod" ranks 2 "of 4 on ranks-launcher-0-0"
ok "... two in the other" ranks 2 "of 4 on ranks-node-0-0"
ok "... what runs in place of sshd is said once" test "$(grep -c 'mpi-worker instead of sshd' "$scratch/out")" = 1
where='echo rank $OMPI_COMM_WORLD_RANK at $KFTRAINER_POD_IP'
mpi one "$where"
ok "each pod has an address of its own" two_places
KFTRAINER_ISOLATION=none mpi plain "$where"
ok "without namespaces: exit code 0" exits 0
ok "... each pod has an address of its own" two_places
ok "... nothing is left" test ! -e "$XDG_STATE_HOME/kftrainer/jobs/default/plain/latest/pods"
mpi bad 'exit 3'
ok "ranks that exit 3: exit code 3" exits 3

mpi sockets 'python3 -c "import multiprocessing, os; multiprocessing.Manager(); print(\"rank\", os.environ[\"OMPI_COMM_WORLD_RANK\"], \"shares\")"'
ok "Python's multiprocessing, and so a DataLoader, has room for its sockets in TMPDIR" ranks 4 shares

saves='trap "echo rank $OMPI_COMM_WORLD_RANK saves; exit 0" USR1; touch "$0.$OMPI_COMM_WORLD_RANK"; while :; do sleep 0.1; done'
"$kftrainer" submit --local --name saves --runtime deepspeed-distributed --nodes 2 --nproc-per-node 2 -- \
	mpirun.openmpi sh -c "$saves" "$scratch/up" >"$scratch/out" 2>&1 </dev/null &
until [ -e "$scratch/up.0" ] && [ -e "$scratch/up.1" ] && [ -e "$scratch/up.2" ] && [ -e "$scratch/up.3" ]; do
	kill -0 $! 2>/dev/null || break
	sleep 0.1
done
kill -USR1 $!
wait $!
status=$?
ok "USR1: mpirun passes it on to its ranks, and the nodes live on until they end" eval 'exits 0 && ranks 4 saves'

# A barrier of shells: each waits until all have come.
meet='touch "$0.$OMPI_COMM_WORLD_RANK"; until [ -e "$1.0" ] && [ -e "$1.3" ]; do sleep 0.05; done; echo rank $OMPI_COMM_WORLD_RANK met'
for i in 1 2; do
	"$kftrainer" submit --local --name "side$i" --runtime deepspeed-distributed --nodes 2 --nproc-per-node 2 -- \
		mpirun.openmpi sh -c "$meet" "$scratch/side$i" "$scratch/side$((3 - i))" >"$scratch/side$i.out" 2>&1 </dev/null &
done
wait
cat "$scratch"/side?.out >"$scratch/out"
ok "two jobs at once do not meet" ranks 8 met

# MPICH 4.0 of Debian hangs in MPI_Finalize in every second run over several nodes (core/local/mpich).
if command -v mpicc.mpich >/dev/null; then
	cat >"$scratch/sum.c" <<-'C'
		#include <mpi.h>
		#include <stdio.h>

		int main(int argc, char **argv)
		{
			int rank, sum;

			MPI_Init(&argc, &argv);
			MPI_Comm_rank(MPI_COMM_WORLD, &rank);
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			printf("rank %d sum %d\n", rank, sum);
			return MPI_Finalize();
		}
	C
	mpicc.mpich -o "$scratch/sum" "$scratch/sum.c"
	step='template: {spec: {template: {spec: {containers: [{name: node, image: registry.example/mpich:4}]}}}}'
	cat >"$scratch/mpich.yaml" <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: ClusterTrainingRuntime
		metadata: {name: mpich}
		spec:
		  mlPolicy: {numNodes: 3, mpi: {mpiImplementation: MPICH, runLauncherAsNode: true}}
		  template:
		    spec:
		      successPolicy: {operator: All, targetReplicatedJobs: [launcher]}
		      replicatedJobs: [{name: launcher, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {containers: [{name: node, image: registry.example/mpich:4}]}}}}}, {name: node, $step}]
	END
	sums() {
		for i in 1 2 3 4 5 6 7 8; do
			run "$kftrainer" submit --local --name "sum$i" --runtime-file "$scratch/mpich.yaml" --runtime mpich -- mpirun.mpich "$scratch/sum"
			exits 0 && ranks 3 'sum 3' || return 1
		done
	}
	ok "eight jobs of Debian's MPICH over three nodes end" sums
else
	skip "jobs of Debian's MPICH end" "mpich is not installed: tests/setup.sh mpi"
fi
finish
