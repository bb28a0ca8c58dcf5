/*
 * Rules: upstream pkg/runtime/framework/plugins/mpi; for Intel MPI and MPICH the
 * MPI Operator's v2beta1 controller.
 */
#include "tests/unit/plugins/build.h"

#define LAUNCH_JOB RJOB("launcher", TRAINS, ONE("node"))
#define NODE_JOB   RJOB("node", "", ONE("node"))
#define MPI(policy, jobs) \
	"{mlPolicy: {" policy "}, template: {spec: {replicatedJobs: [" jobs "]}}}"
#define BOTH LAUNCH_JOB ", " NODE_JOB

#define OMPI(slots)                                                                     \
	"OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile "                             \
	"OMPI_MCA_orte_keep_fqdn_hostnames=true OMPI_MCA_orte_set_default_slots=" slots \
	" "                                                                             \
	"OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10"

static const char *hostfile(const cJSON *objects)
{
	return json_str(object(objects, "ConfigMap"), "data", "hostfile");
}

TEST(test_launcher_and_nodes)
{
	cleanup_json cJSON *o = build("{trainer: {numNodes: 2, image: j, args: [x], env: "
				      "[{name: U, value: '1'}]}}",
				      MPI("mpi: {mpiImplementation: OpenMPI}", BOTH));
	const char *ssh = "{name: mpi-ssh-auth, secret: {secretName: "
			  "tj-mpi-ssh-auth, defaultMode: 256, items: [{key: "
			  "ssh-privatekey, path: id_rsa, mode: 416}, {key: "
			  "ssh-publickey, path: id_rsa.pub, mode: 420}, {key: "
			  "ssh-publickey, path: authorized_keys, mode: 420}]}}";
	cleanup_arena struct arena a = { 0 };

	assert_env(container(o, "launcher", "node"), OMPI("1") " U=1");
	assert_env(container(o, "node", "node"), "");
	assert_string_equal(json_str(container(o, "launcher", "node"), "image"), "j");
	assert_string_equal(json_str(container(o, "node", "node"), "image"), "i");
	assert_doc(json_get(pod(o, "node"), "volumes"), arena_printf(&a, "[%s]", ssh));
	assert_doc(json_get(pod(o, "launcher"), "volumes"),
		   arena_printf(
			   &a,
			   "[%s, {name: mpi-hostfile, configMap: {name: tj-mpi-hostfile, "
			   "items: [{key: hostfile, path: hostfile, mode: 292}]}}]",
			   ssh));
	assert_doc(json_get(container(o, "launcher", "node"), "volumeMounts"),
		   "[{name: mpi-ssh-auth, mountPath: /root/.ssh}, "
		   "{name: mpi-hostfile, mountPath: /etc/mpi}]");
	assert_string_equal(hostfile(o),
			    "tj-node-0-0.tj slots=1\ntj-node-0-1.tj slots=1\n");
	assert_int_equal(count(o, "launcher"), 1);
	assert_int_equal(count(o, "node"), 2);
}

TEST(test_launcher_is_a_node)
{
	cleanup_json cJSON *o = build(
		"{trainer: {numNodes: 3, numProcPerNode: 2, env: [{name: "
		"U, value: '1'}], resourcesPerNode: {limits: {cpu: 2}}}}",
		"{mlPolicy: {mpi: {runLauncherAsNode: true, sshAuthMountPath: /h/.ssh}}, "
		"template: {spec: {network: {subdomain: ring}, replicatedJobs: [" NODE_JOB
		", " LAUNCH_JOB "]}}}");

	assert_int_equal(count(o, "node"), 2);
	assert_int_equal(count(o, "launcher"), 1);
	assert_string_equal(hostfile(o),
			    "tj-node-0-0.ring slots=2\ntj-node-0-1.ring slots=2\n"
			    "tj-launcher-0-0.ring slots=2\n");
	/* variables and resources on both */
	assert_env(container(o, "node", "node"), "U=1");
	assert_env(container(o, "launcher", "node"), OMPI("2") " U=1");
	assert_doc(json_get(container(o, "node", "node"), "resources"),
		   "{limits: {cpu: '2'}}");
	assert_doc(json_get(container(o, "launcher", "node"), "resources"),
		   "{limits: {cpu: '2'}}");
	assert_doc(json_get(container(o, "node", "node"), "volumeMounts"),
		   "[{name: mpi-ssh-auth, mountPath: /h/.ssh}]");
}

/* Upstream: numNodes 1 with the launcher as a node gives two nodes. */
TEST(test_defect_16_one_node_is_the_launcher)
{
	cleanup_json cJSON *o = build("{trainer: {numNodes: 1}}",
				      MPI("mpi: {runLauncherAsNode: true}", BOTH));
	cleanup_json cJSON *alone =
		build("{trainer: {numNodes: 1}}", MPI("mpi: {runLauncherAsNode: true}",
						      RJOB("node", TRAINS, ONE("node"))));

	assert_int_equal(count(o, "node"), 0);
	assert_string_equal(hostfile(o), "tj-launcher-0-0.tj slots=1\n");
	assert_int_equal(count(alone, "node"), 1);
}

/* Upstream: "" passes the CRD and fails at every reconcile. */
TEST(test_defect_16_no_implementation_is_open_mpi)
{
	cleanup_json cJSON *o = build("{trainer: {numNodes: 2}}",
				      MPI("mpi: {mpiImplementation: ''}", BOTH));

	assert_env(container(o, "launcher", "node"), OMPI("1"));
	assert_build_fails("{}", MPI("mpi: {mpiImplementation: LAM}", BOTH), "\"LAM\"");
}

/* Upstream: numNodes of the runtime multiplies the launcher. */
TEST(test_defect_16_nodes_of_the_runtime_are_the_workers)
{
	cleanup_json cJSON *o = build("{}", MPI("numNodes: 4, mpi: {}", BOTH));
	cleanup_json cJSON *as_node =
		build("{}", MPI("numNodes: 4, mpi: {runLauncherAsNode: true}", BOTH));
	cleanup_json cJSON *own =
		build("{trainer: {numNodes: 2}}", MPI("numNodes: 4, mpi: {}", BOTH));

	assert_int_equal(count(o, "launcher"), 1);
	assert_int_equal(count(o, "node"), 4);
	assert_int_equal(count(as_node, "launcher"), 1);
	assert_int_equal(count(as_node, "node"), 3);
	assert_int_equal(count(own, "node"), 2);
}

TEST(test_slots)
{
	static const struct {
		const char *trainer, *policy, *want;
	} rows[] = {
		{ "{}", "mpi: {}", "1" },
		{ "{}", "mpi: {numProcPerNode: 3}", "3" },
		{ "{numProcPerNode: 5}", "mpi: {numProcPerNode: 3}", "5" },
		/* 1 means as many as there are GPUs */
		{ "{resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}", "mpi: {}", "4" },
		{ "{resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}",
		  "mpi: {numProcPerNode: 2}", "2" },
		{ "{numProcPerNode: 1, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}",
		  "mpi: {}", "1" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *o =
			build(arena_printf(&a, "{trainer: %s}", rows[i].trainer),
			      arena_printf(&a,
					   "{mlPolicy: {%s}, template: {spec: "
					   "{replicatedJobs: [" BOTH "]}}}",
					   rows[i].policy));
		const cJSON *env = json_get(container(o, "launcher", "node"), "env");

		assert_string_equal(
			json_str(json_find_const(env, "name",
						 "OMPI_MCA_orte_set_default_slots"),
				 "value"),
			rows[i].want);
	}
}

/* Upstream: the first job that is "node" or the trainer's decides, even if it says nothing. */
TEST(test_correction_03_slots_from_the_gpus_of_the_nodes)
{
	cleanup_json cJSON *o = build(
		"{trainer: {numNodes: 2}}",
		MPI("mpi: {}",
		    RJOB("launcher", TRAINS, WITH("node", "resources: {limits: {cpu: 1}}")) ", " RJOB(
			    "node", "",
			    WITH("node", "resources: {limits: {nvidia.com/gpu: 8}}"))));

	assert_env(container(o, "launcher", "node"), OMPI("8"));
	assert_string_equal(hostfile(o),
			    "tj-node-0-0.tj slots=8\ntj-node-0-1.tj slots=8\n");
}

/* Upstream: resources of the TrainJob without GPUs hide those of the nodes. */
TEST(test_defect_19_slots_follow_the_container)
{
#define GPU_NODE(policy)                                     \
	MPI(policy,                                          \
	    RJOB("launcher", TRAINS, ONE("node")) ", " RJOB( \
		    "node", "", WITH("node", "resources: {limits: {amd.com/gpu: 4}}")))
	const char *job = "{trainer: {numNodes: 1, resourcesPerNode: {requests: {memory: "
			  "1Gi, cpu: 16}}}}";
	cleanup_json cJSON *open = build(job, GPU_NODE("mpi: {}"));
	cleanup_json cJSON *ring = build(job, GPU_NODE("mpi: {runLauncherAsNode: true}"));
	cleanup_json cJSON *intel =
		build(job, GPU_NODE("mpi: {mpiImplementation: Intel}"));
	cleanup_json cJSON *mpich =
		build(job, GPU_NODE("mpi: {mpiImplementation: MPICH}"));

	assert_env(container(open, "launcher", "node"), OMPI("4"));
	assert_string_equal(hostfile(open), "tj-node-0-0.tj slots=4\n");
	assert_string_equal(hostfile(ring), "tj-launcher-0-0.tj slots=4\n");
	assert_string_equal(hostfile(intel), "tj-node-0-0.tj:4\n");
	assert_string_equal(hostfile(mpich), "tj-node-0-0.tj:4\n");
}

TEST(test_other_implementations)
{
	cleanup_json cJSON *intel = build("{trainer: {numNodes: 1, numProcPerNode: 2}}",
					  MPI("mpi: {mpiImplementation: Intel}", BOTH));
	cleanup_json cJSON *mpich = build("{trainer: {numNodes: 1, numProcPerNode: 2}}",
					  MPI("mpi: {mpiImplementation: MPICH}", BOTH));

	assert_env(container(intel, "launcher", "node"),
		   "I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile I_MPI_PERHOST=2 "
		   "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=-o ConnectionAttempts=10");
	assert_env(container(mpich, "launcher", "node"),
		   "HYDRA_HOST_FILE=/etc/mpi/hostfile "
		   "HYDRA_LAUNCHER_EXTRA_ARGS=-o ConnectionAttempts=10");
	assert_string_equal(hostfile(intel), "tj-node-0-0.tj:2\n");
	assert_string_equal(hostfile(mpich), "tj-node-0-0.tj:2\n");
}

/* The annotation is ours; its objects are in tests/golden/own/mpi-ssh-*, mpi-worker-*. */
#define AGENT(how, policy, jobs)                                       \
	"{mlPolicy: {" policy "}, template: {metadata: {annotations: " \
	"{kftrainer.io/mpi: " how "}}, spec: {replicatedJobs: [" jobs "]}}}"
#define KEY "KFTRAINER_MPI_KEY=/root/.ssh/id_rsa"

/* What a runtime sets stays, but for what upstream replaces; a TrainJob's wins. */
TEST(test_agent_own_variables)
{
	const char *jobs = RJOB(
		"launcher", TRAINS,
		WITH("node", "env: [{name: OMPI_MCA_orte_default_hostfile, value: x}, "
			     "{name: OMPI_MCA_plm_rsh_agent, value: /usr/bin/ssh}, "
			     "{name: OMPI_MCA_plm_rsh_args, value: -v}, "
			     "{name: KFTRAINER_MPI_KEY, value: /k}]"));
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *o = build(
		"{trainer: {env: [{name: PRTE_MCA_plm_ssh_agent, value: mine}]}}",
		arena_printf(
			&a,
			"{mlPolicy: {mpi: {}}, template: {metadata: {annotations: "
			"{kftrainer.io/mpi: ssh}}, spec: {replicatedJobs: [%s, " NODE_JOB
			"]}}}",
			jobs));
	cleanup_json cJSON *intel = build(
		"{trainer: {env: [{name: I_MPI_PERHOST, value: '7'}]}}",
		AGENT("ssh", "mpi: {mpiImplementation: Intel}",
		      RJOB("launcher", TRAINS,
			   WITH("node",
				"env: [{name: I_MPI_HYDRA_BOOTSTRAP, value: ssh}]")) ", " NODE_JOB));

	assert_env(container(o, "launcher", "node"),
		   "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile "
		   "OMPI_MCA_plm_rsh_agent=/usr/bin/ssh OMPI_MCA_plm_rsh_args=-v "
		   "KFTRAINER_MPI_KEY=/k OMPI_MCA_orte_keep_fqdn_hostnames=true "
		   "OMPI_MCA_orte_set_default_slots=1 "
		   "PRTE_MCA_prte_default_hostfile=/etc/mpi/hostfile "
		   "PRTE_MCA_prte_keep_fqdn_hostnames=false "
		   "PRTE_MCA_prte_set_default_slots=1 PRTE_MCA_plm_ssh_agent=mine");
	assert_env(container(o, "launcher", "mpi-wait"), "KFTRAINER_MPI_KEY=/k");
	assert_env(container(o, "node", "node"), KEY);
	assert_env(container(intel, "launcher", "node"),
		   "I_MPI_HYDRA_BOOTSTRAP=ssh "
		   "I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile I_MPI_PERHOST=7 "
		   "I_MPI_HYDRA_BOOTSTRAP_EXEC=/opt/kftrainer/mpi-launch " KEY);
}

static int64_t probed_port(const char *tj, const char *node)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *o = build(
		tj, arena_printf(&a,
				 "{mlPolicy: {mpi: {}}, template: {metadata: "
				 "{annotations: {kftrainer.io/mpi: worker}}, spec: "
				 "{replicatedJobs: [{name: node, template: {spec: "
				 "{template: {spec: {containers: [{name: node, image: i, "
				 "readinessProbe: {exec: {command: [pgrep, sshd]}}, "
				 "env: [%s]}]}}}}}, " LAUNCH_JOB "]}}}",
				 node));

	return json_int(container(o, "node", "node"), -1, "readinessProbe", "tcpSocket",
			"port");
}

TEST(test_worker_port)
{
#define PORT(value) "{name: KFTRAINER_MPI_PORT, value: '" value "'}"
	assert_int_equal(probed_port("{}", ""), 2222);
	assert_int_equal(probed_port("{}", PORT("2300")), 2300);
	assert_int_equal(
		probed_port("{trainer: {env: [" PORT("2301") "]}}", PORT("2300")), 2301);
	assert_int_equal(probed_port("{}", PORT("70000")), 2222);
	assert_int_equal(probed_port("{}", PORT("x")), 2222);
}

TEST(test_worker_keeps_no_probe_of_sshd)
{
	cleanup_json cJSON *o = build(
		"{}",
		AGENT("worker", "mpi: {}",
		      RJOB("node", "",
			   WITH("node",
				"command: [/usr/sbin/sshd], args: [-De], readinessProbe: "
				"{exec: {command: [pgrep, sshd]}}")) ", " LAUNCH_JOB));

	assert_doc(json_get(container(o, "node", "node"), "readinessProbe"),
		   "{tcpSocket: {port: 2222}, periodSeconds: 2}");
	assert_doc(json_get(container(o, "node", "node"), "command"),
		   "[/opt/kftrainer/mpi-worker]");
	assert_null(json_get(container(o, "node", "node"), "args"));
}

/* In the order in which they run: the program first, then a workspace, the waiting last. */
TEST(test_init_containers)
{
	cleanup_json cJSON *tj = job("{}");
	cleanup_json cJSON *rt = runtime(AGENT("ssh", "mpi: {}", BOTH));
	const struct plugin_env env = { .keys = &keys_placeholder, .image = "ours:1" };
	struct error err = { 0 };
	cleanup_json cJSON *o = NULL;
	const cJSON *c;

	meta_set_annotation(
		tj, "kftrainer.io/workspace",
		"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	o = build_with(&env, tj, rt, &err);
	c = json_get(pod(o, "launcher"), "initContainers");
	c = c ? c->child : NULL;
	assert_string_equal(json_str(c, "name"), "kftrainer");
	assert_string_equal(json_str(c, "image"), "ours:1");
	assert_string_equal(json_str(c->next, "name"), "workspace");
	assert_string_equal(json_str(c->next->next, "name"), "mpi-wait");
	assert_string_equal(json_str(c->next->next, "image"), "i");
	assert_null(c->next->next->next);
}

TEST(test_wait_timeout)
{
	cleanup_json cJSON *o = build("{trainer: {env: [{name: KFTRAINER_MPI_TIMEOUT, "
				      "value: 1h}]}}",
				      AGENT("ssh", "mpi: {}", BOTH));

	assert_doc(json_get(container(o, "launcher", "mpi-wait"), "args"),
		   "[--wait, /etc/mpi/hostfile, --timeout, 1h]");
}

/* An image's own command is not known: args alone stay. */
TEST(test_launcher_is_watched)
{
	static const struct {
		const char *trainer, *launcher, *command, *args;
	} rows[] = {
		{ "command: [a], args: [b]", "command: [c]", "a", "[b]" },
		{ "args: [b]", "command: [c, d]", "c, d", "[b]" },
		{ "args: [b]", "image: i", NULL, "[b]" },
		{ "numNodes: 2", "command: []", NULL, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *o = build(
			arena_printf(&a, "{trainer: {%s}}", rows[i].trainer),
			arena_printf(
				&a,
				"{mlPolicy: {mpi: {}}, template: {metadata: "
				"{annotations: {kftrainer.io/mpi: ssh}}, spec: "
				"{replicatedJobs: [" NODE_JOB
				", {name: launcher, template: {metadata: {labels: "
				"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, "
				"spec: {template: {spec: {containers: [{name: node, %s}]}}}}}]}}}",
				rows[i].launcher));
		const cJSON *c = container(o, "launcher", "node");

		if (rows[i].command)
			assert_doc(json_get(c, "command"),
				   arena_printf(&a,
						"[/opt/kftrainer/mpi-launch, --watch, "
						"/etc/mpi/hostfile, '--', %s]",
						rows[i].command));
		else
			assert_null(json_get(c, "command") ? json_get(c, "command")->child
							   : NULL);
		if (rows[i].args)
			assert_doc(json_get(c, "args"), rows[i].args);
	}
}

TEST(test_search_domains)
{
	const char *rt = "{mlPolicy: {mpi: {mpiImplementation: MPICH}}, template: "
			 "{metadata: {annotations: {kftrainer.io/mpi: ssh}}, spec: "
			 "{network: {subdomain: ring}, replicatedJobs: [" LAUNCH_JOB
			 ", " RJOB("node", "",
				   ONE("node") ", dnsConfig: {searches: [a.b]}") "]}}}";
	const struct plugin_env env = { .keys = &keys_placeholder,
					.cluster_domain = "k8s.example" };
	cleanup_json cJSON *tj = job("{}");
	cleanup_json cJSON *r = runtime(rt);
	struct error err = { 0 };
	cleanup_json cJSON *o = build_with(&env, tj, r, &err);

	assert_doc(json_get(pod(o, "node"), "dnsConfig"),
		   "{searches: [a.b, ring.ns.svc.k8s.example]}");
	assert_null(json_get(pod(o, "launcher"), "dnsConfig"));
}

TEST(test_agent_by_a_patch)
{
	cleanup_json cJSON *o = build(
		"{runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: "
		"{metadata: {annotations: {kftrainer.io/mpi: worker}}}}}]}",
		MPI("mpi: {}", BOTH));

	assert_doc(json_get(container(o, "node", "node"), "command"),
		   "[/opt/kftrainer/mpi-worker]");
	assert_non_null(container(o, "launcher", "mpi-wait"));
}

TEST(test_agent_refused)
{
	assert_build_fails("{}", AGENT("sshd", "mpi: {}", BOTH),
			   "kftrainer.io/mpi: 'sshd' is neither ssh nor worker");
	assert_build_fails(
		"{}",
		AGENT("ssh", "mpi: {}",
		      RJOB("node", "",
			   "initContainers: [{name: kftrainer, image: i}], " ONE(
				   "node")) ", " LAUNCH_JOB),
		"job node of the runtime has a container \"kftrainer\"");
	assert_build_fails("{}",
			   AGENT("ssh", "mpi: {}",
				 RJOB("launcher", TRAINS,
				      "volumes: [{name: kftrainer-bin}], " ONE(
					      "node")) ", " NODE_JOB),
			   "job launcher of the runtime has a volume \"kftrainer-bin\"");
	assert_build_fails("{}",
			   AGENT("worker", "mpi: {}",
				 RJOB("launcher", TRAINS,
				      "containers: [{name: node, image: i}, {name: "
				      "mpi-wait, image: i}]") ", " NODE_JOB),
			   "job launcher of the runtime has a container \"mpi-wait\"");
	/* without the annotation these names mean nothing */
	cJSON_Delete(build(
		"{}", MPI("mpi: {}", RJOB("launcher", TRAINS,
					  "containers: [{name: node, image: i}, {name: "
					  "mpi-wait, image: i}]") ", " NODE_JOB)));
}

TEST(test_key_is_made_once)
{
	cleanup_json cJSON *tj = job("{trainer: {numNodes: 1}}");
	cleanup_json cJSON *rt = runtime(MPI("mpi: {}", BOTH));
	cleanup_json cJSON *have = doc("[{apiVersion: v1, kind: Secret, metadata: "
				       "{name: tj-mpi-ssh-auth, namespace: ns}}]");
	struct plugin_env env = cluster(have);
	struct error err = { 0 };
	cleanup_json cJSON *first = build_with(&offline, tj, rt, &err);
	cleanup_json cJSON *later = build_with(&env, tj, rt, &err);
	const cJSON *secret = object(first, "Secret");

	assert_string_equal(meta_name(secret), "tj-mpi-ssh-auth");
	assert_string_equal(json_str(secret, "type"), "kubernetes.io/ssh-auth");
	assert_true(json_bool(secret, false, "immutable"));
	assert_non_null(json_str(secret, "data", "ssh-privatekey"));
	assert_non_null(json_str(secret, "data", "ssh-publickey"));
	assert_null(object(later, "Secret"));
	assert_non_null(object(later, "ConfigMap"));
}

TEST(test_admission)
{
	const char *as_node = MPI("mpi: {runLauncherAsNode: true}", LAUNCH_JOB);

	assert_errors("{trainer: {env: [{name: OMPI_MCA_plm_rsh_args}, {name: X}, "
		      "{name: OMPI_MCA_orte_default_hostfile}]}}",
		      MPI("mpi: {}", BOTH),
		      ERRORS("spec.trainer.env: Invalid value: |: "
			     "OMPI_MCA_orte_default_hostfile, OMPI_MCA_plm_rsh_args"));
	assert_errors("{trainer: {env: [{name: I_MPI_PERHOST}, {name: "
		      "OMPI_MCA_plm_rsh_args}]}}",
		      MPI("mpi: {mpiImplementation: Intel}", BOTH), NO_ERRORS);
	assert_errors("{trainer: {env: [{name: HYDRA_HOST_FILE}]}}",
		      MPI("mpi: {mpiImplementation: MPICH}", BOTH), NO_ERRORS);
	assert_errors("{trainer: {env: [{name: PRTE_MCA_plm_ssh_agent}]}}",
		      AGENT("ssh", "mpi: {}", BOTH), NO_ERRORS);
	assert_errors("{}", AGENT("sshd", "mpi: {}", BOTH),
		      ERRORS("spec.runtimeRef: Invalid value: |neither ssh nor worker"));
	assert_errors("{trainer: {numNodes: 2}}", as_node,
		      ERRORS("spec.trainer.numNodes: Invalid value: 2: |launcher"));
	assert_errors("{trainer: {numNodes: 1}}", as_node, NO_ERRORS);
	assert_errors("{trainer: {numNodes: 2}}", MPI("mpi: {}", LAUNCH_JOB), NO_ERRORS);
}

TEST(test_a_host_file_has_an_end)
{
	cleanup_json cJSON *tj = job("{trainer: {numNodes: 2147483647}}");
	cleanup_json cJSON *rt = runtime(MPI("mpi: {}", BOTH));
	struct error err = { 0 };

	assert_null(build_with(&offline, tj, rt, &err));
	assert_int_equal(err.kind, ERR_LIMIT);
}

RUN_TESTS(NULL, NULL)
