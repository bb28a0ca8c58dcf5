/* Rules: upstream pkg/runtime/framework/plugins/flux. */
#include "tests/unit/plugins/build.h"

static const char *script(const cJSON *objects, const char *name)
{
	return json_str(object(objects, "ConfigMap"), "data", name);
}

static void assert_in(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("no \"%s\" in:\n%s", words, text);
}

TEST(test_scripts_decide)
{
	static const struct {
		const char *trainer, *policy, *hosts, *flags, *resources;
		const char *node; /* its container */
	} rows[] = {
		{ "{numNodes: 4}", "flux: {}", "tj-node-0-[0-3]", " -N 4 -n 4 ",
		  "--cores=0 >", PLAIN_NODE },
		{ "{numNodes: 1}", "flux: {numProcPerNode: 3}", "tj-node-0-[0]",
		  " -N 1 -n 3 ", "--cores=0-2 >", PLAIN_NODE },
		{ "{numNodes: 2, numProcPerNode: 4}", "flux: {numProcPerNode: 3}",
		  "tj-node-0-[0-1]", " -N 2 -n 8 ", "--cores=0-3 >", PLAIN_NODE },
		{ "{numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}",
		  "flux: {}", "tj-node-0-[0-1]", " -N 2 -n 2 -g 2 ",
		  "--cores=0 --gpu=0-1 >", PLAIN_NODE },
		/* Defect 19: upstream counts the job's resources alone. */
		{ "{numNodes: 2, resourcesPerNode: {limits: {memory: 1Gi}}}", "flux: {}",
		  "tj-node-0-[0-1]", " -N 2 -n 2 -g 2 ", "--cores=0 --gpu=0-1 >",
		  "resources: {limits: {nvidia.com/gpu: 2}}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *o = build(
			arena_printf(&a, "{trainer: %s}", rows[i].trainer),
			arena_printf(
				&a,
				"{mlPolicy: {%s}, template: {spec: {replicatedJobs: [" RJOB(
					"node", TRAINS, WITH("node", "%s")) "]}}}",
				rows[i].policy, rows[i].node));

		assert_in(script(o, "init.sh"),
			  arena_printf(
				  &a,
				  "\necho '%s' > \"$config/etc/flux/system/hostlist\"\n",
				  rows[i].hosts));
		assert_in(script(o, "init.sh"),
			  arena_printf(&a, "\nhosts = [ { host = \"%s\" } ]\n",
				       rows[i].hosts));
		assert_in(script(o, "init.sh"), "tcp://eth0:%p");
		assert_in(script(o, "init.sh"), "tcp://%h.tj.ns.svc.cluster.local:%p");
		assert_in(script(o, "init.sh"), "default_port = 8050");
		assert_in(script(o, "init.sh"), "queue-policy = \"fcfs\"");
		assert_in(script(o, "entrypoint.sh"), "'tj-node-0-0'");
		/* what the script begins with */
		assert_in(script(o, "entrypoint.sh"), "config=$base/config");
		assert_in(script(o, "entrypoint.sh"), rows[i].flags);
		assert_in(script(o, "entrypoint.sh"), rows[i].resources);
	}
}

TEST(test_pod)
{
	cleanup_json cJSON *o =
		build("{trainer: {numNodes: 2, command: [lmp, -v], args: [-in, "
		      "f], env: [{name: FLUX_VIEW_IMAGE, value: v:1}]}}",
		      RUNTIME("flux: {}", "args: [old]"));
	const cJSON *node = container(o, "node", "node");

	assert_doc(json_get(node, "command"),
		   "[/bin/bash, /etc/flux-config/entrypoint.sh, lmp -v -in f]");
	assert_null(json_get(node, "args"));
	assert_doc(container(o, "node", "flux-installer"),
		   "{name: flux-installer, image: 'v:1', command: [/bin/bash, "
		   "/etc/flux-config/init.sh], volumeMounts: [{name: "
		   "flux-install, mountPath: /mnt/flux}, {name: "
		   "tj-flux-entrypoint, mountPath: /etc/flux-config, "
		   "readOnly: true}]}");
	assert_doc(json_get(pod(o, "node"), "volumes"),
		   "[{name: spack-install, emptyDir: {}}, {name: "
		   "flux-install, emptyDir: {}}, {name: tj-flux-entrypoint, "
		   "configMap: {name: tj-flux-entrypoint, defaultMode: 493}}, "
		   "{name: shared-memory, emptyDir: {medium: Memory}}, {name: "
		   "flux-curve, secret: {secretName: tj-flux-curve, "
		   "defaultMode: 256}}]");
	assert_doc(json_get(node, "volumeMounts"),
		   "[{name: flux-install, mountPath: /mnt/flux}, {name: "
		   "spack-install, mountPath: /opt/software}, {name: "
		   "tj-flux-entrypoint, mountPath: /etc/flux-config, "
		   "readOnly: true}, {name: flux-curve, mountPath: /curve, "
		   "readOnly: true}, {name: shared-memory, mountPath: "
		   "/dev/shm, readOnly: true}]");
}

TEST(test_settings)
{
	cleanup_json cJSON *o =
		build("{trainer: {numNodes: 1, env: [{name: FLUX_NETWORK_DEVICE, "
		      "value: ib0}]}}",
		      RUNTIME("flux: {}", "env: [{name: FLUX_NETWORK_DEVICE, value: x}, "
					  "{name: FLUX_QUEUE_POLICY, value: easy}]"));

	assert_in(script(o, "init.sh"), "tcp://ib0:%p");
	assert_in(script(o, "init.sh"), "queue-policy = \"easy\"");
}

/* brokerSettingsFromEnvironment: the job's variable wins even without a value. */
TEST(test_empty_settings)
{
	cleanup_json cJSON *o =
		build("{trainer: {numNodes: 1, env: [{name: FLUX_NETWORK_DEVICE}]}}",
		      RUNTIME("flux: {}", "env: [{name: FLUX_NETWORK_DEVICE, value: x}, "
					  "{name: FLUX_QUEUE_POLICY, value: ''}]"));

	assert_in(script(o, "init.sh"), "tcp://:%p");
	assert_in(script(o, "init.sh"), "queue-policy = \"fcfs\"");
}

/* All args are in the line, and so on no trainer's container (kubeflow/trainer#4003). */
TEST(test_no_container_keeps_its_args)
{
	cleanup_json cJSON *o = build(
		"{trainer: {numNodes: 1, args: [x]}}",
		"{mlPolicy: {flux: {}}, template: {spec: {replicatedJobs: [" RJOB(
			"lead", TRAINS,
			WITH("node", "args: [a]")) ", " RJOB("node", TRAINS,
							     WITH("node",
								  "args: [b]")) "]}}}");

	assert_null(json_get(container(o, "lead", "node"), "args"));
	assert_null(json_get(container(o, "node", "node"), "args"));
}

/* Upstream writes as many hosts as the job has nodes, whoever trains. */
TEST(test_hosts_follow_the_job)
{
	cleanup_json cJSON *o =
		build("{trainer: {numNodes: 3}}",
		      "{mlPolicy: {flux: {}}, template: {spec: {replicatedJobs: [" RJOB(
			      "node", "", ONE("node")) "]}}}");

	assert_in(script(o, "init.sh"), "tj-node-0-[0-2]");
	assert_in(script(o, "entrypoint.sh"), " -N 3 -n 3 ");
}

/* Upstream dereferences spec.trainer and numNodes without looking. */
TEST(test_defect_02_flux_without_trainer)
{
	cleanup_json cJSON *o =
		build("{}", RUNTIME("flux: {}, numNodes: 2", "command: [run, it]"));
	cleanup_json cJSON *no_nodes =
		build("{trainer: {image: j}}", RUNTIME("flux: {}", PLAIN_NODE));

	assert_in(script(o, "entrypoint.sh"), " -N 2 -n 2 ");
	assert_doc(json_get(container(o, "node", "node"), "command"),
		   "[/bin/bash, /etc/flux-config/entrypoint.sh, run it]");
	assert_int_equal(count(o, "node"), 2);
	assert_in(script(no_nodes, "entrypoint.sh"), " -N 1 -n 1 ");
}

TEST(test_subdomain)
{
	cleanup_json cJSON *o = build(
		"{trainer: {numNodes: 1}}",
		"{mlPolicy: {flux: {}}, template: {spec: {network: {subdomain: ring}, "
		"replicatedJobs: [" RJOB("node", TRAINS, ONE("node")) "]}}}");

	assert_in(script(o, "init.sh"), "tcp://%h.ring.ns.svc.cluster.local:%p");
}

/* Upstream derives the key from the TrainJob's uid, which everybody can read. */
TEST(test_key_is_the_callers_and_made_once)
{
	cleanup_json cJSON *tj = job("{trainer: {numNodes: 1}}");
	cleanup_json cJSON *rt = runtime(RUNTIME("flux: {}", PLAIN_NODE));
	cleanup_json cJSON *have = doc("[{apiVersion: v1, kind: Secret, metadata: "
				       "{name: tj-flux-curve, namespace: ns}}]");
	struct plugin_env env = cluster(have);
	struct error err = { 0 };
	cleanup_json cJSON *first = build_with(&offline, tj, rt, &err);
	cleanup_json cJSON *later = build_with(&env, tj, rt, &err);
	cleanup_buf struct buf cert = { .max = 4096 };
	const char *data = json_str(object(first, "Secret"), "data", "curve.cert");

	assert_int_equal(base64_decode(&cert, data, strlen(data), &err), 0);
	assert_in((const char *)cert.data, "\nmetadata\n    name = \"tj\"\ncurve\n");
	assert_in((const char *)cert.data, "    secret-key = \"PLACEHOLDER");
	assert_null(object(later, "Secret"));
	assert_non_null(object(later, "ConfigMap"));
}

TEST(test_installer_is_reserved)
{
	assert_errors(
		"{trainer: {numNodes: 1}}",
		"{mlPolicy: {flux: {}}, template: {spec: {replicatedJobs: [" RJOB(
			"node", TRAINS,
			"initContainers: [{name: flux-installer}], " ONE("node")) "]}}}",
		ERRORS("spec.trainer.initContainers: Invalid value: "
		       "\"flux-installer\"|policy"));
}

/* What a job writes into the scripts has an end. */
TEST(test_scripts_have_a_limit)
{
	static char policy[70000];
	cleanup_json cJSON *tj = job("{trainer: {}}");
	cleanup_json cJSON *rt = runtime(RUNTIME("flux: {}", PLAIN_NODE));
	cleanup_json cJSON *objects = NULL;
	cJSON *var = doc("{name: FLUX_QUEUE_POLICY}"), *env = cJSON_CreateArray();
	struct error err = { 0 };

	memset(policy, 'p', sizeof(policy) - 1);
	json_put_str(var, policy, "value");
	cJSON_AddItemToArray(env, var);
	json_put(tj, env, "spec", "trainer", "env");
	objects = build_with(&offline, tj, rt, &err);
	assert_null(objects);
	assert_non_null(strstr(err.msg, "init.sh: over 65536 bytes"));
}

RUN_TESTS(NULL, NULL)
