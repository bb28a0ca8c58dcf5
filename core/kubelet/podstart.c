/* podstart.c - start a container, and record its end (kubelet/pod.h). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/enter.h"
#include "kubelet/packages.h"
#include "kubelet/pod.h"
#include "kubelet/probe.h"
#include "kubelet/torchfix.h"
#include "kubelet/volumes.h"

/* Record a failed start, as a container runtime reports it. */
static void failed_to_start(struct container *c, const char *reason, const char *message)
{
	c->state = CONTAINER_ENDED;
	c->now = (struct ended){ .set = true, .code = 128, .reason = reason };
	c->now.started = c->now.finished = clock_now();
	snprintf(c->now.message, sizeof(c->now.message), "%s", message);
	pod_changed(c->pod);
}

/* Fail the pod. In a cluster it would wait until the configuration is corrected. */
static void misconfigured(struct container *c, const char *message)
{
	struct pod *p = c->pod;

	failed_to_start(c, "CreateContainerConfigError", message);
	c->broken = true;
	p->reason = "CreateContainerConfigError";
	snprintf(p->message, sizeof(p->message), "container %s: %.600s", c->name,
		 message);
}

/* ---- the end --------------------------------------------------------------------- */

/* Was SIGKILL from the kernel's out-of-memory killer? Only its kills are counted. */
static bool out_of_memory(struct container *c)
{
	if (cgroup_oom(&c->cgroup))
		return true;
	return c->process.signal == SIGKILL && !c->process.killed &&
	       cgroup_oom_kills(&c->cgroup) > c->oom_kills;
}

static void describe_end(struct container *c, struct ended *e)
{
	const struct process *p = &c->process;

	e->code = p->code;
	e->signal = p->signal;
	if (p->failed) {
		e->reason = "StartError";
		snprintf(e->message, sizeof(e->message), "%s%s%s", p->what,
			 p->code == 127 ? "" : ": ",
			 p->code == 127 ? "" : strerror(p->err));
	} else if (out_of_memory(c)) {
		e->reason = "OOMKilled";
		snprintf(e->message, sizeof(e->message), KUBELET_OOM "%s",
			 cgroup_oom(&c->cgroup) ? " (over its memory limit)" : "");
	} else if (p->code == 0) {
		e->reason = "Completed";
	} else {
		e->reason = "Error";
		if (p->signal)
			snprintf(e->message, sizeof(e->message),
				 "killed by signal %d (%s)%s", p->signal,
				 strsignal(p->signal),
				 c->liveness_failed ? ": its probe failed" : "");
	}
}

static const char *enter_path(struct container *c)
{
	return arena_printf(&c->arena, "%s/%s" ENTER_SUFFIX, c->pod->log_dir, c->name);
}

static void has_ended(struct container *c)
{
	output_close(&c->output);
	unlink(enter_path(c));
	for (int i = 0; i < PROBE_TYPES; i++)
		probe_end(c->probes[i]);
	hook_end(c);
	c->state = CONTAINER_ENDED;
	c->now = (struct ended){ .set = true,
				 .started = c->began,
				 .finished = clock_now() };
	describe_end(c, &c->now);
	cgroup_remove(&c->cgroup);
	c->kill_at = c->term_at = 0;
}

static void has_started(struct container *c)
{
	int64_t now = clock_ms();

	c->state = CONTAINER_RUNNING;
	c->began = clock_now();
	c->began_ms = now;
	enter_record(enter_path(c), c->process.init_pid, c->workdir);
	for (int i = 0; i < PROBE_TYPES; i++)
		probe_begin(c->probes[i], now);
	hook_begin(c, HOOK_POST_START, now);
}

static void on_change(void *ctx)
{
	struct container *c = ctx;

	if (c->process.state == PROCESS_RUNNING)
		has_started(c);
	else if (c->process.state == PROCESS_ENDED)
		has_ended(c);
	pod_changed(c->pod);
}

static void on_output(void *ctx, const char *data, size_t len)
{
	struct container *c = ctx;
	const struct kubelet_opts *o = &c->pod->k->opts;

	if (c->process.plan.terminal)
		o->on_bytes(o->ctx, data, len);
	output_add(&c->output, data, len);
}

static void on_line(void *ctx, const char *line, size_t len)
{
	const struct container *c = ctx;
	const struct kubelet_opts *o = &c->pod->k->opts;

	if (o->on_line)
		o->on_line(o->ctx, c->pod->name, c->name, line, len);
}

static void on_state(void *ctx, const char *line, size_t len, bool bar)
{
	const struct container *c = ctx;
	const struct kubelet_opts *o = &c->pod->k->opts;

	if (o->on_state)
		o->on_state(o->ctx, c->pod->name, c->name, line, len, bar);
}

/* ---- the start ------------------------------------------------------------------- */

struct starting {
	struct podenv env;
	struct sandbox_plan plan;
	struct mount_list list;
};

/* Mount /etc/hosts, and hide the services that would resolve names before it. */
static void add_names(struct container *c, struct starting *s)
{
	struct volume_mount *m = s->list.mounts + s->list.n;
	const char *conf = c->pod->k->nsswitch;

	*m++ = (struct volume_mount){ .source = c->pod->hosts, .target = "/etc/hosts" };
	if (conf)
		*m++ = (struct volume_mount){ .source = conf,
					      .target = "/etc/nsswitch.conf" };
	if (file_exists("/run/nscd/socket"))
		*m++ = (struct volume_mount){ .source = "/dev/null",
					      .target = "/run/nscd/socket" };
	s->list.n = (size_t)(m - s->list.mounts);
}

static int find_volumes(struct container *c, struct starting *s, struct error *err)
{
	struct pod *p = c->pod;
	struct podenv_pod pod = { .pod = p->doc, .container = c->spec, .ip = p->ip };
	struct volumes v = { .host = &p->k->host, .pod = &pod };

	v.dir = path_join(&c->arena, p->dir, "volumes");
	v.claims = p->k->opts.claims;
	v.run = path_join(&c->arena, p->k->opts.dir, "claims");
	v.pod_key = p->k->opts.pod_key;
	if (p->k->memory_dir)
		v.memory = path_join(&c->arena, p->k->memory_dir, p->folder);
	s->list.workdir = p->k->opts.workdir;
	return volumes_make(&c->arena, &v, &s->env, &s->list, err);
}

static int find_env(struct container *c, struct starting *s, struct error *err)
{
	struct pod *p = c->pod;
	struct podenv_pod pod = { .pod = p->doc,
				  .container = c->spec,
				  .ip = p->ip,
				  .hostname = p->hostname,
				  .gpus = p->gpus };

	pod.volumes = path_join(&c->arena, p->dir, "volumes");
	if (podenv_build(&c->arena, &p->k->host, &pod, &s->env, err) < 0)
		return -1;
	if (!s->env.argv[0])
		return error_set(err, ERR_INVALID,
				 "no command: images are not pulled locally");
	if (p->k->opts.torch_fix &&
	    (podenv_value(&s->env, TORCHFIX_PORT) || torchfix_needed(&s->env)))
		return torchfix_apply(&c->arena,
				      path_join(&c->arena, p->k->opts.dir, "pods/torch"),
				      p->k->opts.torch_fix, &s->env, err);
	return 0;
}

static int64_t limit(const struct container *c, const char *name, bool milli)
{
	const cJSON *node = json_get(c->spec, "resources", "limits", name);
	struct quantity q;
	struct error err;

	if (!node || quantity_of(&q, node, &err) < 0)
		return 0;
	return milli ? quantity_milli(&q) : quantity_ceil(&q);
}

static int find_limits(struct container *c, struct starting *s, struct error *err)
{
	struct cgroup_limits limits = { .cpu_milli = limit(c, "cpu", true),
					.memory = limit(c, "memory", false) };
	struct cgroup_root *root = &c->pod->k->cgroups;

	c->cgroup = (struct cgroup){ .procs = { -1, -1 } };
	if (limits.cpu_milli > 0 || limits.memory > 0)
		cgroup_open(root);
	if (root->version && (limits.cpu_milli > 0 || limits.memory > 0) &&
	    cgroup_make(&c->cgroup, root, &limits, err) < 0)
		return -1;
	s->plan.cgroup[0] = c->cgroup.procs[0];
	s->plan.cgroup[1] = c->cgroup.procs[1];
	return 0;
}

static int find_workdir(struct container *c, struct starting *s, struct error *err)
{
	const struct kubelet_opts *opts = &c->pod->k->opts;
	const char *dir = json_str(c->spec, "workingDir");

	s->plan.workdir = dir && *dir ? dir : opts->workdir;
	if ((dir && *dir) || !opts->served)
		return 0;
	s->plan.workdir = path_join(&c->arena, c->pod->dir, "work");
	return dir_make(s->plan.workdir, 0700, err);
}

/* Without a mount namespace: replace the target's path by the source's. */
static const char *name_source(struct arena *arena, const char *variable,
			       const struct volume_mount *m)
{
	const char *value = strchr(variable, '=');
	const char *rest = value ? str_after(value + 1, m->target) : NULL;

	if (!m->by_env || !rest || (*rest && *rest != '/'))
		return variable;
	return arena_printf(arena, "%.*s=%s%s", (int)(value - variable), variable,
			    m->source, rest);
}

static void name_sources(struct container *c, struct starting *s)
{
	size_t n = 0;

	while (s->env.envp[n])
		n++;
	for (size_t i = 0; i < s->list.n; i++) {
		const char **envp = arena_alloc(&c->arena, (n + 1) * sizeof(*envp));

		for (size_t v = 0; v < n; v++)
			envp[v] = name_source(&c->arena, s->env.envp[v],
					      &s->list.mounts[i]);
		s->env.envp = envp;
	}
}

static int find_packages(struct container *c, struct starting *s, struct error *err)
{
	if (!packages_installed(&s->env))
		return 0;
	return packages_cover(&c->arena,
			      path_join(&c->arena, c->pod->dir,
					arena_printf(&c->arena, "packages-%s", c->name)),
			      c->pod->k->kind & SANDBOX_MOUNT, &s->env, &s->list, err);
}

static int find_plan(struct container *c, struct starting *s, struct error *err)
{
	struct pod *p = c->pod;
	struct mount_op *ops = NULL;
	size_t n = 0;

	if (!(p->k->kind & SANDBOX_MOUNT))
		name_sources(c, s);
	s->plan.kind = p->k->kind;
	s->plan.argv = s->env.argv;
	s->plan.envp = s->env.envp;
	if (find_workdir(c, s, err))
		return -1;
	c->workdir = arena_strdup(&c->arena, s->plan.workdir ? s->plan.workdir : "/");
	s->plan.terminal = p->k->opts.terminal && json_bool(c->spec, false, "tty");
	s->plan.hostname = p->hostname;
	s->plan.stage = p->k->stage;
	s->plan.nofile = p->k->nofile;
	p->symlinks.undo_dir = p->k->opts.dir;
	if (!(p->k->kind & SANDBOX_MOUNT))
		return symlinks_make(&p->symlinks, &s->list, err);
	add_names(c, s);
	if (mountplan_build(&c->arena, &s->list, &ops, &n, err) < 0)
		return -1;
	s->plan.mounts = ops;
	s->plan.n_mounts = n;
	return 0;
}

static int start_process(struct container *c, const struct starting *s, struct error *err)
{
	const char *file =
		arena_printf(&c->pod->arena, "%s/%s.log", c->pod->log_dir, c->name);

	c->output.on_line = on_line;
	c->output.on_state = on_state;
	c->output.ctx = c;
	c->output.marks_path =
		arena_printf(&c->pod->arena, "%s/%s.times", c->pod->log_dir, c->name);
	if (output_open(&c->output, file, err) < 0) {
		/* Run without a log file: lines still go to the callback. */
		on_line(c, err->msg, strlen(err->msg));
	}
	c->process.on_output = on_output;
	c->process.on_change = on_change;
	c->process.ctx = c;
	c->oom_kills = cgroup_oom_kills(&c->cgroup);
	if (process_start(&c->pod->k->loop, &c->process, &s->plan, err) < 0) {
		output_close(&c->output);
		cgroup_remove(&c->cgroup);
		return -1;
	}
	cgroup_started(&c->cgroup);
	return 0;
}

void container_start(struct container *c)
{
	struct starting s = { 0 };
	struct error err;

	arena_clear(&c->arena);
	c->stopping = c->liveness_failed = false;
	c->restart_at = c->kill_at = c->term_at = 0;
	if (c->now.set) {
		c->last = c->now;
		c->now = (struct ended){ 0 };
		c->restarts++;
	}
	c->state = CONTAINER_WAITING;
	c->began = clock_now();
	c->began_ms = clock_ms();
	pod_changed(c->pod);
	if (find_env(c, &s, &err) < 0 || find_volumes(c, &s, &err) < 0 ||
	    find_packages(c, &s, &err) < 0 || find_plan(c, &s, &err) < 0)
		misconfigured(c, err.msg);
	else if (find_limits(c, &s, &err) < 0 || start_process(c, &s, &err) < 0)
		failed_to_start(c, "StartError", err.msg);
}
