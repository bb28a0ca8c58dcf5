/* jobs_controllers.c - processes of the controller, and their network (jobs.h). */
#include "tests/sim/jobs.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kube/lease.h"
#include "manager/reconcile.h"
#include "manager/work.h"
#include "tests/sim/threads.h"
#include "trainer/scheduling.h"

enum { WATCH, WORK, EVENTS, LEASE, CLIENTS };
enum { GRACE_MS = 20000 };

struct controller;

struct client {
	struct controller *c;
	int which;
	struct kube *kube;
};

/* A process of the controller, until it dies. */
struct controller {
	struct world *w;
	struct process *process;
	char identity[24];
	bool dead, leads;
	int64_t apart_until; /* these of its clients reach nobody */
	unsigned apart;
	int freezes; /* so far */
	struct lease *lease;
	struct client clients[CLIENTS];
	struct controller *next; /* all that ever were */
};

struct manager_config controller_config;
static struct controller *all;

static void start_one(void *ctx);

static void end(struct controller *c, const char *why)
{
	struct world *w = c->w;

	sim_note(w->sim, "%s %s", c->identity, why);
	c->dead = true;
	if (c->leads)
		w->leads_since = INT64_MAX;
	sim_after(w->sim, 500 + sim_dice(w->sim, 6000), start_one, w);
	process_kill(c->process);
}

static struct controller *one(struct world *w)
{
	int64_t at = sim_dice(w->sim, w->n_controllers);
	struct controller *c = all;

	while (c && (c->dead || at--))
		c = c->next;
	return c;
}

void controllers_kill_one(struct job *j)
{
	struct controller *c = one(j->w);

	if (c)
		end(c, "dies");
}

void controllers_stop_one(struct job *j)
{
	struct controller *c = one(j->w);

	if (!c)
		return;
	NOTE(j, "%s is asked to stop", c->identity);
	process_stop(c->process);
}

/* As SIGSTOP, or a hypervisor, does it: it goes on where it was, and does not know. */
static void freeze(struct controller *c, int64_t ms)
{
	c->freezes++;
	process_freeze(c->process, ms);
	sim_note(c->w->sim, "%s is frozen for %lld ms", c->identity, (long long)ms);
}

/* All calls of a controller, or those of its watches, its workers or its Lease. */
void controllers_part_one(struct job *j)
{
	struct controller *c = one(j->w);
	unsigned which = (unsigned)DICE(j, CLIENTS + 2);
	int64_t ms = 2000 + DICE(j, 28000), left = -calm_for(j->w);

	if (!c)
		return;
	ms = ms < left ? ms : left;
	if (clock_ms() + ms > j->w->apart_until)
		j->w->apart_until = clock_ms() + ms;
	if (which == CLIENTS + 1) {
		freeze(c, ms);
		return;
	}
	c->apart = which < CLIENTS ? 1u << which : ~0u;
	c->apart_until = clock_ms() + ms;
	NOTE(j, "%s is apart for %lld ms (%x)", c->identity, (long long)ms,
	     c->apart & 0xf);
}

/* ---- the network ---- */

void controllers_answer(struct httpd_response *resp, int code, const char *reason,
			const char *message)
{
	buf_release(&resp->headers);
	buf_release(&resp->body);
	if (resp->release)
		resp->release(resp->stream_ctx);
	resp->stream = NULL;
	resp->release = NULL;
	resp->body.max = 65536;
	resp->status = code;
	resp->content_type = "application/json";
	buf_printf(&resp->body,
		   "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
		   "\"reason\":\"%s\",\"message\":\"%s (simulated)\",\"code\":%d}",
		   reason, message, code);
}

static const struct {
	int code;
	const char *reason;
} refusals[] = {
	{ 500, "InternalError" },      { 409, "Conflict" }, { 429, "TooManyRequests" },
	{ 503, "ServiceUnavailable" }, { 504, "Timeout" },  { 403, "Forbidden" },
};

static bool is_apart(const struct client *cl)
{
	return clock_ms() < cl->c->apart_until && cl->c->apart >> cl->which & 1;
}

/* The call hangs until its time is up, or the network is whole again. */
static bool hangs(struct client *cl, struct httpd_response *resp)
{
	int64_t left = cl->c->apart_until - clock_ms(), ms;

	if (!is_apart(cl))
		return false;
	ms = 500 + sim_dice(cl->c->w->sim, 5500);
	thread_pause(ms < left ? ms : left);
	controllers_answer(resp, 504, "Timeout", "too late");
	return true;
}

/* A connection that breaks in the middle of what is sent. */
struct cut {
	struct httpd_stream stream; /* the first member */
	struct client *cl;
	struct httpd_stream *to;
	int64_t left; /* what is sent whole before; < 0: it is cut */
	void (*run)(void *ctx, struct httpd_stream *s);
	void (*release)(void *ctx);
	void *ctx;
};

static int send_until(struct httpd_stream *s, const void *data, size_t len)
{
	struct cut *cut = (struct cut *)s;

	if (is_apart(cut->cl)) {
		thread_slow(0, 0);
		thread_pause(cut->cl->c->apart_until - clock_ms());
		thread_slow(cut->cl->c->w->lag_ms, END_MS);
		cut->left = sim_dice(cut->cl->c->w->sim, 2) ? 0 : cut->left;
	}
	if (cut->left < 0)
		return -1;
	if (cut->left--)
		return httpd_send(cut->to, data, len);
	(void)!httpd_send(cut->to, data, len / 2);
	return -1;
}

static bool listens_until(struct httpd_stream *s)
{
	struct cut *cut = (struct cut *)s;

	return cut->left >= 0 && httpd_listens(cut->to);
}

static void run_until(void *ctx, struct httpd_stream *to)
{
	struct cut *cut = ctx;

	cut->to = to;
	cut->run(cut->ctx, &cut->stream);
}

static void release_cut(void *ctx)
{
	struct cut *cut = ctx;

	if (cut->release)
		cut->release(cut->ctx);
	free(cut);
}

static void cut_stream(struct client *cl, struct httpd_response *resp)
{
	struct world *w = cl->c->w;
	struct cut *cut = xmalloc(sizeof(*cut));

	*cut = (struct cut){ { send_until, listens_until },
			     cl,
			     NULL,
			     percent(w, w->cut) ? sim_dice(w->sim, 6) : INT64_MAX,
			     resp->stream,
			     resp->release,
			     resp->stream_ctx };
	resp->stream = run_until;
	resp->release = release_cut;
	resp->stream_ctx = cut;
}

static void pause_within(struct world *w, int64_t ms)
{
	if (percent(w, 40))
		thread_pause(sim_dice(w->sim, ms));
}

static bool is_refused(struct client *cl, const struct httpd_request *req,
		       struct httpd_response *resp)
{
	struct world *w = cl->c->w;
	bool conflicts = !str_eq(req->method, "GET") && !str_eq(req->method, "POST");
	size_t k;

	if (!percent(w, w->refuse))
		return false;
	k = (size_t)sim_dice(w->sim, N_ELEMENTS(refusals));
	if ((!conflicts && refusals[k].code == 409) ||
	    (cl->which == EVENTS && refusals[k].code == 403)) /* it gives up */
		k = 0;
	sim_note(w->sim, "%s: refused %d: %s %s", cl->c->identity, refusals[k].code,
		 req->method, req->path);
	controllers_answer(resp, refusals[k].code, refusals[k].reason, "not now");
	return true;
}

static void handle_write(struct client *cl, const struct httpd_request *req,
			 struct httpd_response *resp)
{
	struct world *w = cl->c->w;
	struct job *j = job_named(w, req->path);
	bool deletes = j && str_eq(req->method, "DELETE") && str_eq(req->path, j->path);
	cleanup_json cJSON *before = deletes ? json_dup(trainjob_of(j)) : NULL;

	if (cl->which == WORK)
		rules_on_write(w, cl->c->identity, req->path);
	if (object_is_refused(j, req->path))
		controllers_answer(resp, 403, "Forbidden",
				   "the namespace is being terminated");
	else if (nodes_refuse(j, req))
		controllers_answer(resp, 422, "Invalid",
				   "spec.replicatedJobs: field is immutable");
	else
		apiserver_handle_inside(w->api, req, resp);
	sim_note(w->sim, "%s: %s %s: %d", cl->c->identity, req->method, req->path,
		 resp->status);
	if (deletes && resp->status < 300) {
		rules_on_deletion(j, before);
		if (!meta_is_deleted(
			    before)) /* somebody holds it, and lets it go later */
			objects_expire(j);
	}
	if (j && cl->which == WORK) {
		j->changed = true;
		nodes_look(j, sim_dice(w->sim, 300));
	}
	if (w->rich && percent(w, 10))
		buf_printf(&resp->headers, "Warning: 299 - \"%s is deprecated\"\r\n",
			   sim_dice(w->sim, 2) ? SCHEDULING_API_VERSION : "this");
	pause_within(w, 300);
	if (percent(w, w->lose) || is_apart(cl)) {
		sim_note(w->sim, "%s: answer lost: %s %s", cl->c->identity, req->method,
			 req->path);
		controllers_answer(resp, 504, "Timeout", "too late");
	}
}

static void handle(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	struct client *cl = ctx;
	struct world *w = cl->c->w;
	bool watch = strstr(req->query, "watch=true");
	int freezes = cl->c->freezes;

	w->calls += cl->which == WORK;
	thread_slow(0, 0);
	pause_within(w, 300);
	if (hangs(cl, resp) || is_refused(cl, req, resp))
		return;
	if (cl->c->freezes != freezes) { /* it had not been sent yet */
		controllers_answer(resp, 504, "Timeout", "too late");
		return;
	}
	if (strstr(req->path, "jobset.x-k8s.io") && clock_ms() < w->jobset_ms) {
		controllers_answer(resp, 404, "NotFound", "not installed");
		return;
	}
	if (extras_answer(w, req, resp))
		return;
	if (!str_eq(req->method, "GET")) {
		handle_write(cl, req, resp);
		return;
	}
	apiserver_handle_inside(w->api, req, resp);
	if (watch && resp->stream) {
		cut_stream(cl, resp);
		thread_slow(w->lag_ms, END_MS);
		return;
	}
	pause_within(w, 300);
}

/* ---- a process ---- */

static bool leads(void *ctx)
{
	struct controller *c = ctx;

	return c->lease && lease_held(c->lease);
}

static struct kube *new_client(struct controller *c, int which)
{
	const struct kube_config config = { .ns = "default" };
	struct kube_opts opts = { .user_agent = "kftrainer",
				  .after_stop = which != WATCH };
	struct client *cl = &c->clients[which];

	*cl = (struct client){ c, which, NULL };
	if (which == WORK) {
		opts.may_write = leads;
		opts.ctx = c;
	}
	opts.inside = (struct inside_server){ .handle = handle,
					      .ctx = cl,
					      .documents = which == WORK };
	if (kube_new(&cl->kube, &config, &opts, IGNORED))
		abort();
	return cl->kube;
}

/* As manager.c does at its end: the next one leads at once. */
static void end_well(struct controller *c, struct work *work, struct lease *lease,
		     struct event_recorder *events, struct runtimes *runtimes)
{
	work_measure(work); /* as each scrape does */
	if (!work_end(work, GRACE_MS)) {
		end(c, "did not stop in time");
		return;
	}
	lease_free(lease);
	work_free(work);
	event_recorder_free(events, 2000);
	runtimes_stop(runtimes);
	end(c, "has stopped");
}

static void on_lease(void *ctx, const char *holder)
{
	struct controller *c = ctx;

	sim_note(c->w->sim, "%s sees that %s leads", c->identity, holder);
}

static void on_lease_error(void *ctx, const struct error *err)
{
	struct controller *c = ctx;

	sim_note(c->w->sim, "%s: Lease: %s", c->identity, err->msg);
}

/* As manager.c does, without listeners. */
static void run(void *ctx)
{
	struct controller *c = ctx;
	struct world *w = c->w;
	struct lease_conf lease_conf = { .kube = new_client(c, LEASE),
					 .ns = "default",
					 .name = "trainer.kubeflow.org",
					 .identity = c->identity,
					 .duration_ms = 16000,
					 .renew_ms = 12000,
					 .retry_ms = 5000,
					 .on_change = on_lease,
					 .on_error = on_lease_error,
					 .ctx = c };
	struct event_recorder_conf events = { .kube = new_client(c, EVENTS),
					      .component = "kftrainer" };
	struct work_conf conf = { .config = &controller_config,
				  .watch = new_client(c, WATCH),
				  .kube = new_client(c, WORK),
				  .status_server_url = "https://controller" };
	struct lease *lease;
	struct work *work;
	struct pollfd ends[] = { { .events = POLLIN, .fd = stop_fd() },
				 { .events = POLLIN } };

	if (lease_new(&c->lease, &lease_conf, IGNORED) ||
	    runtimes_start(&conf.runtimes, conf.watch, IGNORED))
		abort();
	lease = c->lease;
	if (lease_acquire(lease, IGNORED))
		end(c, "stops before it leads");
	sim_note(w->sim, "%s leads", c->identity);
	c->leads = true;
	w->leads_since = clock_ms();
	if (event_recorder_new(&conf.events, &events, IGNORED) ||
	    work_start(&work, &conf, IGNORED))
		abort();
	ends[1].fd = lease_lost_fd(lease);
	poll(ends, N_ELEMENTS(ends), -1);
	if (ends[1].revents)
		end(c, "lost the lease");
	end_well(c, work, lease, conf.events, conf.runtimes);
}

static void start_one(void *ctx)
{
	struct world *w = ctx;
	struct controller *c;

	if (w->over)
		return;
	c = xcalloc(1, sizeof(*c));
	c->w = w;
	c->next = all;
	all = c;
	snprintf(c->identity, sizeof(c->identity), "controller-%d", ++w->started);
	sim_note(w->sim, "%s starts", c->identity);
	c->process = process_start(w->sim, run, c);
}

void controllers_start(struct world *w)
{
	all = NULL;
	for (int i = 0; i < w->n_controllers; i++)
		start_one(w);
}
