/* progress_server.c - accept progress of training (manager/progress_server.h). */
#include "manager/progress_server.h"
#include "manager/outage.h"

#include <pthread.h>
#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/bearer.h"
#include "logtext/alone.h"
#include "manager/names.h"
#include "manager/progress_auth.h"
#include "manager/progress_supervision.h"
#include "trainer/api.h"
#include "trainer/progress.h"

enum { MAX_ANSWER = 4 * PROGRESS_SERVER_MAX_BODY };

enum {
	/* TrainJobs with reporters in memory; the one silent for longest is dropped. */
	MAX_JOBS = 4096,
	MAX_REPORTERS = 8, /* of a TrainJob */
	/* Writes of one TrainJob's reports at a time: others wait behind no more of them. */
	MAX_WRITES = 4
};

/* The pods of one TrainJob that report, the first ones only. */
struct reporters {
	struct reporter {
		char *place;   /* "tj-node-0-1": its name without its random end */
		uint64_t last; /* number of its last report (progress_server.reports) */
	} pods[MAX_REPORTERS];
	size_t n;
	uint64_t last; /* the largest of all pods */
	bool reported; /* ALONE_REASON has been reported */
	int writes;    /* of its reports that are being written */
};

struct progress_server {
	struct kube *kube;
	struct authenticator *auth;
	struct progress_watch watch;
	pthread_mutex_t lock;
	struct map jobs;  /* uid -> struct reporters; guarded by lock */
	uint64_t reports; /* so far; guarded by lock */
};

const struct metric *const progress_server_metrics[] = { &supervision_total, NULL };

/* ---- answers ---------------------------------------------------------------------- */

/* A metav1.Status. */
static void fail(struct httpd_response *resp, int code, const char *reason,
		 const char *message)
{
	cleanup_json cJSON *status = progress_refusal(code, reason, message);

	httpd_answer_json(resp, code, status, MAX_ANSWER);
}

static void forbid(struct httpd_response *resp)
{
	fail(resp, 403, "Forbidden", "Forbidden");
}

static void fail_busy(struct httpd_response *resp)
{
	resp->headers.max = 64;
	buf_adds(&resp->headers, "Retry-After: 1\r\n");
	fail(resp, 429, "TooManyRequests", "Too many requests");
}

/* Also of this client's own limit of requests, which has no code. */
static bool is_busy(const struct error *err)
{
	return err->code == 429 || (err->kind == ERR_BUSY && !err->code);
}

static void fail_inside(struct httpd_response *resp, const struct progress_claim *claim,
			const struct error *err)
{
	if (is_busy(err)) {
		fail_busy(resp);
		return;
	}
	if (!outage_logged(err))
		log_error("cannot accept a progress report",
			  LOG_STR("namespace", claim->ns),
			  LOG_STR("trainjob", claim->name), LOG_ERR(err));
	fail(resp, 500, "InternalError", "Internal error");
}

/* ---- the request ------------------------------------------------------------------ */

/* Reads the TrainJob from the path; false: not this endpoint. */
static bool read_path(struct arena *arena, const struct httpd_request *req,
		      struct progress_claim *claim)
{
	const char *rest = str_after(req->path, "/apis/" TRAINER_API_VERSION "/");
	char **part;
	size_t n;

	if (!rest || !str_eq(req->method, "POST"))
		return false;
	part = str_split(arena, rest, '/', &n);
	if (n != 5 || !str_eq(part[0], "namespaces") || !str_eq(part[2], "trainjobs") ||
	    !str_eq(part[4], "status") || !*part[1] || !*part[3])
		return false;
	claim->ns = part[1];
	claim->name = part[3];
	return true;
}

static int apply(struct progress_server *s, const struct progress_claim *claim,
		 const char *uid, const cJSON *progress, struct error *err)
{
	cleanup_json cJSON *tj =
		meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, claim->ns, claim->name);
	const struct kube_write how = { .manager = MANAGER_STATUS_OWNER,
					.subresource = "status",
					.force = true,
					.meta_only = true };

	meta_set_uid(tj, uid);
	progress_put(tj, progress);
	return kube_apply(s->kube, tj, &how, NULL, err);
}

/* The API server's message, without the context that this program put before it. */
static const char *api_message(struct arena *arena, const struct progress_claim *claim,
			       const struct error *err)
{
	const char *whose = arena_printf(arena, "%s/%s: ", claim->ns, claim->name);
	const char *at = strstr(err->msg, whose);

	return at ? at + strlen(whose) : err->msg;
}

static void fail_apply(struct httpd_response *resp, const struct progress_claim *claim,
		       const struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	switch (err->kind) {
	case ERR_INVALID:
		fail(resp, 422, "Invalid", api_message(&arena, claim, err));
		return;
	case ERR_NOT_FOUND:
		fail(resp, 404, "NotFound", "Train job not found");
		return;
	case ERR_CONFLICT: /* another TrainJob has that name now */
		forbid(resp);
		return;
	default:
		fail_inside(resp, claim, err);
	}
}

/* ---- who reports ------------------------------------------------------------------- */

static void reporters_free(void *p)
{
	struct reporters *r = p;

	for (size_t i = 0; i < r->n; i++)
		free(r->pods[i].place);
	free(r);
}

static void drop_longest_silent(struct map *jobs)
{
	const struct map_entry *silent = NULL;
	uint64_t last = UINT64_MAX;

	map_each(e, jobs) {
		const struct reporters *r = e->value;

		if (r->last < last) {
			last = r->last;
			silent = e;
		}
	}
	if (silent)
		reporters_free(map_del(jobs, silent->key));
}

/* The caller holds s->lock. */
static struct reporters *reporters_of(struct progress_server *s, const char *uid)
{
	struct reporters *r = map_get(&s->jobs, uid);

	if (r)
		return r;
	if (s->jobs.n >= MAX_JOBS)
		drop_longest_silent(&s->jobs);
	r = xcalloc(1, sizeof(*r));
	map_put(&s->jobs, uid, r);
	return r;
}

/* The name up to its last "-"; "" if it has none. */
static char *without_end(struct arena *arena, const char *name)
{
	const char *dash = strrchr(name, '-');

	return str_slice(arena, name, dash ? (size_t)(dash - name) : 0);
}

/* The reporter of that place; NULL: a new one, which is added while there is room. */
static struct reporter *find_reporter(struct reporters *r, const char *place)
{
	for (size_t i = 0; i < r->n; i++)
		if (str_eq(r->pods[i].place, place))
			return &r->pods[i];
	if (r->n < MAX_REPORTERS)
		r->pods[r->n++] = (struct reporter){ xstrdup(place), r->last };
	return NULL;
}

/* A pod of the same Job that has reported since this one last did; NULL: none. */
static const char *take_turns(struct reporters *r, struct arena *arena, const char *place)
{
	struct reporter *own = find_reporter(r, place);
	uint64_t before = own ? own->last : 0;
	const char *job = without_end(arena, place);

	if (!own)
		return NULL;
	own->last = r->last;
	for (size_t i = 0; i < r->n; i++)
		if (&r->pods[i] != own && r->pods[i].last > before &&
		    str_eq(without_end(arena, r->pods[i].place), job))
			return r->pods[i].place;
	return NULL;
}

static void record_reporter(struct progress_server *s, const struct progress_claim *claim,
			    const char *uid)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *about = NULL;
	const char *place, *other, *text = NULL;
	struct reporters *r;

	if (!s->watch.on_event || !claim->pod)
		return;
	place = without_end(&arena, claim->pod);
	pthread_mutex_lock(&s->lock);
	r = reporters_of(s, uid);
	r->last = ++s->reports;
	other = r->reported ? NULL : take_turns(r, &arena, place);
	if (other) {
		r->reported = true;
		text = arena_printf(&arena,
				    "pods %s and %s both report progress, which only the "
				    "first rank does; " ALONE_REMEDY,
				    place, other);
	}
	pthread_mutex_unlock(&s->lock);
	if (!text)
		return;
	about = meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, claim->ns, claim->name);
	meta_set_uid(about, uid);
	s->watch.on_event(s->watch.ctx, about, ALONE_REASON, text);
}

/* False: MAX_WRITES of the TrainJob's reports are being written. */
static bool begin_write(struct progress_server *s, const char *uid)
{
	struct reporters *r;
	bool ret;

	pthread_mutex_lock(&s->lock);
	r = reporters_of(s, uid);
	r->last = ++s->reports;
	ret = r->writes < MAX_WRITES;
	r->writes += ret;
	pthread_mutex_unlock(&s->lock);
	return ret;
}

static void end_write(struct progress_server *s, const char *uid)
{
	struct reporters *r;

	pthread_mutex_lock(&s->lock);
	r = map_get(&s->jobs, uid);
	if (r && r->writes)
		r->writes--;
	pthread_mutex_unlock(&s->lock);
}

/* The contents of a request. */
struct report {
	cJSON *progress; /* NULL: none */
	bool supervised;
	struct supervision supervision;
};

static int read_report(struct report *ret, const struct httpd_request *req,
		       struct error *err)
{
	cleanup_json cJSON *doc = NULL;

	if (progress_body(&doc, (const char *)req->body, req->body_len, err) ||
	    progress_read(&ret->progress, doc, err))
		return -1;
	return supervision_read(&ret->supervision, &ret->supervised, doc, err);
}

static int write_report(struct progress_server *s, const struct progress_claim *claim,
			const char *uid, const struct report *r, struct error *err)
{
	if (r->progress && apply(s, claim, uid, r->progress, err))
		return -1;
	return r->supervised ? progress_supervision(s->kube, &s->watch, claim, uid,
						    &r->supervision, err)
			     : 0;
}

static void take_report(struct progress_server *s, const struct progress_claim *claim,
			const char *uid, const struct report *r,
			struct httpd_response *resp)
{
	cleanup_json cJSON *echo = NULL;
	struct error err = { 0 };
	int rc;

	if (!begin_write(s, uid)) {
		fail_busy(resp);
		return;
	}
	rc = write_report(s, claim, uid, r, &err);
	end_write(s, uid);
	if (rc) {
		fail_apply(resp, claim, &err);
		return;
	}
	if (r->progress)
		record_reporter(s, claim, uid);
	echo = progress_echo(r->progress);
	httpd_answer_json(resp, 200, echo, MAX_ANSWER);
}

static void take(struct progress_server *s, const struct progress_claim *claim,
		 const char *uid, const struct httpd_request *req,
		 struct httpd_response *resp)
{
	struct report report = { 0 };
	struct error err = { 0 };

	if (read_report(&report, req, &err)) {
		log_debug("invalid progress report", LOG_STR("namespace", claim->ns),
			  LOG_STR("trainjob", claim->name), LOG_ERR(&err));
		fail(resp, 422, "Invalid", "Invalid payload");
	} else {
		take_report(s, claim, uid, &report, resp);
	}
	cJSON_Delete(report.progress);
}

void progress_server_handle(void *progress_server, const struct httpd_request *req,
			    struct httpd_response *resp)
{
	cleanup_arena struct arena arena = { 0 };
	struct progress_claim claim = { 0 };
	struct progress_server *s = progress_server;
	struct error err = { 0 };
	const char *uid;

	if (!read_path(&arena, req, &claim)) {
		fail(resp, 404, "NotFound", "Not found");
		return;
	}
	claim.peer = req->peer;
	claim.token = bearer_token(&arena, httpd_header(req, "Authorization"));
	if (!claim.token || name_label_invalid(claim.ns) ||
	    name_subdomain_invalid(claim.name)) {
		forbid(resp);
		return;
	}
	if (progress_authorize(s->auth, &arena, &claim, &uid, &err))
		fail_inside(resp, &claim, &err);
	else if (!uid)
		forbid(resp);
	else
		take(s, &claim, uid, req, resp);
}

void progress_server_large(void *progress_server, const struct httpd_request *req,
			   struct httpd_response *resp)
{
	fail(resp, 413, "RequestEntityTooLarge", "Payload too large");
}

int progress_server_new(struct progress_server **ret, struct kube *writes,
			struct kube *reads, struct error *err)
{
	struct progress_server *s = xcalloc(1, sizeof(*s));

	s->kube = writes;
	pthread_mutex_init(&s->lock, NULL);
	if (progress_auth_new(&s->auth, reads, err)) {
		free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

void progress_server_free(struct progress_server *s)
{
	if (!s)
		return;
	authenticator_free(s->auth);
	map_release(&s->jobs, reporters_free);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void progress_server_watch(struct progress_server *s, const struct progress_watch *watch)
{
	s->watch = *watch;
}
