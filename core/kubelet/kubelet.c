/* kubelet.c - give pods addresses, names and GPUs; run their loop (kubelet/kubelet.h). */
#include "kubelet/kubelet.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kubelet/holders.h"
#include "kubelet/hosts.h"
#include "kubelet/pod.h"
#include "kubelet/ports.h"
#include "kubelet/probe.h"
#include "kubelet/shmdir.h"
#include "kubelet/undolog.h"
#include "kubelet/venv.h"

enum { MAX_HOSTNAME = 63, BLOCK_ADDRESSES = 254 };
enum { GPU_WAIT_MS = 1000 };

extern char **environ;

/* ---- the node -------------------------------------------------------------------- */

static void describe_host(struct kubelet *k)
{
	struct utsname u = { 0 };

	uname(&u);
	k->host.node_name = arena_strdup(&k->arena, u.nodename);
	k->host.environ = (const char *const *)(uintptr_t)environ;
	k->host.columns = k->opts.columns;
	k->host.rows = k->opts.rows;
	if (k->opts.venv)
		k->host.environ = venv_environ(&k->arena, k->host.environ, k->opts.venv);
	k->host.objects = k->opts.objects;
	k->host.peer_names = &k->names;
	k->host.cpus = cores_usable();
	k->host.memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	while (k->opts.gpus && k->opts.gpus[k->n_gpus])
		k->n_gpus++;
	k->gpus = arena_alloc(&k->arena, (k->n_gpus + 1) * sizeof(*k->gpus));
	for (size_t i = 0; i < k->n_gpus; i++)
		k->gpus[i].id = arena_strdup(&k->arena, k->opts.gpus[i]);
}

/* Each pod needs about four descriptors. Its processes get the original limit. */
static void raise_limits(struct kubelet *k)
{
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &k->nofile) < 0)
		return;
	more = k->nofile;
	more.rlim_cur = more.rlim_max;
	setrlimit(RLIMIT_NOFILE, &more);
}

static int find_isolation(struct kubelet *k, struct error *err)
{
	k->stage = path_join(&k->arena, k->opts.dir, "stage");
	if (k->opts.no_namespaces)
		return 0;
	if (dir_make(k->stage, 0700, err) < 0)
		return -1;
	k->kind = sandbox_probe(k->stage, &k->trial);
	return 0;
}

static int set_up(struct kubelet *k, struct error *err)
{
	const char *pods = path_join(&k->arena, k->opts.dir, "pods");
	char cwd[4096];

	if (!k->opts.workdir && getcwd(cwd, sizeof(cwd)))
		k->opts.workdir = arena_strdup(&k->arena, cwd);
	if (dir_make(pods, 0700, err) < 0 || dir_make(k->opts.log_dir, 0700, err) < 0)
		return -1;
	if (loop_init(&k->loop, err) < 0 || find_isolation(k, err) < 0)
		return -1;
	k->nsswitch = hosts_nsswitch(&k->arena, pods);
	k->memory_dir = shmdir_make(&k->arena, &k->memory_lock);
	return 0;
}

static void log_cgroup(void *ctx, const char *dir)
{
	const struct kubelet *k = ctx;

	undolog_add(k->opts.dir, UNDO_CGROUP, dir, "");
}

int kubelet_new(struct kubelet **ret, const struct kubelet_opts *opts, struct error *err)
{
	struct kubelet *k = xcalloc(1, sizeof(*k));

	k->opts = *opts;
	k->memory_lock = -1;
	k->cgroups.on_make = log_cgroup;
	k->cgroups.ctx = k;
	k->loop.epoll = k->loop.report_out = k->loop.reports.fd = -1;
	k->opts.dir = arena_strdup(&k->arena, opts->dir);
	k->opts.log_dir = arena_strdup(&k->arena, opts->log_dir);
	k->opts.claims = opts->claims ? arena_strdup(&k->arena, opts->claims)
				      : path_join(&k->arena, k->opts.dir, "claims");
	if (opts->workdir)
		k->opts.workdir = arena_strdup(&k->arena, opts->workdir);
	if (set_up(k, err) < 0) {
		kubelet_free(k);
		return -1;
	}
	raise_limits(k);
	describe_host(k);
	hosts_begin(&k->hosts);
	*ret = k;
	return 0;
}

enum isolation kubelet_isolation(const struct kubelet *k)
{
	return k->kind & SANDBOX_MOUNT ? ISOLATION_NAMESPACES : ISOLATION_NONE;
}

void kubelet_map_port(struct kubelet *k, int from, int to)
{
	k->host.port_from = from;
	k->host.port_to = to;
}

void kubelet_map_peer(struct kubelet *k, const char *name, int port)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", port);
	free(map_put(&k->peers, name, xstrdup(text)));
	k->host.peers = &k->peers;
}

/* ---- names and addresses --------------------------------------------------------- */

static int next_block(struct kubelet *k, struct error *err)
{
	if (k->n_locks == N_ELEMENTS(k->locks))
		return error_set(err, ERR_LIMIT, "more than %zu pods in one run",
				 k->n_locks * BLOCK_ADDRESSES);
	if (ports_reserve_addresses(k->block, &k->locks[k->n_locks], err) < 0) {
		if (err->kind != ERR_UNSUPPORTED)
			return -1;
		k->one_address = true;
		return 0;
	}
	k->n_locks++;
	k->used_in_block = 0;
	return 0;
}

static int address_of(struct kubelet *k, const char *pod, const char **ret,
		      struct error *err)
{
	*ret = map_get(&k->addresses, pod);
	if (*ret)
		return 0;
	if (!k->one_address && (!k->block[0] || k->used_in_block == BLOCK_ADDRESSES) &&
	    next_block(k, err) < 0)
		return -1;
	*ret = k->one_address
		       ? "127.0.0.1"
		       : arena_printf(&k->arena, "%s%u", k->block, ++k->used_in_block);
	map_put(&k->addresses, pod, (void *)(uintptr_t)*ret);
	return 0;
}

int kubelet_add_name(struct kubelet *k, const char *pod, const char *const *names,
		     struct error *err)
{
	const char *ip = NULL;
	bool any = false;

	if (!hosts_name_valid(pod))
		return error_set(err, ERR_INVALID, "pod name \"%.80s\": not a DNS name",
				 pod);
	/* The names exist: this pod replaces the pod that had them. */
	if (names && names[0] && !map_get(&k->addresses, pod))
		ip = map_get(&k->names, names[0]);
	if (ip)
		map_put(&k->addresses, pod, (void *)(uintptr_t)ip);
	if (address_of(k, pod, &ip, err) < 0)
		return -1;
	for (size_t i = 0; names && names[i]; i++) {
		if (!hosts_name_valid(names[i]))
			return error_set(err, ERR_INVALID,
					 "name \"%.80s\" of pod %s: not a DNS name",
					 names[i], pod);
		if (map_get(&k->names, names[i]))
			continue;
		map_put(&k->names, names[i], (void *)(uintptr_t)ip);
		buf_printf(&k->hosts, "%s%s", any ? " " : ip, any ? "" : "\t");
		buf_adds(&k->hosts, names[i]);
		any = true;
	}
	if (any)
		buf_adds(&k->hosts, "\n");
	return buf_check(&k->hosts, "the hosts file", err);
}

const char *kubelet_address(const struct kubelet *k, const char *name)
{
	return map_get(&k->names, name);
}

/* ---- GPUs ------------------------------------------------------------------------ */

/* Reserve up to `want` GPUs that no pod of any run uses; returns their number. */
static int64_t reserve_gpus(struct pod *p, int64_t want)
{
	struct kubelet *k = p->k;
	int64_t taken = 0;

	for (size_t i = 0; i < k->n_gpus && taken < want; i++) {
		struct gpu_slot *gpu = &k->gpus[i];

		if (gpu->user || (gpu->lock = ports_reserve_gpu(gpu->id)) < 0)
			continue;
		gpu->user = p;
		taken++;
	}
	return taken;
}

static void release_gpus(struct pod *p)
{
	for (size_t i = 0; i < p->k->n_gpus; i++) {
		struct gpu_slot *gpu = &p->k->gpus[i];

		if (gpu->user != p)
			continue;
		close(gpu->lock);
		gpu->user = NULL;
	}
}

/*
 * As a device plugin: a pod gets the devices that its containers request, each for one
 * pod only; a pod that requests none sees none.
 */
bool kubelet_reserve_gpus(struct pod *p)
{
	struct kubelet *k = p->k;
	int64_t want = pod_gpus(p->doc), got;
	cleanup_buf struct buf ids = { .max = 65536 };
	char held[HOLDERS_TEXT_SIZE];

	if (k->n_gpus == 0 && want == 0)
		return true;
	got = reserve_gpus(p, want);
	if (got < want) {
		release_gpus(p);
		p->reason = "Unschedulable";
		snprintf(p->message, sizeof(p->message),
			 "waiting for %lld nvidia.com/gpu: this machine has %zu, "
			 "%lld free%s",
			 (long long)want, k->n_gpus, (long long)got,
			 holders_text("gpu", held));
		/* Other runs do not announce GPUs that they release: poll. */
		pod_wake_at(p, clock_ms() + GPU_WAIT_MS);
		return false;
	}
	for (size_t i = 0; i < k->n_gpus; i++)
		if (k->gpus[i].user == p)
			buf_printf(&ids, "%s%s", ids.len ? "," : "", k->gpus[i].id);
	p->gpus = arena_strdup(&p->arena, ids.data ? (const char *)ids.data : "");
	p->reason = NULL;
	p->message[0] = 0;
	return true;
}

void kubelet_release_gpus(struct pod *p)
{
	release_gpus(p);
	for (struct pod *other = p->k->pods; other; other = other->next)
		if (!other->admitted)
			other->wake = 0; /* perhaps that pod waits for GPUs */
}

/* ---- pods ------------------------------------------------------------------------ */

static struct pod *find(struct kubelet *k, const char *name)
{
	for (struct pod *p = k->pods; p; p = p->next)
		if (!p->removed && str_eq(p->name, name))
			return p;
	return NULL;
}

static int add_containers(struct pod *p, const char *list, bool init, struct error *err)
{
	const cJSON *spec;

	json_each(spec, json_at(p->doc, JSON_PATH("spec", list))) {
		struct container *c = &p->containers[p->n++];

		c->pod = p;
		c->spec = spec;
		c->name = json_str(spec, "name");
		c->kind = !init ? CONTAINER_MAIN
			  : str_eq(json_str(spec, "restartPolicy"), "Always")
				  ? CONTAINER_SIDECAR
				  : CONTAINER_INIT;
		c->output.fd = c->output.marks = -1;
		for (int i = 0; i < PROBE_TYPES; i++)
			c->probes[i] = probe_new(c, (enum probe_type)i);
		if (!hosts_name_valid(c->name))
			return error_set(
				err, ERR_INVALID,
				"pod %s: container name \"%.80s\": not a DNS name",
				p->name, c->name ? c->name : "");
	}
	return 0;
}

/*
 * A recreated pod has a new name but the same hostname, and so the same DNS name: it
 * gets the address of that name.
 */
static int assign_address(struct pod *p, struct error *err)
{
	const char *sub = json_str(p->doc, "spec", "subdomain");
	const char *host = json_str(p->doc, "spec", "hostname");
	const char *ip = NULL;

	if (!map_get(&p->k->addresses, p->name) && sub && host)
		ip = map_get(&p->k->names, arena_printf(&p->arena, "%s.%s", host, sub));
	if (ip)
		map_put(&p->k->addresses, p->name, (void *)(uintptr_t)ip);
	return address_of(p->k, p->name, &p->ip, err);
}

static int fill_pod(struct pod *p, struct error *err)
{
	struct kubelet *k = p->k;
	const char *hostname = json_str(p->doc, "spec", "hostname");
	int64_t deadline = json_int(p->doc, 0, "spec", "activeDeadlineSeconds");
	size_t n =
		(size_t)(cJSON_GetArraySize(json_get(p->doc, "spec", "initContainers")) +
			 cJSON_GetArraySize(json_get(p->doc, "spec", "containers")));

	hostname = hostname && *hostname ? hostname : p->name;
	if (!hosts_name_valid(hostname))
		return error_set(err, ERR_INVALID,
				 "pod %s: hostname \"%.80s\": not a DNS name", p->name,
				 hostname);
	p->hostname = str_slice(&p->arena, hostname,
				strlen(hostname) < MAX_HOSTNAME ? strlen(hostname)
								: MAX_HOSTNAME);
	p->containers = arena_alloc(&p->arena, (n + 1) * sizeof(*p->containers));
	if (add_containers(p, "initContainers", true, err) < 0 ||
	    add_containers(p, "containers", false, err) < 0)
		return -1;
	/* A removed pod of the same name may still be ending. */
	p->folder = arena_printf(&p->arena, "%s.%u", p->name, ++k->last_pod);
	p->dir = arena_printf(&p->arena, "%s/pods/%s", k->opts.dir, p->folder);
	p->hosts = arena_printf(&p->arena, "%s.hosts", p->dir);
	p->log_dir = arena_printf(&p->arena, "%s/%s", k->opts.log_dir, p->name);
	p->started = clock_now();
	p->deadline = deadline > 0 ? clock_ms() + clock_seconds_ms(deadline) : 0;
	if (assign_address(p, err) < 0 || dir_make(p->log_dir, 0700, err) < 0)
		return -1;
	return hosts_write(p, err);
}

static bool busy(const struct pod *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct container *c = &p->containers[i];

		if (container_alive(c) || hook_busy(c))
			return true;
		for (int j = 0; j < PROBE_TYPES; j++)
			if (probe_busy(c->probes[j]))
				return true;
	}
	return false;
}

static void free_pod(struct pod *p)
{
	struct error err;

	for (size_t i = 0; i < p->n; i++) {
		struct container *c = &p->containers[i];

		for (int j = 0; j < PROBE_TYPES; j++) {
			probe_end(c->probes[j]);
			probe_free(c->probes[j]);
		}
		hook_free(c);
		output_close(&c->output);
		cgroup_remove(&c->cgroup);
		arena_clear(&c->arena);
	}
	symlinks_remove(&p->symlinks);
	kubelet_release_gpus(p);
	if (p->hosts)
		unlink(p->hosts);
	if (p->dir && dir_remove(p->dir, &err) < 0)
		p->dir = NULL; /* files that cannot be removed remain for their owner */
	if (p->k->memory_dir && p->dir &&
	    dir_remove(path_join(&p->arena, p->k->memory_dir, p->folder), &err) < 0)
		p->dir = NULL;
	cJSON_Delete(p->status);
	cJSON_Delete(p->doc);
	arena_clear(&p->arena);
	free(p);
}

int kubelet_start(struct kubelet *k, const cJSON *pod, struct error *err)
{
	const char *name = meta_name(pod);
	struct pod *p, **last;

	if (!hosts_name_valid(name))
		return error_set(err, ERR_INVALID, "pod name \"%.80s\": not a DNS name",
				 name ? name : "");
	if (find(k, name))
		return error_set(err, ERR_EXISTS, "pod %s already exists", name);
	if (kubelet_isolation(k) == ISOLATION_NONE)
		k->host.names = &k->names;
	p = xcalloc(1, sizeof(*p));
	p->k = k;
	p->doc = json_dup(pod);
	p->name = arena_strdup(&p->arena, name);
	if (fill_pod(p, err) < 0) {
		free_pod(p);
		return -1;
	}
	for (last = &k->pods; *last; last = &(*last)->next)
		; /* in the order of creation, in which pods get GPUs */
	*last = p;
	pod_changed(p);
	pod_sync(p, clock_ms());
	return 0;
}

void kubelet_stop(struct kubelet *k, const char *pod, int64_t grace_ms)
{
	struct pod *p = find(k, pod);
	int64_t now = clock_ms(), kill_at;

	if (!p || pod_ended(p))
		return;
	kill_at = now + (grace_ms < 0 ? pod_grace_ms(p) : grace_ms);
	if (!p->kill_at || kill_at < p->kill_at)
		p->kill_at = kill_at;
	p->stopping = true;
	pod_changed(p);
	pod_sync(p, now);
}

void kubelet_signal(struct kubelet *k, int sig)
{
	for (struct pod *p = k->pods; p; p = p->next)
		for (size_t i = 0; i < p->n; i++)
			if (p->containers[i].kind == CONTAINER_MAIN)
				process_signal(&p->containers[i].process, sig);
}

const cJSON *kubelet_status(struct kubelet *k, const char *pod)
{
	struct pod *p = find(k, pod);

	if (!p)
		return NULL;
	if (!p->status || p->status_old) {
		cJSON_Delete(p->status);
		p->status = pod_status(p);
		p->status_old = false;
	}
	return p->status;
}

/* Free removed pods that have no processes, outside the loop's callbacks. */
static void free_gone(struct kubelet *k)
{
	for (struct pod **at = &k->pods; *at;) {
		struct pod *p = *at;

		if (!p->removed || busy(p)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		free_pod(p);
	}
}

void kubelet_remove(struct kubelet *k, const char *pod)
{
	struct pod *p = find(k, pod);

	if (!p)
		return;
	p->stopping = true;
	p->kill_at = clock_ms();
	pod_sync(p, p->kill_at);
	p->removed = true;
	if (!k->polling)
		free_gone(k);
}

/* ---- the loop -------------------------------------------------------------------- */

static int64_t wait_ms(const struct kubelet *k, int64_t now, int timeout_ms)
{
	int64_t ms = timeout_ms;

	for (const struct pod *p = k->pods; p; p = p->next) {
		int64_t left = p->wake - now;

		if (p->dirty && !p->removed)
			return 0;
		if (p->wake >= 0 && (ms < 0 || left < ms))
			ms = left < 0 ? 0 : left;
	}
	return ms;
}

static void sync_due(struct kubelet *k, int64_t now)
{
	for (struct pod *p = k->pods; p; p = p->next)
		if (p->wake >= 0 && p->wake <= now)
			pod_sync(p, now);
}

static void report_changes(struct kubelet *k)
{
	for (struct pod *p = k->pods; p; p = p->next) {
		if (!p->dirty || p->removed)
			continue;
		p->dirty = false;
		if (k->opts.on_status)
			k->opts.on_status(k->opts.ctx, p->name);
	}
}

int kubelet_poll(struct kubelet *k, int timeout_ms, int extra_fd, struct error *err)
{
	int rc;

	k->polling = true;
	rc = loop_poll(&k->loop, wait_ms(k, clock_ms(), timeout_ms), extra_fd, err);
	sync_due(k, clock_ms());
	report_changes(k);
	k->polling = false;
	free_gone(k);
	return rc;
}

static void kill_all(struct kubelet *k)
{
	struct error err;
	bool running = true;

	for (struct pod *p = k->pods; p; p = p->next)
		p->removed = true;
	while (running) {
		running = false;
		for (struct pod *p = k->pods; p; p = p->next) {
			p->stopping = true;
			p->kill_at = clock_ms();
			pod_sync(p, p->kill_at);
			running |= busy(p);
		}
		if (running && loop_poll(&k->loop, 1000, -1, &err) < 0)
			return;
	}
}

void kubelet_free(struct kubelet *k)
{
	if (!k)
		return;
	kill_all(k);
	free_gone(k);
	loop_release(&k->loop);
	cgroup_close(&k->cgroups);
	sandbox_wait(k->trial);
	undolog_run(k->opts.dir);
	tempdir_remove(k->memory_dir, k->memory_lock);
	for (size_t i = 0; i < k->n_locks; i++)
		close(k->locks[i]);
	if (k->nofile.rlim_max)
		setrlimit(RLIMIT_NOFILE, &k->nofile);
	map_release(&k->addresses, NULL);
	map_release(&k->names, NULL);
	map_release(&k->peers, free);
	buf_release(&k->hosts);
	/* rmdir() fails unless empty: the contents of others must remain. */
	if (k->stage)
		rmdir(k->stage);
	if (k->nsswitch)
		unlink(k->nsswitch);
	rmdir(path_join(&k->arena, k->opts.dir, "pods"));
	arena_clear(&k->arena);
	free(k);
}
