/* Commands that would train wrongly, and right ones, which have no fault. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/launcher.h"

enum policy { TORCH, MPI, JAX, PLAIN };
static const char *const policies[] = { "torch: {}", "mpi: {numProcPerNode: 1}",
					"jax: {}", "numNodes: 1" };

#define JOINS "from accelerate import Accelerator\\na = Accelerator()\\n"

static const struct {
	const char *command; /* JSON */
	enum policy policy;
	int nodes, procs;
	const char *fault, *use; /* parts of the line; NULL: none */
} rows[] = {
	{ "[accelerate, launch, a.py]", TORCH, 2, 0,
	  "accelerate launch without "
	  "--machine_rank",
	  "torchrun SCRIPT" },
	{ "[accelerate, launch, --config_file, c.yaml, a.py]", TORCH, 2, 0, "2 nodes",
	  "--launcher accelerate" },
	{ "[/opt/bin/accelerate, launch, a.py]", TORCH, 2, 0, "accelerate launch", "" },
	{ "[python3, -m, accelerate.commands.launch, a.py]", TORCH, 2, 0,
	  "accelerate.commands.launch", "torchrun" },
	{ "[sh, -c, 'set -e; pip install accelerate && exec accelerate launch a.py']",
	  TORCH, 2, 0, "accelerate launch", "torchrun" },
	{ "[bash, -lc, \"A=1 accelerate \\\\\\n launch a.py\"]", TORCH, 2, 0,
	  "accelerate launch", "torchrun" },
	{ "[accelerate, launch, a.py]", MPI, 2, 0, "accelerate starts",
	  "mpirun python3" },
	{ "[trl, sft, --model, m]", TORCH, 2, 0, "trl sft",
	  "torchrun -m trl.scripts.sft" },
	{ "[fabric, run, a.py]", TORCH, 2, 0, "fabric run without --node_rank",
	  "torchrun" },
	{ "[lightning, run, model, a.py]", TORCH, 2, 0, "lightning run", "torchrun" },
	{ "[deepspeed, --num_gpus, '2', a.py]", TORCH, 2, 0, "deepspeed without",
	  "torchrun" },
	{ "[deepspeed, a.py]", MPI, 2, 0, "launcher only", "mpirun" },
	{ "[tune, run, full_finetune_distributed, --config, c]", TORCH, 2, 0, "tune run",
	  "--rdzv_endpoint=$PET_MASTER_ADDR" },
	/* ml-explore/mlx#1810: it ends with 0 although its processes failed */
	{ "[mlx.launch, -n, '2', a.py]", MPI, 2, 0, "mlx.launch starts processes on the",
	  "mpirun python3" },
	{ "[mlx.launch, -n, '2', a.py]", TORCH, 2, 0, "mlx.launch without --hosts",
	  "with mlx-distributed" },
	{ "[mlx.launch, --hostfile, h.json, a.py]", MPI, 2, 0, NULL, NULL },
	{ "[python3, train.py]", MPI, 2, 0, "python3 without mpirun", "mpirun python3" },
	{ "[python3, train.py]", MPI, 1, 4, "python3 without mpirun", "mpirun python3" },
	{ "[torchrun, a.py]", MPI, 2, 0, "torchrun starts processes on the launcher",
	  "mpirun" },
	{ "[python3, -c, \"" JOINS "\"]", TORCH, 2, 0, "trains alone", "torchrun" },
	{ "[python3, -c, \"" JOINS "\"]", TORCH, 1, 2, "on the node", "torchrun" },
	{ "[python3, -u, acc.py]", TORCH, 2, 0, "trains alone", "--launcher torchrun" },
	{ "[sh, -c, 'cd x && python3 acc.py']", TORCH, 2, 0, "trains alone", "torchrun" },
	{ "[timeout, -k, '10', '3600', accelerate, launch, a.py]", TORCH, 2, 0,
	  "accelerate launch", "torchrun" },
	{ "[nice, -n, '5', env, -u, A, B=c, accelerate, launch, a.py]", TORCH, 2, 0,
	  "accelerate launch", "torchrun" },
	{ "[sh, -c, 'exec taskset -c 0-3 stdbuf -oL timeout --foreground 1h trl sft']",
	  TORCH, 2, 0, "trl sft", "torchrun -m trl.scripts.sft" },
	{ "[numactl, --cpunodebind=0, python3, acc.py]", TORCH, 2, 0, "trains alone",
	  "torchrun" },

	{ "[llamafactory-cli, train, c.yaml]", TORCH, 2, 0,
	  "llamafactory-cli train without NODE_RANK does",
	  "use 'torchrun -m llamafactory.launcher CONFIG'" },
	{ "[bash, -c, 'FORCE_TORCHRUN=1 lmf train c.yaml']", TORCH, 2, 0, "lmf train",
	  "torchrun -m llamafactory.launcher" },
	{ "[swift, rlhf, --model, m]", TORCH, 2, 0, "swift rlhf without NODE_RANK",
	  "torchrun -m swift.cli.rlhf" },
	{ "[axolotl, train, c.yaml]", TORCH, 2, 0, "axolotl train without --machine_rank",
	  "axolotl train CONFIG --launcher torchrun" },
	{ "[composer, -n, '2', a.py]", TORCH, 2, 0, "composer without --node_rank",
	  "--node_rank $PET_NODE_RANK" },
	{ "[oumi, distributed, torchrun, -m, oumi, train]", TORCH, 2, 0,
	  "oumi distributed", "torchrun -m oumi train" },

	{ "[torchrun, --standalone, --nproc-per-node=gpu, a.py]", TORCH, 2, 0,
	  "torchrun --standalone does not join the nodes: each of the 2 nodes",
	  "leave it out" },
	{ "[torchrun, --nproc_per_node, '2', --nnodes, '1', a.py]", TORCH, 2, 0,
	  "torchrun --nnodes 1 does", "" },
	{ "[torchrun, --nnodes=1:1, a.py]", TORCH, 2, 0, "torchrun --nnodes=1:1 does",
	  "" },
	{ "[bash, -c, 'torchrun --rdzv-backend=c10d --rdzv-endpoint=localhost:0 a.py']",
	  TORCH, 2, 0, "torchrun --rdzv-endpoint=localhost:0 does", "" },
	{ "[python3, -m, torch.distributed.run, --rdzv_endpoint, '127.0.0.1:29500', -m, "
	  "a]",
	  TORCH, 2, 0, "torch.distributed.run --rdzv_endpoint 127.0.0.1:29500 does", "" },
	{ "[bash, wrong.sh]", TORCH, 2, 0, "accelerate launch", "torchrun SCRIPT" },
	{ "[bash, -o, pipefail, wrong.sh]", TORCH, 2, 0, "accelerate launch", "" },
	{ "[bash, -euo, pipefail, -c, 'accelerate launch a.py']", TORCH, 2, 0,
	  "accelerate launch", "" },
	{ "[./wrong.sh, --lr, '1']", TORCH, 2, 0, "accelerate launch",
	  "torchrun SCRIPT" },
	{ "[bash, -ex, itself.sh]", TORCH, 2, 0, "trl sft", "" },
	{ "[sh, -c, 'cd x; bash wrong.sh']", TORCH, 2, 0, "accelerate launch", "" },
	{ "[uv, run, --with, torch, accelerate, launch, a.py]", TORCH, 2, 0,
	  "accelerate launch", "" },
	{ "[uv, run, acc.py]", TORCH, 2, 0, "trains alone", "torchrun" },
	{ "[./acc.py]", TORCH, 2, 0, "trains alone", "torchrun" },
	{ "[conda, run, --no-capture-output, -n, env, accelerate, launch, a.py]", TORCH,
	  2, 0, "accelerate launch", "" },
	{ "[nsys, profile, -o, x, --trace=cuda, python, acc.py]", TORCH, 2, 0,
	  "trains alone", "torchrun" },
	{ "[numactl, -N, '0', trl, sft]", TORCH, 2, 0, "trl sft", "" },

	{ "[mpirun, -np, '2', -H, 'localhost:2', python3, a.py]", MPI, 2, 0,
	  "mpirun -H localhost:2 starts all processes on one node", "leave it out" },
	{ "[horovodrun, -np, '4', -H, 'localhost:4', python3, a.py]", MPI, 2, 0,
	  "horovodrun -H localhost:4 starts all", "" },
	{ "[mpiexec, --host, 127.0.0.1, ./a]", MPI, 2, 0, "mpiexec --host 127.0.0.1",
	  "" },
	{ "[mpirun, -H, 'localhost:2', python3, a.py]", MPI, 1, 2, NULL, NULL },
	{ "[mpirun, -H, 'localhost:2,b:2', python3, a.py]", MPI, 2, 0, NULL, NULL },
	{ "[mpirun, --allow-run-as-root, python3, a.py, --host, localhost]", MPI, 2, 0,
	  NULL, NULL },
	{ "[mpirun, -np, '2', ./a, --host, localhost]", MPI, 2, 0, NULL, NULL },
	{ "[mpirun, -H]", MPI, 2, 0, NULL, NULL },
	{ "[torchrun, --standalone, a.py]", TORCH, 1, 2, NULL, NULL },
	{ "[torchrun, --nnodes=2, a.py, --standalone]", TORCH, 2, 0, NULL, NULL },
	{ "[torchrun, '--nnodes=1:2', a.py]", TORCH, 2, 0, NULL, NULL },
	{ "[torchrun, -m, a, --nnodes=1]", TORCH, 2, 0, NULL, NULL },
	{ "[torchrun, --nnodes]", TORCH, 2, 0, NULL, NULL },
	{ "[sh, -c, 'torchrun --standalone prepare.py && torchrun a.py']", TORCH, 2, 0,
	  NULL, NULL },
	{ "[bash, right.sh]", TORCH, 2, 0, NULL, NULL },
	{ "[bash, aware.sh]", TORCH, 2, 0, NULL, NULL },
	{ "[bash]", TORCH, 2, 0, NULL, NULL },
	{ "[uv, run, torchrun, a.py]", TORCH, 2, 0, NULL, NULL },
	{ "[uv, run, --with]", TORCH, 2, 0, NULL, NULL },
	{ "[llamafactory-cli, export, c.yaml]", TORCH, 2, 0, NULL, NULL },
	{ "[yolo, detect, train, model=m]", TORCH, 2, 0, "yolo trains on one node only",
	  "each of the 2 nodes trains alone; use one node" },
	{ "[sh, -c, 'cd x; yolo task=detect mode=train']", TORCH, 3, 0, "yolo trains",
	  "3 nodes" },
	{ "[yolo, detect, train]", TORCH, 1, 2, NULL, NULL },
	{ "[yolo, detect, val]", TORCH, 2, 0, NULL, NULL },
	{ "[sh, -c, 'NNODES=2 NODE_RANK=$PET_NODE_RANK llamafactory-cli train c']", TORCH,
	  2, 0, NULL, NULL },
	{ "[torchrun, -m, llamafactory.launcher, c.yaml]", TORCH, 2, 0, NULL, NULL },
	{ "[lmf, train, c], env: [{name: NODE_RANK, value: '1'}]", TORCH, 2, 0, NULL,
	  NULL },
	{ "[axolotl, train, c.yaml, --launcher, torchrun]", TORCH, 2, 0, NULL, NULL },
	{ "[accelerate, launch, a.py]", TORCH, 1, 4, NULL, NULL },
	{ "[accelerate, launch, a.py]", JAX, 2, 0, NULL, NULL },
	{ "[accelerate, launch, a.py]", PLAIN, 2, 0, NULL, NULL },
	{ "[accelerate, launch, --machine-rank=1, a.py]", TORCH, 2, 0, NULL, NULL },
	{ "[sh, -c, 'accelerate launch --machine_rank $PET_NODE_RANK a.py']", TORCH, 2, 0,
	  NULL, NULL },
	{ "[sh, -c, 'accelerate launch --config_file c$JOB_COMPLETION_INDEX a.py']",
	  TORCH, 2, 0, NULL, NULL },
	{ "[accelerate, config, default]", TORCH, 2, 0, NULL, NULL },
	{ "[torchrun, a.py]", TORCH, 2, 0, NULL, NULL },
	{ "[timeout, 1h, torchrun, a.py]", TORCH, 2, 0, NULL, NULL },
	{ "[timeout]", TORCH, 2, 0, NULL, NULL },
	{ "[nice, -n]", TORCH, 2, 0, NULL, NULL },
	{ "[torchrun, -m, accelerate.commands.launch]", TORCH, 2, 0, NULL, NULL },
	{ "[python, -m, torch.distributed.run, a.py]", TORCH, 2, 0, NULL, NULL },
	{ "[bash, -c, 'pip install deepspeed; torchrun a.py --deepspeed d.json']", TORCH,
	  2, 0, NULL, NULL },
	{ "[bash, -c, \"cat > a.py <<E\\n" JOINS "\\nE\\ntorchrun a.py\"]", TORCH, 2, 0,
	  NULL, NULL },
	{ "[deepspeed, --hostfile, /etc/mpi/hostfile, a.py]", MPI, 2, 0, NULL, NULL },
	{ "[mpirun, python3, a.py]", MPI, 2, 0, NULL, NULL },
	{ "[mpirun, -np, '4', bash, -c, 'python3 a.py']", MPI, 2, 0, NULL, NULL },
	{ "[sh, -c, 'python3 prepare.py && mpirun -n 2 python3 a.py']", MPI, 2, 0, NULL,
	  NULL },
	{ "[python3, train.py]", MPI, 1, 0, NULL, NULL },
	{ "[python3, train.py]", TORCH, 2, 0, NULL, NULL },
	{ "[python3, plain.py]", TORCH, 2, 2, NULL, NULL },
	{ "[python3, aware.py]", TORCH, 2, 2, NULL, NULL },
	{ "[python3, spawns.py]", TORCH, 2, 2, NULL, NULL },
	{ "[python3, acc.py]", JAX, 2, 0, NULL, NULL },
	{ "[bash, start.sh]", TORCH, 2, 0, NULL, NULL },
	{ "[tune, download, m]", TORCH, 2, 0, NULL, NULL },
	{ "[]", TORCH, 2, 0, NULL, NULL },
};

static const char *read_code(void *ctx, struct arena *arena, const char *path)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{ "acc.py", "from accelerate import Accelerator\n" },
		{ "plain.py", "print('hello')\n" },
		{ "aware.py", "import os\ninit_process_group('gloo', "
			      "rank=int(os.environ['PET_NODE_RANK']))\n" },
		{ "wrong.sh",
		  "#!/bin/sh\n# by torchrun later\naccelerate launch a.py\n" },
		{ "itself.sh", "[ $# = 0 ] && bash itself.sh 1\ntrl sft\n" },
		{ "right.sh", "set -e\npip install trl\ntorchrun \\\n  a.py $@\n" },
		{ "aware.sh", "accelerate launch --config_file $PET_NODE_RANK.yaml" },
		{ "spawns.py", "mp.spawn(f)\ninit_process_group('gloo')\n" },
	};

	for (size_t i = 0; i < N_ELEMENTS(files); i++)
		if (str_eq(files[i].path, str_starts(path, "./") ? path + 2 : path))
			return files[i].text;
	return NULL;
}

/* The line for a TrainJob of these values, in the arena. */
static const char *fault_of(struct arena *arena, const char *command, const char *policy,
			    int nodes, int procs, const char *more)
{
	const struct code_reader code = { .read = read_code };
	cleanup_json cJSON *rt = doc(arena_printf(
		arena,
		"{metadata: {name: rt}, spec: {mlPolicy: {%s}, template: {spec: "
		"{replicatedJobs: [%s{name: node, template: {metadata: {labels: "
		"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: "
		"{template: {spec: {containers: [{name: node}]}}}}}]}}}}",
		policy, more));
	cleanup_json cJSON *tj = doc(arena_printf(
		arena,
		"{metadata: {name: tj}, spec: {runtimeRef: {name: rt}, trainer: "
		"{numNodes: %d, numProcPerNode: %d, command: %s}}}",
		nodes, procs ? procs : 1, command));
	cleanup_info struct info info = { 0 };
	struct error err = { 0 };

	assert_int_equal(info_make(&info, tj, rt, &err), 0);
	return *more ? launcher_unused_dataset(arena, &info, tj)
		     : launcher_fault(arena, &info, tj, &code);
}

TEST(test_commands)
{
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *got =
			fault_of(&arena, rows[i].command, policies[rows[i].policy],
				 rows[i].nodes, rows[i].procs, "");

		if (!rows[i].fault != !got ||
		    (got && (!strstr(got, rows[i].fault) || !strstr(got, rows[i].use))))
			fail_msg("%s, %s: got: %s", rows[i].command,
				 policies[rows[i].policy], got ? got : "nothing");
	}
}

#define DATASET                                                                       \
	"{name: dataset-initializer, template: {metadata: {labels: "                  \
	"{trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}, spec: " \
	"{template: {spec: {containers: [{name: dataset-initializer}]}}}}}, "

TEST(test_torchtune_without_its_dataset)
{
	cleanup_arena struct arena arena = { 0 };
	const char *got = fault_of(&arena, "[tune, run]", "torch: {}", 1, 1, DATASET);

	assert_non_null(got);
	assert_non_null(strstr(got, "dataset.data_dir="));
	assert_null(fault_of(&arena, "[tune, run]", "torch: {}", 1, 1, ""));
	assert_null(
		fault_of(&arena, "[tune, run, dataset=x]", "torch: {}", 1, 1, DATASET));
}

/* kubeflow/trainer#4076 */
TEST(test_nodes_without_a_trainer)
{
	static const struct {
		const char *policy, *trainer, *container, *want;
	} lone[] = {
		{ "torch: {}, numNodes: 2", "", "", "PET_NNODES" },
		{ "jax: {}, numNodes: 2", "", "", "JAX_NUM_PROCESSES" },
		{ "xgboost: {}, numNodes: 2", "", "", "DMLC_NUM_WORKER" },
		{ "torch: {}, numNodes: 2", ", trainer: {}", "", NULL },
		{ "torch: {}, numNodes: 1", "", "", NULL },
		{ "torch: {}", "", "", NULL },
		{ "numNodes: 2", "", "", NULL },
		{ "torch: {}, numNodes: 2", "", ", env: [{name: PET_NNODES, value: '2'}]",
		  NULL },
		{ "torch: {}, numNodes: 2", "",
		  ", args: [--node-rank=$(JOB_COMPLETION_INDEX)]", NULL },
	};
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(lone); i++) {
		cleanup_json cJSON *rt = doc(arena_printf(
			&arena,
			"{metadata: {name: rt}, spec: {mlPolicy: {%s}, template: {spec: "
			"{replicatedJobs: [{name: node, template: {metadata: {labels: "
			"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: "
			"{template: {spec: {containers: [{name: node%s}]}}}}}]}}}}",
			lone[i].policy, lone[i].container));
		cleanup_json cJSON *tj = doc(arena_printf(
			&arena,
			"{metadata: {name: tj}, spec: {runtimeRef: {name: rt}%s}}",
			lone[i].trainer));
		cleanup_info struct info info = { 0 };
		struct error err = { 0 };
		const char *got;

		assert_int_equal(info_make(&info, tj, rt, &err), 0);
		got = launcher_lone_nodes(&arena, &info, tj);
		if (!lone[i].want != !got || (got && !strstr(got, lone[i].want)))
			fail_msg("%zu: got: %s", i, got ? got : "nothing");
	}
}

RUN_TESTS(NULL, NULL)
