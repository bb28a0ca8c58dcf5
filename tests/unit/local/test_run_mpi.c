#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "local/run_impl.h"
#include "tests/unit/kubelet/quoted.h"
#include "tests/unit/unit.h"
#include "trainer/carry.h"

enum { NODE_POD, LAUNCHER_POD };

/* A run up to where its pods would start; `plain`: without namespaces. */
struct play {
	struct arena arena;
	struct local_run_opts opts;
	struct run r;
	cJSON *objects;
	char dir[32];
};

/* clang-format off */
#define MOUNTS                                                                         \
	"'volumeMounts':[{'name':'mpi-ssh-auth','mountPath':'/root/.ssh'},"            \
	"{'name':'mpi-hostfile','mountPath':'/etc/mpi'},"                              \
	"{'name':'kftrainer-bin','mountPath':'/opt/kftrainer'}]"
#define JOB(name, container)                                                           \
	"{'name':'" name "','template':{'spec':{'completions':1,'parallelism':1,"      \
	"'template':{'spec':{'initContainers':[{'name':'kftrainer'},{'name':'mpi-wait'}]," \
	"'volumes':[{'name':'mpi-ssh-auth'},{'name':'mpi-hostfile'},"                  \
	"{'name':'kftrainer-bin'}],'containers':[{'name':'node'," MOUNTS               \
	"," container "}]}}}}}"
#define NODE_JOB JOB("node", "'command':['/usr/sbin/sshd'],'args':['-De'],"            \
	"'env':[{'name':'KFTRAINER_MPI_KEY','value':'/root/.ssh/id_rsa'}],"            \
	"'readinessProbe':{'tcpSocket':{'port':2222}},"                                \
	"'livenessProbe':{'tcpSocket':{'port':'ssh'}},"                                \
	"'startupProbe':{'exec':{'command':['true']}}")
#define LAUNCHER_JOB JOB("launcher", "'command':['/opt/kftrainer/mpi-launch','--watch'," \
	"'/etc/mpi/hostfile','--','mpirun','/opt/kftrainer-2/x',"       \
	"'/opt/kftrainer/a:/opt/kftrainer/b'],'env':["                                 \
	"{'name':'OMPI_MCA_orte_default_hostfile','value':'/etc/mpi/hostfile'},"       \
	"{'name':'OMPI_MCA_btl_tcp_if_include','value':'eth7'},"                       \
	"{'name':'KFTRAINER_MPI_PORT','value':'2200'}]")
#define JOBSET                                                                         \
	"{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':'j'," \
	"'namespace':'ns','uid':'u','annotations':{'kftrainer.io/mpi':'worker'}},"     \
	"'spec':{'replicatedJobs':[" NODE_JOB "," LAUNCHER_JOB "]}}"
#define OBJECTS                                                                        \
	"[{'kind':'ConfigMap','metadata':{'name':'j-mpi-hostfile'},'data':{'hostfile':" \
	"'j-launcher-0-0 slots=2\\nj-node-0-0.j slots=2\\n'}},"   \
	"{'kind':'Secret','metadata':{'name':'j-mpi-ssh-auth'},'data':"                \
	"{'ssh-privatekey':'a2V5Cg=='}}]"
/* clang-format on */

static void begin(struct play *p, bool plain)
{
	struct kubelet_opts k = { .no_namespaces = plain };
	const char *pod, *const *names;
	struct error err = { 0 };

	*p = (struct play){ .dir = "/tmp/kftrainer-mpi-XXXXXX" };
	assert_non_null(mkdtemp(p->dir));
	p->objects = parse(OBJECTS);
	p->opts =
		(struct local_run_opts){ .name = "j", .ns = "ns", .objects = p->objects };
	p->r.opts = &p->opts;
	p->r.jobset = parse(JOBSET);
	p->r.state.dir = p->dir;
	k.dir = p->dir;
	k.log_dir = path_join(&p->arena, p->dir, "logs");
	assert_int_equal(kubelet_new(&p->r.kubelet, &k, &err), 0);
	if (run_mpi_edit(&p->r, &err) || jobs_new(&p->r.jobs, p->r.jobset, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; jobs_pod_names(p->r.jobs, i, &pod, &names); i++)
		assert_int_equal(kubelet_add_name(p->r.kubelet, pod, names, &err), 0);
	if (run_mpi_files(&p->r, &err))
		fail_msg("%s", err.msg);
}

static void end(struct play *p)
{
	struct error err = { 0 };

	run_free_ports(&p->r);
	run_mpi_free(&p->r);
	jobs_free(p->r.jobs);
	kubelet_free(p->r.kubelet);
	cJSON_Delete(p->r.jobset);
	cJSON_Delete(p->objects);
	arena_clear(&p->arena);
	assert_int_equal(dir_remove(p->dir, &err), 0);
}

static const cJSON *pod_spec_of(const struct play *p, int job)
{
	return json_get(cJSON_GetArrayItem(json_get((const cJSON *)p->r.jobset, "spec",
						    "replicatedJobs"),
					   job),
			"template", "spec", "template", "spec");
}

static const cJSON *container_of(const struct play *p, int job)
{
	return cJSON_GetArrayItem(json_get(pod_spec_of(p, job), "containers"), 0);
}

/* The value, or "" if there is none. */
static const char *env_of(const struct play *p, int job, const char *name)
{
	const char *value = json_str(
		json_find_const(json_get(container_of(p, job), "env"), "name", name),
		"value");

	return value ? value : "";
}

/* The words of its command, separated by blanks. */
static const char *command_of(struct play *p, int job)
{
	const char *text = "";
	const cJSON *word;

	json_each(word, json_get(container_of(p, job), "command"))
		text = arena_printf(&p->arena, "%s%s%s", text, *text ? " " : "",
				    cJSON_GetStringValue(word));
	return text;
}

static const char *file_of(struct play *p, const char *name)
{
	cleanup_buf struct buf b = { .max = 4096 };
	struct error err = { 0 };
	const char *path = path_join(&p->arena, p->dir, name);

	if (file_read(&b, path, &err))
		return "";
	return arena_printf(&p->arena, "%.*s", (int)b.len, (const char *)b.data);
}

static bool has_volume(const struct play *p, int job, const char *name)
{
	return json_find_const(json_get(pod_spec_of(p, job), "volumes"), "name", name);
}

TEST(test_worker_replaces_sshd)
{
	struct play p;
	const char *port;

	begin(&p, false);
	assert_string_equal(command_of(&p, NODE_POD),
			    arena_printf(&p.arena,
					 "%s/pods/mpi/bin/mpi-worker --listen "
					 "$(KFTRAINER_POD_IP)",
					 p.dir));
	assert_null(json_get(container_of(&p, NODE_POD), "args"));
	for (int job = NODE_POD; job <= LAUNCHER_POD; job++) {
		const cJSON *init = json_get(pod_spec_of(&p, job), "initContainers");

		assert_int_equal(cJSON_GetArraySize(init), 0);
		assert_false(has_volume(&p, job, CARRY_VOLUME));
		assert_true(has_volume(&p, job, "mpi-hostfile"));
	}
	/* Its own port is that of both ends, whatever the job says, and of probes. */
	port = env_of(&p, NODE_POD, "KFTRAINER_MPI_PORT");
	assert_string_equal(env_of(&p, LAUNCHER_POD, "KFTRAINER_MPI_PORT"), port);
	assert_true((int)strtol(port, NULL, 10) >= 20000);
	assert_int_equal(json_int(container_of(&p, NODE_POD), 0, "readinessProbe",
				  "tcpSocket", "port"),
			 (int)strtol(port, NULL, 10));
	assert_int_equal(json_int(container_of(&p, NODE_POD), 0, "livenessProbe",
				  "tcpSocket", "port"),
			 (int)strtol(port, NULL, 10));
	assert_non_null(json_get(container_of(&p, NODE_POD), "startupProbe", "exec"));
	end(&p);
}

TEST(test_two_runs_have_two_ports)
{
	struct play one, two;

	begin(&one, false);
	begin(&two, false);
	assert_string_not_equal(env_of(&one, NODE_POD, "KFTRAINER_MPI_PORT"),
				env_of(&two, NODE_POD, "KFTRAINER_MPI_PORT"));
	end(&one);
	end(&two);
}

TEST(test_launcher)
{
	struct play p;

	begin(&p, false);
	/* Paths of the carried program, and only those. */
	assert_string_equal(
		command_of(&p, LAUNCHER_POD),
		arena_printf(
			&p.arena,
			"%s/pods/mpi/bin/mpi-launch --watch /etc/mpi/hostfile -- "
			"mpirun /opt/kftrainer-2/x %s/pods/mpi/bin/a:%s/pods/mpi/bin/b",
			p.dir, p.dir, p.dir));
	assert_string_equal(env_of(&p, LAUNCHER_POD, "OMPI_MCA_btl_tcp_if_include"),
			    "eth7"); /* the job's */
	assert_string_equal(env_of(&p, LAUNCHER_POD, "MPIR_CVAR_CH4_NETMOD"), "ofi");
	assert_string_equal(env_of(&p, LAUNCHER_POD, "OMPI_MCA_btl"), "");
	assert_string_equal(env_of(&p, NODE_POD, "MPIR_CVAR_CH4_NETMOD"), "");
	assert_string_equal(env_of(&p, LAUNCHER_POD, "OMPI_ALLOW_RUN_AS_ROOT"),
			    geteuid() == 0 ? "1" : "");
	assert_string_equal(env_of(&p, LAUNCHER_POD, "OMPI_MCA_orte_default_hostfile"),
			    "/etc/mpi/hostfile");
	end(&p);
}

/* Each pod has a directory for temporary files, and there are the program's links. */
TEST(test_files)
{
	struct play p;
	const char *links[] = { "mpi-launch", "mpi-worker" }, *tmp;
	struct stat st;

	begin(&p, false);
	for (size_t i = 0; i < 2; i++) {
		const char *to =
			arena_printf(&p.arena, "%s/pods/mpi/bin/%s", p.dir, links[i]);

		assert_int_equal(access(to, X_OK), 0);
	}
	tmp = arena_strdup(&p.arena, p.r.mpi_tmp);
	assert_string_equal(env_of(&p, NODE_POD, "TMPDIR"),
			    path_join(&p.arena, tmp, "$(KFTRAINER_POD_IP)"));
	assert_int_equal(stat(path_join(&p.arena, tmp,
					kubelet_address(p.r.kubelet, "j-node-0-0.j")),
			      &st),
			 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_string_equal(file_of(&p, "pods/mpi/id_rsa"), "");
	end(&p);
	assert_false(file_exists(tmp));
}

/* TMPDIR leaves room for the sockets of Python's multiprocessing, whatever the caller's is. */
TEST(test_sockets_in_tmpdir)
{
	static const char socket[] = "/pymp-12345678/listener-12345678";
	static const char *const callers[] = { NULL, "/tmp", "relative", "/no/such/dir",
					       "/tmp/././././././././././././" };

	for (size_t i = 0; i < N_ELEMENTS(callers); i++) {
		const char *value;
		struct play p;

		if (callers[i])
			setenv("TMPDIR", callers[i], 1);
		else
			unsetenv("TMPDIR");
		begin(&p, false);
		value = env_of(&p, LAUNCHER_POD, "TMPDIR");
		if (strlen(value) - strlen("$(KFTRAINER_POD_IP)") +
			    strlen("127.255.255.255") + strlen(socket) >
		    107)
			fail_msg("%s: %s", callers[i] ? callers[i] : "-", value);
		assert_true(str_starts(value, "/tmp/kftrainer-"));
		end(&p);
	}
	unsetenv("TMPDIR");
}

/* Without namespaces there are neither names nor mounts: addresses, and files elsewhere. */
TEST(test_plain)
{
	char host[256] = "";
	struct stat st;
	struct play p;

	begin(&p, true);
	gethostname(host, sizeof(host) - 1);
	assert_string_equal(file_of(&p, "pods/mpi/id_rsa"), "key\n");
	assert_int_equal(stat(path_join(&p.arena, p.dir, "pods/mpi/id_rsa"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_string_equal(file_of(&p, "pods/mpi/hostfile"),
			    arena_printf(&p.arena, "%s slots=2\n%s slots=2\n", host,
					 kubelet_address(p.r.kubelet, "j-node-0-0.j")));
	assert_string_equal(env_of(&p, LAUNCHER_POD, "OMPI_MCA_orte_default_hostfile"),
			    arena_printf(&p.arena, "%s/pods/mpi/hostfile", p.dir));
	assert_string_equal(env_of(&p, NODE_POD, "KFTRAINER_MPI_KEY"),
			    arena_printf(&p.arena, "%s/pods/mpi/id_rsa", p.dir));
	assert_non_null(
		strstr(command_of(&p, LAUNCHER_POD),
		       arena_printf(&p.arena, "--watch %s/pods/mpi/hostfile --", p.dir)));
	assert_string_equal(env_of(&p, LAUNCHER_POD, "OMPI_MCA_btl"), "self,tcp");
	assert_int_equal(cJSON_GetArraySize(json_get(container_of(&p, LAUNCHER_POD),
						     "volumeMounts")),
			 0);
	assert_false(has_volume(&p, LAUNCHER_POD, "mpi-hostfile"));
	end(&p);
}

TEST(test_other_jobs_are_left_alone)
{
	cleanup_json cJSON *jobset = parse(JOBSET), *before = NULL;
	char none[] = "/none";
	struct run r = { .jobset = jobset, .state.dir = none };
	struct error err = { 0 };

	json_del(jobset, JSON_PATH("metadata", "annotations"));
	before = json_dup(jobset);
	assert_int_equal(run_mpi_edit(&r, &err), 0);
	assert_int_equal(run_mpi_files(&r, &err), 0);
	assert_true(cJSON_Compare(jobset, before, true));
	assert_int_equal(r.n_port_locks, 0);
}

RUN_TESTS(NULL, NULL)
