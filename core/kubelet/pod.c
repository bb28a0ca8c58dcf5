/* pod.c - decide the next step of a pod (kubelet/pod.h). */
#include "kubelet/pod.h"

#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/str.h"
#include "kubelet/probe.h"

/*
 * Delays between restarts. A node's kubelet waits longer, for the sake of registries and
 * other pods: here a user waits for the result.
 */
enum { BACKOFF_FIRST_MS = 100, BACKOFF_MOST_MS = 60000, BACKOFF_FORGET_MS = 600000 };
enum { GRACE_SECONDS = 30 };

void pod_changed(struct pod *p)
{
	p->dirty = true;
	p->status_old = true;
	p->wake = 0;
}

void pod_wake_at(struct pod *p, int64_t when)
{
	if (p->wake < 0 || when < p->wake)
		p->wake = when;
}

bool pod_ended(const struct pod *p)
{
	return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

bool container_alive(const struct container *c)
{
	return process_alive(&c->process);
}

static void set_phase(struct pod *p, enum pod_phase phase)
{
	if (p->phase == phase)
		return;
	p->phase = phase;
	pod_changed(p);
	if (pod_ended(p))
		kubelet_release_gpus(p);
}

/* ---- restarts ----------------------------------------------------------------------- */

static bool wants_restart(const struct container *c)
{
	const char *policy = json_str(c->pod->doc, "spec", "restartPolicy");

	if (c->kind == CONTAINER_SIDECAR)
		return true;
	if (str_eq(policy, "Never"))
		return false;
	if (c->kind == CONTAINER_INIT || str_eq(policy, "OnFailure"))
		return c->now.code != 0;
	return true;
}

static void restart_when_due(struct container *c, int64_t now)
{
	if (!c->restart_at) {
		if (now - c->began_ms >= BACKOFF_FORGET_MS && c->began_ms)
			c->backoff_ms = 0;
		c->restart_at = now + c->backoff_ms;
		c->backoff_ms = c->backoff_ms ? 2 * c->backoff_ms : BACKOFF_FIRST_MS;
		if (c->backoff_ms > BACKOFF_MOST_MS)
			c->backoff_ms = BACKOFF_MOST_MS;
		pod_changed(c->pod);
	}
	if (now >= c->restart_at)
		container_start(c);
	else
		pod_wake_at(c->pod, c->restart_at);
}

/* ---- stopping ----------------------------------------------------------------------- */

/* Run preStop, then send TERM, and KILL at kill_at, even if a hook still runs. */
static void container_stop(struct container *c, int64_t now, int64_t kill_at)
{
	if (!container_alive(c))
		return;
	if (!c->stopping) {
		c->stopping = true;
		c->kill_at = kill_at;
		c->term_at = now;
		if (c->state == CONTAINER_RUNNING && kill_at > now)
			hook_begin(c, HOOK_PRE_STOP, now);
	}
	if (kill_at < c->kill_at)
		c->kill_at = kill_at;
	if (now >= c->kill_at) {
		process_signal(&c->process, SIGKILL);
		return;
	}
	if (c->term_at && !hook_running(c)) {
		process_signal(&c->process, SIGTERM);
		c->term_at = 0;
	}
	pod_wake_at(c->pod, c->kill_at);
}

/* One step of stopping all containers: sidecars last, in reverse order. */
static bool all_stopped(struct pod *p, int64_t now, int64_t kill_at)
{
	bool running = false;

	for (size_t i = 0; i < p->n; i++) {
		struct container *c = &p->containers[i];

		if (c->kind == CONTAINER_SIDECAR || !container_alive(c))
			continue;
		container_stop(c, now, kill_at);
		running = true;
	}
	for (size_t i = p->n; i-- > 0 && !running;) {
		struct container *c = &p->containers[i];

		if (!container_alive(c))
			continue;
		container_stop(c, now, kill_at);
		running = true;
	}
	return !running;
}

int64_t pod_grace_ms(const struct pod *p)
{
	int64_t s =
		json_int(p->doc, GRACE_SECONDS, "spec", "terminationGracePeriodSeconds");

	return s < 0 ? 0 : clock_seconds_ms(s);
}

static bool main_failed(const struct pod *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct container *c = &p->containers[i];

		if (c->kind == CONTAINER_MAIN && (!c->now.set || c->now.code != 0))
			return true;
	}
	return false;
}

static void finish(struct pod *p, int64_t now, bool failed)
{
	/* Only sidecars remain: their grace period begins now. */
	if (!p->kill_at)
		p->kill_at = now + pod_grace_ms(p);
	if (all_stopped(p, now, p->kill_at))
		set_phase(p, failed ? POD_FAILED : POD_SUCCEEDED);
}

/* ---- running ------------------------------------------------------------------------ */

/* Run the probes and hooks of a running container, and act on their results. */
static void sync_probes_and_hooks(struct container *c, int64_t now)
{
	struct pod *p = c->pod;
	bool bad;

	hook_sync(c, now, &p->wake);
	if (c->state == CONTAINER_RUNNING && !c->stopping && !hook_running(c)) {
		probe_sync(c->probes[PROBE_STARTUP], now, &p->wake);
		if (probe_passes(c->probes[PROBE_STARTUP])) {
			probe_sync(c->probes[PROBE_READINESS], now, &p->wake);
			probe_sync(c->probes[PROBE_LIVENESS], now, &p->wake);
		}
	}
	bad = probe_failed(c->probes[PROBE_STARTUP]) ||
	      probe_failed(c->probes[PROBE_LIVENESS]);
	if (!c->stopping && (bad || hook_failed(c))) {
		c->liveness_failed = bad;
		container_stop(c, now, now + pod_grace_ms(p));
	} else if (c->stopping) {
		container_stop(c, now, c->kill_at);
	}
}

static bool never_ran(const struct container *c)
{
	return c->state == CONTAINER_WAITING && !container_alive(c);
}

/* Start or restart a container; true while it runs or waits for its restart. */
static bool keep_running(struct container *c, int64_t now)
{
	if (container_alive(c)) {
		sync_probes_and_hooks(c, now);
		return true;
	}
	if (never_ran(c)) {
		container_start(c);
		return true;
	}
	if (c->broken || !wants_restart(c))
		return false;
	restart_when_due(c, now);
	return true;
}

/* The init containers, one after the other; true when all are done. */
static bool sync_init(struct pod *p, int64_t now, bool *ret_failed)
{
	for (size_t i = 0; i < p->n && p->containers[i].kind != CONTAINER_MAIN; i++) {
		struct container *c = &p->containers[i];

		if (c->kind == CONTAINER_INIT && c->now.set && c->now.code == 0)
			continue;
		if (!keep_running(c, now)) {
			*ret_failed = true;
			return false;
		}
		if (c->kind == CONTAINER_INIT || !container_started(c))
			return false;
	}
	return true;
}

/* True while there is work: a main container runs or will. */
static bool sync_mains(struct pod *p, int64_t now)
{
	bool working = false;

	for (size_t i = 0; i < p->n; i++) {
		struct container *c = &p->containers[i];

		if (c->kind != CONTAINER_MAIN)
			continue;
		working |= keep_running(c, now);
		if (p->phase == POD_PENDING &&
		    (c->state != CONTAINER_WAITING || c->restarts))
			set_phase(p, POD_RUNNING);
	}
	return working;
}

static void sync_containers(struct pod *p, int64_t now)
{
	bool failed = false, working;

	if (p->phase == POD_PENDING && !sync_init(p, now, &failed)) {
		if (failed)
			finish(p, now, true);
		return;
	}
	working = sync_mains(p, now);
	for (size_t i = 0; i < p->n; i++) {
		struct container *c = &p->containers[i];

		/* Sidecars are restarted only while main containers run. */
		if (c->kind == CONTAINER_SIDECAR && (working || container_alive(c)))
			keep_running(c, now);
	}
	if (!working)
		finish(p, now, main_failed(p));
}

static bool past_deadline(struct pod *p, int64_t now)
{
	if (!p->deadline)
		return false;
	if (now < p->deadline) {
		pod_wake_at(p, p->deadline);
		return false;
	}
	p->reason = "DeadlineExceeded";
	snprintf(p->message, sizeof(p->message),
		 "Pod was active on the node longer than the specified deadline");
	return true;
}

static void sync_stopping(struct pod *p, int64_t now)
{
	for (size_t i = 0; i < p->n; i++) {
		if (!container_alive(&p->containers[i]))
			continue;
		hook_sync(&p->containers[i], now, &p->wake);
	}
	if (all_stopped(p, now, p->kill_at))
		set_phase(p, p->reason || main_failed(p) ? POD_FAILED : POD_SUCCEEDED);
}

void pod_sync(struct pod *p, int64_t now)
{
	p->wake = -1;
	if (pod_ended(p))
		return;
	if (!p->stopping && past_deadline(p, now)) {
		p->stopping = true;
		p->kill_at = now + pod_grace_ms(p);
	}
	if (p->stopping) {
		sync_stopping(p, now);
		return;
	}
	if (!p->admitted) {
		p->admitted = kubelet_reserve_gpus(p);
		if (!p->admitted)
			return;
		pod_changed(p);
		p->wake = -1;
	}
	sync_containers(p, now);
	for (size_t i = 0; i < p->n && !pod_ended(p); i++) {
		if (!p->containers[i].broken)
			continue;
		p->stopping = true;
		p->kill_at = now + pod_grace_ms(p);
		sync_stopping(p, now);
	}
}
