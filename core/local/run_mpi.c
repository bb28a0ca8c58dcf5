/* run_mpi.c - adapt MPI pods to one machine (local/run_impl.h). */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kubelet/podenv.h"
#include "kubelet/shmdir.h"
#include "kubelet/torchfix.h"
#include "local/run_impl.h"
#include "trainer/api.h"
#include "trainer/carry.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"

#define ADDRESS_ENV "KFTRAINER_POD_IP"
#define ADDRESS     "$(" ADDRESS_ENV ")"
#define PORT_ENV    "KFTRAINER_MPI_PORT"
#define KEY_FILE    "id_rsa"
#define HOSTFILE    "hostfile"
#define MPICH_ENV   "HYDRA_HOST_FILE"
/* MPICH 4.0 of a distribution, which has UCX: see mpich/progress.c. */
#define FAULTY_MPICH "/usr/lib/*/libmpich.so.12.2.*"

enum { MAX_FILE = 1024 * 1024 };

/*
 * The path of a socket has at most 107 bytes. After TMPDIR, Python's multiprocessing, and
 * with it torch's DataLoader, needs 32 of them, and our own names 54.
 */
enum { SHORT_TMPDIR = 21 };

/*
 * Settings of mpirun if all nodes are one machine. Open MPI excludes the loopback
 * interface, and UCX, which MPICH 5 prefers to libfabric, finds no route over it. Ranks
 * of different pods do not coordinate, so none may bind to a core or spin while it waits.
 */
static const struct {
	enum where { ALWAYS, AS_ROOT, PLAIN } where; /* PLAIN: without namespaces */
	const char *name, *value;
} launcher_env[] = {
	{ ALWAYS, "OMPI_MCA_btl_tcp_if_include", "lo" },
	{ ALWAYS, "OMPI_MCA_mpi_yield_when_idle", "1" },
	{ ALWAYS, "OMPI_MCA_hwloc_base_binding_policy", "none" },
	{ ALWAYS, "PRTE_MCA_hwloc_default_binding_policy", "none" },
	{ ALWAYS, "MPIR_CVAR_CH4_NETMOD", "ofi" },
	{ ALWAYS, "I_MPI_PIN", "off" },
	{ AS_ROOT, "OMPI_ALLOW_RUN_AS_ROOT", "1" },
	{ AS_ROOT, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
	/* Open MPI names shared memory after the host, which all pods then share. */
	{ PLAIN, "OMPI_MCA_btl", "self,tcp" },
	{ PLAIN, "OMPI_MCA_coll", "^han,sm,xhc,acoll" },
};

/* A directory in a pod, and its replacement on this machine. */
struct local_dir {
	const char *from, *to; /* from NULL: unchanged */
};

struct edit {
	struct arena *arena;
	const char *dir; /* of this run's files for MPI */
	const char *tmp; /* of the pods' TMPDIRs */
	bool plain;      /* no mount namespaces: use paths in `dir` */
	int port;        /* the workers' port, replacing the job's */
	int torch_port;  /* see TORCHFIX_PORT */
	const char *
		preload; /* mpich/progress.c, for ranks of MPICH 4.0; NULL: not installed */
	struct local_dir places[3];
};

static bool is_mpi(const struct run *r)
{
	return json_str((const cJSON *)r->jobset, "metadata", "annotations",
			MPI_ANNOTATION);
}

static const char *mpi_dir(struct arena *a, const struct run *r)
{
	return path_join(a, r->state.dir, "pods/mpi");
}

/* ---- words ---- */

/* Replace each `from` that is followed by '/'. */
static const char *move_paths(struct arena *a, const char *text, const char *from,
			      const char *to)
{
	size_t n = strlen(from);
	const char *at = text;

	while ((at = strstr(at, from)) != NULL && at[n] != '/')
		at += n;
	if (!at)
		return text;
	return arena_printf(a, "%s%s%s", str_slice(a, text, (size_t)(at - text)), to,
			    move_paths(a, at + n, from, to));
}

static void move_word(const struct edit *e, cJSON *word)
{
	const char *old = cJSON_GetStringValue(word), *text = old;

	for (size_t i = 0; text && i < 3; i++)
		if (e->places[i].from)
			text = move_paths(e->arena, text, e->places[i].from,
					  e->places[i].to);
	if (text != old)
		cJSON_SetValuestring(word, text);
}

static void move_words(const struct edit *e, cJSON *c)
{
	cJSON *word, *var;

	json_each(word, json_get(c, "command"))
		move_word(e, word);
	json_each(word, json_get(c, "args"))
		move_word(e, word);
	json_each(var, json_get(c, "env"))
		move_word(e, json_get(var, "value"));
}

/* ---- containers ---- */

/* Listen on the pod's own address: jobs and nodes never collide. */
static void run_worker(const struct edit *e, cJSON *c)
{
	const char *const words[] = { path_join(e->arena, e->places[0].to, "mpi-worker"),
				      "--listen", ADDRESS };
	cleanup_json cJSON *command = cJSON_CreateStringArray(words, 3);

	container_set_command(c, command);
	container_set_args(c, NULL);
	container_move_probes(c, e->port);
}

static bool applies(const struct edit *e, enum where where)
{
	return where == ALWAYS || (where == AS_ROOT && geteuid() == 0) ||
	       (where == PLAIN && e->plain);
}

/* PRRTE names its files in TMPDIR after process IDs, which repeat from pod to pod. */
static void add_env(const struct edit *e, cJSON *c, bool launcher)
{
	container_set_env_field(c, ADDRESS_ENV, "status.podIP");
	container_set_env(c, PORT_ENV, arena_printf(e->arena, "%d", e->port));
	container_set_env(c, TORCHFIX_PORT, arena_printf(e->arena, "%d", e->torch_port));
	container_default_env(c, "TMPDIR", path_join(e->arena, e->tmp, ADDRESS));
	for (size_t i = 0; launcher && i < N_ELEMENTS(launcher_env); i++)
		if (applies(e, launcher_env[i].where))
			container_default_env(c, launcher_env[i].name,
					      launcher_env[i].value);
	/* mpirun passes its environment on to the ranks. */
	if (launcher && e->preload &&
	    json_find_const(container_env(c), "name", MPICH_ENV))
		container_default_env(c, "LD_PRELOAD", e->preload);
}

/* Without mount namespaces, skip the volumes that the pipeline added. */
static void move_mount(struct edit *e, cJSON *c, size_t place, const char *volume)
{
	const cJSON *mount = json_find_const(json_get(c, "volumeMounts"), "name", volume);

	if (!mount)
		return;
	e->places[place] = (struct local_dir){ json_str(mount, "mountPath"), e->dir };
	e->places[place].from = arena_strdup(e->arena, e->places[place].from);
	container_drop_mount(c, volume);
}

static void edit_container(struct edit *e, cJSON *c, bool launcher)
{
	e->places[1] = e->places[2] = (struct local_dir){ 0 };
	if (e->plain) {
		move_mount(e, c, 1, MPI_KEY_VOLUME);
		move_mount(e, c, 2, MPI_HOSTFILE_VOLUME);
	}
	container_drop_mount(c, CARRY_VOLUME);
	move_words(e, c);
	add_env(e, c, launcher);
}

static void edit_pod(struct edit *e, cJSON *pod_spec, const char *rjob)
{
	bool launcher = str_eq(rjob, LAUNCHER);
	cJSON *c;

	pod_drop_init_container(pod_spec, CARRY_CONTAINER);
	pod_drop_volume(pod_spec, CARRY_VOLUME);
	pod_drop_init_container(pod_spec, MPI_WAIT_CONTAINER);
	if (e->plain) {
		pod_drop_volume(pod_spec, MPI_KEY_VOLUME);
		pod_drop_volume(pod_spec, MPI_HOSTFILE_VOLUME);
	}
	json_each(c, json_get(pod_spec, "initContainers"))
		edit_container(e, c, launcher);
	json_each(c, json_get(pod_spec, "containers"))
		edit_container(e, c, launcher);
	if (str_eq(rjob, NODE) && (c = pod_container(pod_spec, NODE)) != NULL)
		run_worker(e, c);
}

/* ---- files ---- */

/* Create the links of `runtime carry`, to the running program. */
static int make_links(struct arena *a, const char *dir, struct error *err)
{
	cleanup_free char *self = path_of_program(err);

	if (!self)
		return -1;
	if (dir_make(dir, 0700, err))
		return -1;
	for (size_t i = 0; carry_links[i]; i++) {
		const char *path = path_join(a, dir, carry_links[i]);

		if (symlink(self, path))
			return error_errno(err, errno, "%s", path);
	}
	return 0;
}

/* The value of `key` in a ConfigMap or Secret of the job; false: no object has it. */
static bool find_value(const struct run *r, const char *key, struct buf *out)
{
	const cJSON *o;

	json_each(o, r->opts->objects)
		if (podenv_data(o, key, out))
			return true;
	return false;
}

static int write_value(struct arena *a, const struct run *r, const char *key,
		       const char *dir, const char *name, struct error *err)
{
	cleanup_buf struct buf b = { .max = MAX_FILE };
	int rc = 0;

	if (find_value(r, key, &b))
		rc = file_write(path_join(a, dir, name), b.data, b.len, 0600, err);
	if (b.data)
		explicit_bzero(b.data, b.len);
	return rc;
}

/*
 * Without namespaces pod names do not resolve: list addresses; the launcher is localhost.
 */
static int write_hosts(struct arena *a, const struct run *r, const char *dir,
		       struct error *err)
{
	cleanup_buf struct buf b = { .max = MAX_FILE }, out = { .max = MAX_FILE };
	const char *own = arena_printf(a, "%s-" LAUNCHER "-", r->opts->name);
	char host[256] = "";
	char *line, *rest;

	if (!find_value(r, HOSTFILE, &b))
		return 0;
	buf_add(&b, "", 1);
	if (buf_check(&b, "the MPI host file", err))
		return -1;
	gethostname(host, sizeof(host) - 1);
	for (rest = (char *)b.data; (line = strsep(&rest, "\n")) != NULL;) {
		size_t n = strcspn(line, " :");
		const char *name = str_slice(a, line, n);
		const char *ip = kubelet_address(r->kubelet, name);

		if (*line)
			buf_printf(&out, "%s%s\n",
				   ip && !str_starts(name, own) ? ip : host, line + n);
	}
	return file_write(path_join(a, dir, HOSTFILE), out.data, out.len, 0600, err);
}

/* Write the library if this machine's MPICH needs it; *ret is its path, or NULL. */
static int write_preload(struct arena *a, const char *dir, const char **ret,
			 struct error *err)
{
	const struct asset *library = asset_find("mpich.so");
	glob_t found;
	bool faulty = glob(FAULTY_MPICH, GLOB_NOSORT, NULL, &found) == 0;

	globfree(&found);
	*ret = NULL;
	if (!faulty)
		return 0;
	*ret = path_join(a, dir, "mpich.so");
	return file_write(*ret, library->data, library->len, 0700, err);
}

/* The run's own directory, which is longer, serves if no other can be made. */
static const char *tmp_dir(struct arena *a, struct run *r)
{
	const char *own = getenv("TMPDIR"), *dir = NULL;

	if (r->mpi_tmp)
		return r->mpi_tmp;
	if (own && *own == '/' && strlen(own) <= SHORT_TMPDIR)
		dir = tempdir_make(a, own, &r->mpi_tmp_lock);
	if (!dir)
		dir = tempdir_make(a, "/tmp", &r->mpi_tmp_lock);
	if (!dir)
		return path_join(a, mpi_dir(a, r), "tmp");
	r->mpi_tmp = xstrdup(dir);
	return r->mpi_tmp;
}

void run_mpi_free(struct run *r)
{
	if (r->mpi_tmp)
		tempdir_remove(r->mpi_tmp, r->mpi_tmp_lock);
	free(r->mpi_tmp);
	r->mpi_tmp = NULL;
}

int run_mpi_edit(struct run *r, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	struct edit e = { .arena = &a, .dir = mpi_dir(&a, r) };
	cJSON *rjob;

	if (!is_mpi(r))
		return 0;
	e.tmp = tmp_dir(&a, r);
	e.plain = kubelet_isolation(r->kubelet) == ISOLATION_NONE;
	e.places[0] = (struct local_dir){ CARRY_PATH, path_join(&a, e.dir, "bin") };
	if (dir_make(e.dir, 0700, err) || make_links(&a, e.places[0].to, err) ||
	    (e.plain && write_value(&a, r, "ssh-privatekey", e.dir, KEY_FILE, err)) ||
	    run_reserve_port(r, &e.port, err) ||
	    run_reserve_port(r, &e.torch_port, err) ||
	    write_preload(&a, e.dir, &e.preload, err))
		return -1;
	json_each(rjob, jobset_jobs(json_get(r->jobset, "spec")))
		edit_pod(&e, rjob_pod_spec(rjob), json_str(rjob, "name"));
	run_note(r, "nodes run mpi-worker instead of sshd, on port %d", e.port);
	return 0;
}

int run_mpi_files(struct run *r, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	const char *pod, *const *names, *dir = mpi_dir(&a, r), *tmp;

	if (!is_mpi(r))
		return 0;
	tmp = tmp_dir(&a, r);
	for (size_t i = 0; jobs_pod_names(r->jobs, i, &pod, &names); i++) {
		const char *ip =
			names && *names ? kubelet_address(r->kubelet, *names) : NULL;

		if (ip && dir_make(path_join(&a, tmp, ip), 0700, err))
			return -1;
	}
	if (kubelet_isolation(r->kubelet) != ISOLATION_NONE)
		return 0;
	return write_hosts(&a, r, dir, err);
}
