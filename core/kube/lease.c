/* lease.c - acquires, renews and releases a Lease (kube/lease.h). */
#include "kube/lease.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"

#define API_VERSION  "coordination.k8s.io/v1"
#define HOLDER       "spec", "holderIdentity"
#define DURATION     "spec", "leaseDurationSeconds"
#define ACQUIRE_TIME "spec", "acquireTime"
#define RENEW_TIME   "spec", "renewTime"
#define TRANSITIONS  "spec", "leaseTransitions"

struct lease {
	struct lease_conf conf;
	struct arena arena; /* conf's strings */
	int lost_fd;
	pthread_t thread;
	bool running; /* the thread is to be joined */
	/* Used by one function at a time: lease_acquire(), the thread, lease_free(). */
	cJSON *record;      /* the Lease as last read or written; NULL: there is none */
	int64_t changed_ms; /* when its spec was seen to change */
	char *reported;     /* the holder last passed to on_change */
	/* Guarded by lock. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool leads, ending;
	int64_t renewed_ms;
};

/* CLOCK_BOOTTIME includes suspend: leases of other replicas expire meanwhile. */
static int64_t boot_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- the record ------------------------------------------------------------------ */

static const char *holder_of(const cJSON *doc)
{
	const char *holder = json_str(doc, HOLDER);

	return holder ? holder : "";
}

static bool is_ours(const struct lease *l)
{
	return l->record && str_eq(holder_of(l->record), l->conf.identity);
}

static void set_record(struct lease *l, cJSON *take_doc)
{
	bool unchanged =
		l->record && json_equal(json_get((const cJSON *)l->record, "spec"),
					json_get((const cJSON *)take_doc, "spec"));
	const char *holder = holder_of(take_doc);

	if (!unchanged)
		l->changed_ms = boot_ms();
	cJSON_Delete(l->record);
	l->record = take_doc;
	if (!*holder || str_eq(holder, l->reported))
		return;
	free(l->reported);
	l->reported = xstrdup(holder);
	if (l->conf.on_change)
		l->conf.on_change(l->conf.ctx, holder);
}

/* Ms until the lease of another holder expires; 0: no other replica holds it. */
static int64_t ms_of_another(const struct lease *l)
{
	int64_t ms = clock_seconds_ms(json_int(l->record, 0, DURATION)), left;

	if (!l->record || !*holder_of(l->record) || is_ours(l))
		return 0;
	left = l->changed_ms + ms - boot_ms();
	return left > 0 ? left : 0;
}

/* The Lease with this replica as its holder, renewed now; the caller's. */
static cJSON *renewed_record(const struct lease *l)
{
	cJSON *doc = l->record ? json_dup(l->record)
			       : meta_new(API_VERSION, "Lease", l->conf.ns, l->conf.name);
	int64_t transitions = json_int(doc, 0, TRANSITIONS);
	char now[TIME_TEXT_SIZE];

	time_micro_now(now);
	if (!is_ours(l)) {
		json_put_str(doc, now, ACQUIRE_TIME);
		if (l->record)
			transitions = transitions < 0 || transitions >= INT32_MAX
					      ? 1
					      : transitions + 1;
	}
	json_put_str(doc, l->conf.identity, HOLDER);
	/* Rounded up: it must not expire for others before it does here. */
	json_put_int(doc, (l->conf.duration_ms + 999) / 1000, DURATION);
	json_put_str(doc, now, RENEW_TIME);
	json_put_int(doc, transitions, TRANSITIONS);
	return doc;
}

static int write_record(struct lease *l, struct error *err)
{
	cleanup_json cJSON *doc = renewed_record(l);
	cJSON *ret = NULL;

	if (l->record ? kube_update(l->conf.kube, doc, &kube_plain, &ret, err)
		      : kube_create(l->conf.kube, doc, &kube_plain, &ret, err))
		return -1;
	set_record(l, ret ? ret : STEAL(doc));
	return 0;
}

static int read_record(struct lease *l, struct error *err)
{
	struct kube_ref ref = { API_VERSION, "Lease", l->conf.ns, l->conf.name };
	cJSON *doc = NULL;

	if (kube_find(l->conf.kube, &ref, &doc, err))
		return -1;
	if (doc) {
		set_record(l, doc);
		return 0;
	}
	cJSON_Delete(l->record);
	l->record = NULL;
	return 0;
}

/* Acquire or renew. *ret_ours: this replica holds it. -1: the holder is unknown. */
static int try_once(struct lease *l, bool *ret_ours, struct error *err)
{
	*ret_ours = false;
	if (is_ours(l)) {
		if (write_record(l, err) == 0) {
			*ret_ours = true;
			return 0;
		}
		if (err->kind != ERR_CONFLICT && err->kind != ERR_NOT_FOUND)
			return -1;
	}
	if (read_record(l, err))
		return -1;
	if (ms_of_another(l))
		return 0;
	if (write_record(l, err) == 0) {
		*ret_ours = true;
		return 0;
	}
	/* Another replica acquired it first: the next try reads its record. */
	return err->kind == ERR_CONFLICT || err->kind == ERR_EXISTS ? 0 : -1;
}

/* ---- renewal --------------------------------------------------------------------- */

/* Make lost_fd readable at at_ms of CLOCK_BOOTTIME; 1: at once. */
static void arm(struct lease *l, int64_t at_ms)
{
	struct itimerspec t = { .it_value = { .tv_sec = at_ms / 1000,
					      .tv_nsec = at_ms % 1000 * 1000000 } };

	timerfd_settime(l->lost_fd, TFD_TIMER_ABSTIME, &t, NULL);
}

/* Under the lock. */
static bool in_time(const struct lease *l)
{
	return l->leads && boot_ms() < l->renewed_ms + l->conf.renew_ms;
}

/* Extend the lease from start_ms, when its write began. False: too late. */
static bool renewed(struct lease *l, int64_t start_ms)
{
	bool held;

	pthread_mutex_lock(&l->lock);
	held = in_time(l);
	if (held) {
		l->renewed_ms = start_ms;
		arm(l, start_ms + l->conf.renew_ms);
	}
	pthread_mutex_unlock(&l->lock);
	return held;
}

static bool wait_for_retry(struct lease *l)
{
	int64_t until = clock_ms() + l->conf.retry_ms;
	bool ending;

	pthread_mutex_lock(&l->lock);
	while (!l->ending && cond_wait_until(&l->wake, &l->lock, until))
		;
	ending = l->ending;
	pthread_mutex_unlock(&l->lock);
	return !ending;
}

static void *keep_renewing(void *ctx)
{
	struct lease *l = ctx;

	while (wait_for_retry(l)) {
		struct error err = { 0 };
		int64_t start = boot_ms();
		bool ours = false, unclear;
		int rc = try_once(l, &ours, &err);

		if (rc && l->conf.on_error)
			l->conf.on_error(l->conf.ctx, &err);
		/*
		 * The write failed, or another client changed the Lease but not its
		 * holder.
		 */
		unclear = rc || (!ours && is_ours(l));
		if (unclear ? !lease_held(l) : !ours || !renewed(l, start)) {
			pthread_mutex_lock(&l->lock);
			l->leads = false;
			arm(l, 1);
			pthread_mutex_unlock(&l->lock);
			return NULL;
		}
	}
	return NULL;
}

/* Wait retry_ms with jitter, but not beyond the expiry of the holder's lease. */
static void wait_for_turn(struct lease *l)
{
	int64_t ms = l->conf.retry_ms, left = ms_of_another(l);

	ms += clock_dice(1000) * ms * 12 / 10000; /* jitter: up to 12 % more */
	stop_wait(left && left < ms ? left : ms);
}

int lease_acquire(struct lease *l, struct error *err)
{
	for (;; wait_for_turn(l)) {
		struct error why = { 0 };
		int64_t start = boot_ms();
		bool ours = false;

		if (stop_requested())
			return error_set(err, ERR_STOPPED, "lease %s/%s: stopped",
					 l->conf.ns, l->conf.name);
		if (try_once(l, &ours, &why) && l->conf.on_error && !stop_requested())
			l->conf.on_error(l->conf.ctx, &why);
		if (!ours)
			continue;
		pthread_mutex_lock(&l->lock);
		l->leads = true;
		l->renewed_ms = start;
		arm(l, start + l->conf.renew_ms);
		pthread_mutex_unlock(&l->lock);
		if (thread_start(&l->thread, keep_renewing, l, err))
			return -1;
		l->running = true;
		return 0;
	}
}

bool lease_held(struct lease *l)
{
	bool held;

	pthread_mutex_lock(&l->lock);
	held = in_time(l);
	pthread_mutex_unlock(&l->lock);
	return held;
}

int lease_lost_fd(struct lease *l)
{
	return l->lost_fd;
}

/* ---- new and free ---------------------------------------------------------------- */

static int check(const struct lease_conf *c, struct error *err)
{
	if (!c->identity || !*c->identity || !c->ns || !*c->ns || !c->name || !*c->name)
		return error_set(err, ERR_INVALID,
				 "a lease needs a namespace, a name and an identity");
	if (c->duration_ms < 1000 || c->retry_ms < 1)
		return error_set(
			err, ERR_INVALID,
			"lease %s: a duration of less than 1 s, or no retryPeriod",
			c->name);
	if (c->duration_ms <= c->renew_ms)
		return error_set(
			err, ERR_INVALID,
			"lease %s: leaseDuration must be greater than renewDeadline",
			c->name);
	if (c->renew_ms * 10 <= c->retry_ms * 12)
		return error_set(err, ERR_INVALID,
				 "lease %s: renewDeadline must be greater than 1.2 times "
				 "retryPeriod",
				 c->name);
	return 0;
}

int lease_new(struct lease **ret, const struct lease_conf *conf, struct error *err)
{
	struct lease *l;
	int fd;

	if (check(conf, err))
		return -1;
	fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return error_errno(err, errno, "timerfd");
	l = xcalloc(1, sizeof(*l));
	l->conf = *conf;
	l->conf.ns = arena_strdup(&l->arena, conf->ns);
	l->conf.name = arena_strdup(&l->arena, conf->name);
	l->conf.identity = arena_strdup(&l->arena, conf->identity);
	l->lost_fd = fd;
	pthread_mutex_init(&l->lock, NULL);
	cond_init(&l->wake);
	*ret = l;
	return 0;
}

/* Write no holder and a duration of 1 s: any replica may acquire it at once. */
static int write_release(struct lease *l, struct error *err)
{
	cleanup_json cJSON *doc = json_dup(l->record);
	char now[TIME_TEXT_SIZE];

	json_put_str(doc, "", HOLDER);
	json_put_int(doc, 1, DURATION);
	json_put_str(doc, time_micro_now(now), RENEW_TIME);
	json_put_str(doc, now, ACQUIRE_TIME);
	return kube_update(l->conf.kube, doc, &kube_plain, NULL, err);
}

static void release(struct lease *l)
{
	struct error err = { 0 };
	int rc = -1;

	/* An own write without a response may cause a conflict: read and retry. */
	for (int tries = 0; tries < 2 && rc && is_ours(l); tries++) {
		rc = write_release(l, &err);
		if (rc && (err.kind != ERR_CONFLICT || read_record(l, &err)))
			break;
	}
	if (rc && is_ours(l) && l->conf.on_error)
		l->conf.on_error(l->conf.ctx, &err);
}

void lease_free(struct lease *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->ending = true;
	pthread_cond_broadcast(&l->wake);
	pthread_mutex_unlock(&l->lock);
	if (l->running)
		pthread_join(l->thread, NULL);
	if (lease_held(l))
		release(l);
	close(l->lost_fd);
	cJSON_Delete(l->record);
	free(l->reported);
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
	arena_clear(&l->arena);
	free(l);
}
