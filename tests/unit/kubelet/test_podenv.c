#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/envfile.h"
#include "kubelet/podenv.h"
#include "tests/unit/unit.h"

static cJSON *json_of(struct arena *a, const char *text)
{
	char *q = arena_strdup(a, text);
	struct error err = { 0 };
	cJSON *doc = NULL;

	for (char *p = q; *p; p++)
		if (*p == '\'')
			*p = '"';
	if (json_parse(&doc, q, strlen(q), &err) < 0)
		fail_msg("%s in %s", err.msg, q);
	return doc;
}

/* k8s.io/kubernetes third_party/forked/golang/expansion: its rules, one a row. */
TEST(test_expansion)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "$(A)", "a" },
		{ "x-$(A)-$(B)-y", "x-a-$(C)-y" }, /* a value is not expanded again */
		{ "$(NONE)", "$(NONE)" },
		{ "$$(A)", "$(A)" },
		{ "$$$(A)", "$a" },
		{ "$$$$(A)", "$$(A)" },
		{ "$A ${A} $", "$A ${A} $" },
		{ "$(A", "$(A" },
		{ "$(A$(A)", "$(A$(A)" }, /* one name, "A$(A", of which there is none */
		{ "$()", "$()" },
		{ "$(EMPTY)|", "|" },
		{ "100$", "100$" },
		{ "$$", "$" },
	};
	cleanup_arena struct arena a = { 0 };
	cleanup_map struct map vars = { 0 };

	map_put(&vars, "A", (void *)(uintptr_t) "a");
	map_put(&vars, "B", (void *)(uintptr_t) "$(C)");
	map_put(&vars, "C", (void *)(uintptr_t) "c");
	map_put(&vars, "EMPTY", (void *)(uintptr_t) "");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_string_equal(podenv_expand(&a, rows[i].text, &vars), rows[i].want);
}

TEST(test_names)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "j-node-0-0.j", "127.1.2.1" },
		{ "http://j-node-0-0.j:80/j-node-0-1.j",
		  "http://127.1.2.1:80/127.1.2.2" },
		{ "j-node-0-0", "j-node-0-0" }, /* no dot: may be anybody's word */
		{ "xj-node-0-0.j", "xj-node-0-0.j" },
		{ "j-node-0-0.jx", "j-node-0-0.jx" },
		{ "j-node-0-0.j.svc", "j-node-0-0.j.svc" },
		{ "a=j-node-0-0.j,b=j-node-0-1.j;", "a=127.1.2.1,b=127.1.2.2;" },
		{ "1.5", "1.5" },
	};
	cleanup_arena struct arena a = { 0 };
	cleanup_map struct map names = { 0 };

	map_put(&names, "j-node-0-0.j", (void *)(uintptr_t) "127.1.2.1");
	map_put(&names, "j-node-0-1.j", (void *)(uintptr_t) "127.1.2.2");
	map_put(&names, "j-node-0-0", (void *)(uintptr_t) "127.1.2.1");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		assert_string_equal(podenv_names(&a, rows[i].text, &names), rows[i].want);
		assert_string_equal(podenv_names(&a, rows[i].text, NULL), rows[i].text);
	}
}

/* Ours: pods share a machine, and TensorFlow listens on all of its addresses. */
TEST(test_peers)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "[\"j-node-0-0.j:2222\",\"j-node-0-1.j:3333\"]",
		  "[\"j-node-0-0.j:5000\",\"j-node-0-1.j:5001\"]" },
		{ "{\"1\":\"j-node-0-1.j:2222\"}", "{\"1\":\"j-node-0-1.j:5001\"}" },
		{ "j-node-0-0.j", "j-node-0-0.j" },
		{ "other:2222", "other:2222" },
		{ "", "" },
	};
	cleanup_arena struct arena a = { 0 };
	cleanup_map struct map peers = { 0 };

	map_put(&peers, "j-node-0-0.j", (void *)(uintptr_t) "5000");
	map_put(&peers, "j-node-0-1.j", (void *)(uintptr_t) "5001");
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		assert_string_equal(podenv_peers(&a, cases[i].text, &peers),
				    cases[i].want);
}

static const char objects[] =
	"[{'kind':'ConfigMap','metadata':{'name':'cm','namespace':'ns'},'data':{'key':'value','other':'o','bad name=':'x'}},{'kind':'ConfigMap','metadata':{'name':'cm','namespace':'elsewhere'},'data':{'key':'no'}},{'kind':'Secret','metadata':{'name':'s','namespace':'ns'},'data':{'token':'aHVudGVyMg==','broken':'!!'},'stringData':{'plain':'p'}}]";

static const char pod_text[] =
	"{'metadata':{'name':'p-0','namespace':'ns','uid':'uid-1','labels':{'a/b':'c'},"
	"'annotations':{'x':'y'}},'spec':{'serviceAccountName':'sa','containers':[%s]}}";

struct row {
	const char *env, *want; /* env: an item; want: "NAME=value", or NULL: not set */
	const char *error;      /* part of the message */
};

static const struct row rows[] = {
	{ "{'name':'V','value':'1'}", "V=1", NULL },
	{ "{'name':'V'}", "V=", NULL },
	{ "{'name':'V','value':''}", "V=", NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'metadata.name'}}}", "V=p-0",
	  NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'metadata.namespace'}}}",
	  "V=ns", NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'metadata.uid'}}}", "V=uid-1",
	  NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'metadata.labels[\\u0027a/"
	  "b\\u0027]'}}}",
	  "V=c", NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'metadata.labels["
	  "\\u0027no\\u0027]'}}}",
	  "V=", NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'metadata.annotations["
	  "\\u0027x\\u0027]'}}}",
	  "V=y", NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'spec.nodeName'}}}",
	  "V=node-a", NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'spec.serviceAccountName'}}}",
	  "V=sa", NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'status.podIP'}}}",
	  "V=127.1.2.3", NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'status.podIPs'}}}",
	  "V=127.1.2.3", NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'status.hostIP'}}}",
	  "V=127.0.0.1", NULL },
	{ "{'name':'V','valueFrom':{'fieldRef':{'fieldPath':'spec.hostname'}}}", NULL,
	  "env V: fieldRef.fieldPath: unsupported field path spec.hostname" },
	{ "{'name':'V','valueFrom':{'resourceFieldRef':{'resource':'limits.cpu'}}}",
	  "V=3", NULL },
	{ "{'name':'V','valueFrom':{'resourceFieldRef':{'resource':'limits.cpu','divisor':'1m'}}}",
	  "V=2500", NULL },
	{ "{'name':'V','valueFrom':{'resourceFieldRef':{'resource':'requests.cpu'}}}",
	  "V=1", NULL },
	{ "{'name':'V','valueFrom':{'resourceFieldRef':{'resource':'limits.memory'}}}",
	  "V=4294967296", NULL }, /* the node's */
	{ "{'name':'V','valueFrom':{'resourceFieldRef':{'resource':'limits.memory',"
	  "'divisor':'1Gi'}}}",
	  "V=4", NULL },
	{ "{'name':'V','valueFrom':{'resourceFieldRef':{'resource':'requests.memory',"
	  "'divisor':'1Mi'}}}",
	  "V=2", NULL }, /* 1.5Mi, rounded up */
	{ "{'name':'V','valueFrom':{'resourceFieldRef':{'resource':'cpu'}}}", NULL,
	  "unsupported resource cpu" },
	{ "{'name':'V','valueFrom':{'resourceFieldRef':{'containerName':'x','resource':'"
	  "limits.cpu'}}}",
	  NULL, "container x not found" },
	{ "{'name':'V','valueFrom':{'configMapKeyRef':{'name':'cm','key':'key'}}}",
	  "V=value", NULL },
	{ "{'name':'V','valueFrom':{'configMapKeyRef':{'name':'cm','key':'no','optional':true}}}",
	  NULL, NULL },
	{ "{'name':'V','valueFrom':{'configMapKeyRef':{'name':'no','key':'no','optional':true}}}",
	  NULL, NULL },
	{ "{'name':'V','valueFrom':{'configMapKeyRef':{'name':'no','key':'k'}}}", NULL,
	  "env V: ConfigMap ns/no not found" },
	{ "{'name':'V','valueFrom':{'secretKeyRef':{'name':'s','key':'token'}}}",
	  "V=hunter2", NULL },
	{ "{'name':'V','valueFrom':{'secretKeyRef':{'name':'s','key':'plain'}}}", "V=p",
	  NULL },
	{ "{'name':'V','valueFrom':{'secretKeyRef':{'name':'s','key':'broken'}}}", NULL,
	  "env V: key broken in Secret ns/s is not base64" },
	{ "{'name':'V','valueFrom':{}}", NULL, "valueFrom has no source" },
	{ "{'name':'','value':'1'}", NULL, "invalid variable name" },
	{ "{'value':'1'}", NULL, "invalid variable name" },
	{ "{'name':'V','value':'$(key) $(P) $(LATER)'},{'name':'LATER','value':'1'}",
	  "V=value $(P) $(LATER)", NULL }, /* the caller's variables are not for $( ) */
};

static void check_row(const struct row *row)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *list = json_of(&a, objects);
	const char *c = arena_printf(
		&a,
		"{'name':'c','command':['x'],'resources':{'limits':{'cpu':'2500m'},"
		"'requests':{'cpu':'250m','memory':'1536Ki'}},"
		"'envFrom':[{'configMapRef':{'name':'cm'}}],'env':[%s]}",
		row->env);
	const char *at = strstr(pod_text, "%s");
	cleanup_json cJSON *pod =
		json_of(&a, arena_printf(&a, "%.*s%s%s", (int)(at - pod_text), pod_text,
					 c, at + 2));
	const char *const callers[] = { "P=from the caller", "V=callers", NULL };
	struct podenv_host host = { .environ = callers,
				    .objects = list,
				    .node_name = "node-a",
				    .cpus = 8,
				    .memory = 4LL << 30 };
	struct podenv_pod p = {
		.pod = pod, .ip = "127.1.2.3", .hostname = "h", .volumes = "/nowhere"
	};
	struct podenv env = { 0 };
	struct error err = { 0 };
	const char *got = NULL;
	int rc;

	p.container = json_get((const cJSON *)pod, "spec", "containers")->child;
	rc = podenv_build(&a, &host, &p, &env, &err);
	if (row->error) {
		assert_int_equal(rc, -1);
		if (!strstr(err.msg, row->error))
			fail_msg("%s: %s", row->env, err.msg);
		return;
	}
	if (rc < 0)
		fail_msg("%s: %s", row->env, err.msg);
	for (size_t i = 0; env.envp[i]; i++)
		if (str_starts(env.envp[i], "V="))
			got = env.envp[i];
	assert_string_equal(got, row->want ? row->want : "V=callers");
}

TEST(test_variables)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_row(&rows[i]);
}

TEST(test_gpu_numbers)
{
	static const struct {
		const char *own, *gpus, *want;
	} gpu_rows[] = {
		{ NULL, "4,5", "4,5" },      { NULL, "", "" },
		{ NULL, NULL, NULL },        { "1", "4,5", "5" },
		{ "1,0", "4,5", "5,4" },     { "2", "4,5", "2" },
		{ "GPU-x", "4,5", "GPU-x" }, { "0", "", "0" },
	};

	for (size_t i = 0; i < N_ELEMENTS(gpu_rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *c = json_of(
			&a,
			gpu_rows[i].own
				? arena_printf(&a,
					       "{'command':['x'],'env':[{'name':"
					       "'CUDA_VISIBLE_DEVICES','value':'%s'}]}",
					       gpu_rows[i].own)
				: "{'command':['x']}");
		struct podenv_host host = { 0 };
		struct podenv_pod p = { .pod = c,
					.container = c,
					.ip = "127.1.2.3",
					.hostname = "h",
					.gpus = gpu_rows[i].gpus };
		struct podenv env = { 0 };
		struct error err = { 0 };
		const char *got = NULL;

		assert_int_equal(podenv_build(&a, &host, &p, &env, &err), 0);
		for (size_t j = 0; env.envp[j]; j++)
			if (str_after(env.envp[j], "CUDA_VISIBLE_DEVICES="))
				got = str_after(env.envp[j], "CUDA_VISIBLE_DEVICES=");
		if (!str_eq(got, gpu_rows[i].want))
			fail_msg("row %zu: %s", i, got ? got : "not set");
	}
}

TEST(test_env_file)
{
	static const struct {
		const char *text, *want, *error;
	} file_rows[] = {
		{ "K=v\n", "v", NULL },
		{ "K=v", "v", NULL },
		{ "", NULL, NULL },
		{ "# K=no\n\n  \nA=1\nK=v\n", "v", NULL },
		{ "K=1\nK=2\n", "2", NULL },
		{ "K='a b'\n", "a b", NULL },
		{ "K='two\nlines'\n", "two\nlines", NULL },
		{ "K='$(A) \\n'\n", "$(A) \\n", NULL },
		{ "K=\"a\\\"b\\\\\" # said\n", "a\"b\\", NULL },
		{ "K = v \r\n", "v", NULL },
		{ "K=\n", "", NULL },
		{ "K='open\n", NULL, "missing closing quotation mark" },
		{ "A=1\nnonsense\n", NULL, "line 2: no '=' after the name" },
		{ "K='a'b\n", NULL, "line 1: text after the closing quotation mark" },
	};

	for (size_t i = 0; i < N_ELEMENTS(file_rows); i++) {
		cleanup_arena struct arena a = { 0 };
		const char *got = NULL;
		struct error err = { 0 };
		int rc = envfile_get(&a, file_rows[i].text, "K", &got, &err);

		assert_int_equal(rc, file_rows[i].error ? -1 : 0);
		if (file_rows[i].error ? !strstr(err.msg, file_rows[i].error)
				       : !str_eq(got, file_rows[i].want))
			fail_msg("row %zu: %s", i, rc ? err.msg : got ? got : "absent");
	}
}

TEST(test_file_key)
{
	static const char item[] =
		"{'command':['x'],'env':[{'name':'V','valueFrom':{'fileKeyRef':"
		"{'volumeName':'%s','path':'%s','key':'%s'%s}}}]}";
	static const struct {
		const char *volume, *path, *key, *more, *want, *error;
	} key_rows[] = {
		{ "v", "env", "K", "", "1", NULL },
		{ "v", "env", "NO", "", NULL,
		  "couldn't find key NO in file env of volume v" },
		{ "v", "env", "NO", ",'optional':true", NULL, NULL },
		{ "v", "none", "K", ",'optional':true", NULL, NULL },
		{ "v", "none", "K", "", NULL, "No such file" },
		{ "v", "../../etc/passwd", "K", "", NULL, "must not contain .." },
		{ "../x", "env", "K", "", NULL, "must not contain .." },
	};
	char dir[] = "/tmp/podenv-test-XXXXXX";
	struct error err = { 0 };
	cleanup_arena struct arena a = { 0 };

	assert_non_null(mkdtemp(dir));
	assert_int_equal(dir_make(path_join(&a, dir, "v"), 0700, &err), 0);
	assert_int_equal(file_write(path_join(&a, dir, "v/env"), "K=1\n", 4, 0600, &err),
			 0);
	for (size_t i = 0; i < N_ELEMENTS(key_rows); i++) {
		cleanup_json cJSON *c = NULL;
		char text[400];
		struct podenv_host host = { 0 };
		struct podenv_pod p = { .ip = "127.1.2.3",
					.hostname = "h",
					.volumes = dir };
		struct podenv env = { 0 };
		const char *got = NULL;
		int rc;

		snprintf(text, sizeof(text), item, key_rows[i].volume, key_rows[i].path,
			 key_rows[i].key, key_rows[i].more);
		p.pod = p.container = c = json_of(&a, text);
		rc = podenv_build(&a, &host, &p, &env, &err);
		assert_int_equal(rc, key_rows[i].error ? -1 : 0);
		for (size_t j = 0; rc == 0 && env.envp[j]; j++)
			if (str_after(env.envp[j], "V="))
				got = str_after(env.envp[j], "V=");
		if (rc ? !strstr(err.msg, key_rows[i].error)
		       : !str_eq(got, key_rows[i].want))
			fail_msg("row %zu: %s", i, rc ? err.msg : got ? got : "absent");
	}
	assert_int_equal(dir_remove(dir, &err), 0);
}

#define JOB_HOSTS                                                                   \
	"localhost,127.0.0.0/8,127.0.0.1,::1,.svc,.cluster.local,h,127.1.2.3,.job," \
	"127.1.2.3,b,127.1.2.4"

/* gRPC and requests would send the pods' own connections to the caller's proxy. */
TEST(test_no_proxy)
{
	static const struct {
		const char *callers[4], *own, *lower, *upper;
	} proxy_rows[] = {
		{ { "A=1", "no_proxy=x" }, "", "x", NULL },
		{ { "http_proxy=" }, "", NULL, NULL },
		{ { "http_proxy=http://p:1" }, "", JOB_HOSTS, JOB_HOSTS },
		{ { "HTTPS_PROXY=http://p:1", "no_proxy=x" },
		  "",
		  "x," JOB_HOSTS,
		  "x," JOB_HOSTS },
		{ { "all_proxy=socks5://p:1", "NO_PROXY=y", "no_proxy=x" },
		  "",
		  "x," JOB_HOSTS,
		  "y," JOB_HOSTS },
		{ { "grpc_proxy=http://p:1", "NO_PROXY=*" }, "", "*", "*" },
		{ { "no_proxy=x" },
		  "{'name':'https_proxy','value':'http://q'},{'name':'no_proxy','value':'z'}",
		  "z," JOB_HOSTS,
		  "z," JOB_HOSTS },
		{ { "https_proxy=http://p" },
		  "{'name':'https_proxy','value':''}",
		  NULL,
		  NULL },
	};
	cleanup_arena struct arena texts = { 0 };
	cleanup_map struct map names = { 0 };

	map_put(&names, "a.job", arena_strdup(&texts, "127.1.2.3"));
	map_put(&names, "b", arena_strdup(&texts, "127.1.2.4"));
	map_put(&names, "b.job", arena_strdup(&texts, "127.1.2.4"));
	for (size_t i = 0; i < N_ELEMENTS(proxy_rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *c =
			json_of(&a, arena_printf(&a, "{'command':['x'],'env':[%s]}",
						 proxy_rows[i].own));
		struct podenv_host host = { .environ = proxy_rows[i].callers,
					    .peer_names = &names };
		struct podenv_pod p = {
			.pod = c, .container = c, .ip = "127.1.2.3", .hostname = "h"
		};
		const char *lower = NULL, *upper = NULL;
		struct podenv env = { 0 };
		struct error err = { 0 };

		assert_int_equal(podenv_build(&a, &host, &p, &env, &err), 0);
		for (size_t j = 0; env.envp[j]; j++) {
			lower = str_starts(env.envp[j], "no_proxy=") ? env.envp[j] + 9
								     : lower;
			upper = str_starts(env.envp[j], "NO_PROXY=") ? env.envp[j] + 9
								     : upper;
		}
		if (!str_eq(lower, proxy_rows[i].lower) ||
		    !str_eq(upper, proxy_rows[i].upper))
			fail_msg("row %zu: %s, %s", i, lower ? lower : "none",
				 upper ? upper : "none");
	}
}

/* A limit on the length of a variable, whatever the number of pods. */
TEST(test_no_proxy_of_many)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_map struct map names = { 0 };
	cleanup_json cJSON *c = json_of(&a, "{'command':['x']}");
	static const char *const callers[] = { "http_proxy=http://p:1", NULL };
	struct podenv_host host = { .environ = callers, .peer_names = &names };
	struct podenv_pod p = {
		.pod = c, .container = c, .ip = "127.1.2.3", .hostname = "h"
	};
	struct podenv env = { 0 };
	struct error err = { 0 };

	for (int i = 0; i < 5000; i++)
		map_put(&names, arena_printf(&a, "pod-%d.domain-%d", i, i),
			arena_printf(&a, "127.1.%d.%d", i / 256, i % 256));
	assert_int_equal(podenv_build(&a, &host, &p, &env, &err), 0);
	for (size_t j = 0; env.envp[j]; j++)
		assert_true(strlen(env.envp[j]) < 33000);
}

TEST(test_unbuffered)
{
	static const char *const callers[] = { "PYTHONUNBUFFERED=", NULL };
	static const struct {
		const char *const *callers;
		const char *own, *want;
	} env_rows[] = {
		{ NULL, "", "1" },
		{ callers, "", "" },
		{ NULL, "{'name':'PYTHONUNBUFFERED','value':'x'}", "x" },
	};

	for (size_t i = 0; i < N_ELEMENTS(env_rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *c =
			json_of(&a, arena_printf(&a, "{'command':['x'],'env':[%s]}",
						 env_rows[i].own));
		struct podenv_host host = { .environ = env_rows[i].callers };
		struct podenv_pod p = {
			.pod = c, .container = c, .ip = "127.1.2.3", .hostname = "h"
		};
		const char *got = NULL;
		struct podenv env = { 0 };
		struct error err = { 0 };

		assert_int_equal(podenv_build(&a, &host, &p, &env, &err), 0);
		for (size_t j = 0; env.envp[j]; j++)
			if (str_after(env.envp[j], "PYTHONUNBUFFERED="))
				got = str_after(env.envp[j], "PYTHONUNBUFFERED=");
		assert_string_equal(got, env_rows[i].want);
	}
}

static const char *variable(const struct podenv *env, const char *name)
{
	for (size_t j = 0; env->envp[j]; j++)
		if (str_after(env->envp[j], name) && env->envp[j][strlen(name)] == '=')
			return env->envp[j] + strlen(name) + 1;
	return "-";
}

TEST(test_ranks_and_nodes_of_the_caller)
{
	static const char *const callers[] = { "RANK=3",
					       "WORLD_SIZE=4",
					       "LOCAL_RANK=1",
					       "MASTER_ADDR=a",
					       "MASTER_PORT=1",
					       "RANKING=a",
					       "OMP_SCHEDULE=auto",
					       "SLURM_PROCID=1",
					       "SLURM_NTASKS=8",
					       "SLURM_CPUS_PER_TASK=4",
					       "SLURM_JOB_ID=9",
					       "SLURM_JOBID=9",
					       "SLURM_NODELIST=n[1-2]",
					       "SLURM_STEP_ID=0",
					       "PBS_JOBID=9.host",
					       "PBS_ENVIRONMENT=PBS_BATCH",
					       "PBS_NODEFILE=/nodes",
					       "PE_HOSTFILE=/nodes",
					       "LSB_JOBINDEX=3",
					       "LSB_MCPU_HOSTS=n1 2",
					       "JSM_NAMESPACE_RANK=1",
					       "OMPI_COMM_WORLD_RANK=2",
					       "OMPI_MCA_btl=self",
					       "OMPI_MCA_ess_base_vpid=1",
					       "OMPI_MCA_orte_hnp_uri=u",
					       "OMPI_MCA_orte_base_help_aggregate=0",
					       "OMPI_UNIVERSE_SIZE=2",
					       "PMI_RANK=2",
					       "PMIX_NAMESPACE=n",
					       "MV2_COMM_WORLD_RANK=2",
					       "MPI_LOCALRANKID=1",
					       "TORCHELASTIC_RUN_ID=r",
					       "TORCHELASTIC_USE_AGENT_STORE=True",
					       "TORCHELASTIC_SIGNALS_TO_HANDLE=SIGTERM",
					       NULL };
	static const char *const none[] = { "RANK",
					    "WORLD_SIZE",
					    "MASTER_ADDR",
					    "MASTER_PORT",
					    "SLURM_PROCID",
					    "SLURM_NTASKS",
					    "SLURM_JOBID",
					    "SLURM_NODELIST",
					    "SLURM_STEP_ID",
					    "PBS_ENVIRONMENT",
					    "PBS_NODEFILE",
					    "PE_HOSTFILE",
					    "LSB_MCPU_HOSTS",
					    "JSM_NAMESPACE_RANK",
					    "PMI_RANK",
					    "PMIX_NAMESPACE",
					    "OMPI_COMM_WORLD_RANK",
					    "OMPI_MCA_ess_base_vpid",
					    "OMPI_MCA_orte_hnp_uri",
					    "OMPI_UNIVERSE_SIZE",
					    "MPI_LOCALRANKID",
					    "MV2_COMM_WORLD_RANK",
					    "TORCHELASTIC_RUN_ID",
					    "TORCHELASTIC_USE_AGENT_STORE" };
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *c = json_of(
		&a, "{'command':['x'],'env':[{'name':'LOCAL_RANK','value':'0'}]}");
	struct podenv_host host = { .environ = callers };
	struct podenv_pod p = {
		.pod = c, .container = c, .ip = "127.1.2.3", .hostname = "h"
	};
	struct podenv env = { 0 };
	struct error err = { 0 };

	assert_int_equal(podenv_build(&a, &host, &p, &env, &err), 0);
	for (size_t i = 0; i < N_ELEMENTS(none); i++)
		if (strcmp(variable(&env, none[i]), "-"))
			fail_msg("%s", none[i]);
	assert_string_equal(variable(&env, "SLURM_CPUS_PER_TASK"), "4");
	assert_string_equal(variable(&env, "SLURM_JOB_ID"), "9");
	assert_string_equal(variable(&env, "PBS_JOBID"), "9.host");
	assert_string_equal(variable(&env, "LSB_JOBINDEX"), "3");
	assert_string_equal(variable(&env, "OMPI_MCA_btl"), "self");
	assert_string_equal(variable(&env, "OMPI_MCA_orte_base_help_aggregate"), "0");
	assert_string_equal(variable(&env, "LOCAL_RANK"), "0");
	assert_string_equal(variable(&env, "RANKING"), "a");
	assert_string_equal(variable(&env, "TORCHELASTIC_SIGNALS_TO_HANDLE"), "SIGTERM");
	assert_string_equal(variable(&env, "OMP_SCHEDULE"), "auto");
}

TEST(test_threads)
{
	static const char *const callers[] = { "OMP_NUM_THREADS=7", NULL };
#define TORCH(nodes, n)                                                                 \
	"'env':[{'name':'PET_NNODES','value':'" nodes "'},{'name':'PET_NPROC_PER_NODE'" \
	",'value':'" n "'}"
	static const struct {
		const char *const *callers;
		const char *container, *want;
	} rows[] = {
		{ NULL, "'command':['torchrun','a.py']," TORCH("2", "4") "]", "2" },
		{ NULL, "'command':['torchrun','a.py']," TORCH("1:4", "1") "]", "16" },
		{ NULL, "'command':['torchrun','a.py']," TORCH("2", "100") "]", "1" },
		{ NULL, "'command':['torchrun','a.py']," TORCH("1", "auto") "]", "-" },
		{ NULL,
		  "'command':['torchrun','--nproc-per-node','2']," TORCH("1", "1") "]",
		  "8" },
		{ NULL,
		  "'command':['torchrun','--nproc_per_node=4','a.py']," TORCH("1",
									      "auto") "]",
		  "4" },
		{ NULL, "'command':['torchrun','--nproc_per_node']," TORCH("1", "1") "]",
		  "-" },
		{ NULL,
		  "'resources':{'limits':{'cpu':'3500m'}},'command':['x']," TORCH(
			  "2", "2") "]",
		  "2" },
		{ NULL,
		  "'command':['x']," TORCH(
			  "1", "1") ",{'name':'OMP_NUM_THREADS','value':'3'}]",
		  "3" },
		{ callers, "'command':['x']," TORCH("1", "1") "]", "7" },
		{ NULL, "'command':['x']", "-" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *c =
			json_of(&a, arena_printf(&a, "{%s}", rows[i].container));
		struct podenv_host host = { .environ = rows[i].callers, .cpus = 16 };
		struct podenv_pod p = {
			.pod = c, .container = c, .ip = "127.1.2.3", .hostname = "h"
		};
		struct podenv env = { 0 };
		struct error err = { 0 };

		assert_int_equal(podenv_build(&a, &host, &p, &env, &err), 0);
		if (strcmp(variable(&env, "OMP_NUM_THREADS"), rows[i].want))
			fail_msg("%s: %s", rows[i].container,
				 variable(&env, "OMP_NUM_THREADS"));
	}
}

#define JAX_ENV                                                                           \
	"{'name':'JAX_NUM_PROCESSES','value':'3'},{'name':'JAX_PROCESS_ID','value':'2'}," \
	"{'name':'JAX_COORDINATOR_ADDRESS','value':'tj-node-0-0.tj:29500'}"

/* Slurm's variables of the caller, or of a pod that is not JAX's, mean something else. */
TEST(test_jax)
{
	static const char *const slurm[] = { "SLURM_JOB_ID=9", "SLURM_NTASKS=1",
					     "SLURM_PROCID=0", NULL };
	static const struct {
		const char *const *callers;
		const char *env, *gpus;
		const char *want; /* SLURM_JOB_ID, _NTASKS, _PROCID, the GPUs */
	} rows[] = {
		{ NULL, JAX_ENV, NULL, "1 3 2 0" },
		{ slurm, JAX_ENV, "", "1 3 2 0" },
		{ slurm, JAX_ENV, "GPU-a,GPU-b,GPU-c", "1 3 2 0,1,2" },
		{ slurm, JAX_ENV ",{'name':'JAX_LOCAL_DEVICE_IDS','value':'1'}",
		  "GPU-a,GPU-b", "1 3 2 1" },
		{ slurm, JAX_ENV ",{'name':'SLURM_JOB_ID','value':'7'}", NULL,
		  "7 - - -" },
		{ slurm, "{'name':'JAX_NUM_PROCESSES','value':'3'}", NULL, "9 - - -" },
		{ NULL, "", NULL, "- - - -" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *c =
			json_of(&a, arena_printf(&a, "{'command':['x'],'env':[%s]}",
						 rows[i].env));
		struct podenv_host host = { .environ = rows[i].callers };
		struct podenv_pod p = { .pod = c,
					.container = c,
					.ip = "127.1.2.3",
					.hostname = "h",
					.gpus = rows[i].gpus };
		struct podenv env = { 0 };
		struct error err = { 0 };
		const char *got;

		assert_int_equal(podenv_build(&a, &host, &p, &env, &err), 0);
		got = arena_printf(&a, "%s %s %s %s", variable(&env, "SLURM_JOB_ID"),
				   variable(&env, "SLURM_NTASKS"),
				   variable(&env, "SLURM_PROCID"),
				   variable(&env, "JAX_LOCAL_DEVICE_IDS"));
		if (strcmp(got, rows[i].want))
			fail_msg("row %zu: %s", i, got);
	}
}

TEST(test_terminal)
{
	static const char *const wide[] = { "COLUMNS=200", NULL };
	static const char *const plain[] = { "NO_COLOR=1", NULL };
	static const struct {
		const char *const *callers;
		int columns;
		const char *want; /* COLUMNS LINES FORCE_COLOR */
	} rows[] = {
		{ NULL, 0, "- - -" },
		{ NULL, 71, "71 24 1" },
		{ wide, 71, "200 - 1" },
		{ plain, 71, "71 24 -" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *c = json_of(&a, "{'command':['x']}");
		struct podenv_host host = { .environ = rows[i].callers,
					    .columns = rows[i].columns,
					    .rows = 24 };
		struct podenv_pod p = {
			.pod = c, .container = c, .ip = "127.1.2.3", .hostname = "h"
		};
		struct podenv env = { 0 };
		struct error err = { 0 };

		assert_int_equal(podenv_build(&a, &host, &p, &env, &err), 0);
		assert_string_equal(arena_printf(&a, "%s %s %s",
						 variable(&env, "COLUMNS"),
						 variable(&env, "LINES"),
						 variable(&env, "FORCE_COLOR")),
				    rows[i].want);
	}
}

RUN_TESTS(NULL, NULL)
