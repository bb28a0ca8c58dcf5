#include "kube/lease.h"

#include <poll.h>
#include <pthread.h>
#include <regex.h>

#include "base/stop.h"
#include "base/thread.h"
#include "tests/unit/kube/apiserver.h"

static struct lease_conf conf_of(struct kube *k, const char *identity)
{
	return (struct lease_conf){ .kube = k,
				    .ns = "sys",
				    .name = "lead",
				    .identity = identity,
				    .duration_ms = 3000,
				    .renew_ms = 2000,
				    .retry_ms = 100 };
}

static struct lease *lease_of(const struct lease_conf *conf)
{
	struct error err = { 0 };
	struct lease *l = NULL;

	if (lease_new(&l, conf, &err))
		fail_msg("%s", err.msg);
	return l;
}

static void acquire(struct lease *l)
{
	struct error err = { 0 };

	if (lease_acquire(l, &err))
		fail_msg("%s", err.msg);
	assert_true(lease_held(l));
}

static cJSON *record(struct apiserver *s)
{
	struct kube_ref ref = { "coordination.k8s.io/v1", "Lease", "sys", "lead" };
	struct error err = { 0 };
	cJSON *ret = NULL;

	if (kube_get(s->kube, &ref, &ret, &err))
		fail_msg("%s", err.msg);
	return ret;
}

static void check_record(struct apiserver *s, const char *holder, int duration,
			 int transitions)
{
	static const char *const times[] = { "acquireTime", "renewTime" };
	cleanup_json cJSON *doc = record(s);
	regex_t micro;

	assert_string_equal(json_str(doc, "spec", "holderIdentity"), holder);
	assert_int_equal(json_int(doc, -1, "spec", "leaseDurationSeconds"), duration);
	assert_int_equal(json_int(doc, -1, "spec", "leaseTransitions"), transitions);
	assert_int_equal(
		regcomp(&micro, "^20..-..-..T..:..:..\\.[0-9]{6}Z$", REG_EXTENDED), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			regexec(&micro, json_str(doc, "spec", times[i]), 0, NULL, 0), 0);
	regfree(&micro);
}

static bool is_lost(struct lease *l, int ms)
{
	struct pollfd p = { .fd = lease_lost_fd(l), .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

struct waiter {
	struct lease *l;
	int rc;
	struct error err;
};

static void *wait_for_it(void *ctx)
{
	struct waiter *w = ctx;

	w->rc = lease_acquire(w->l, &w->err);
	return NULL;
}

TEST(test_rules)
{
	static const struct {
		int64_t duration, renew, retry;
		const char *identity, *want;
	} rows[] = {
		{ 15000, 10000, 2000, "me", NULL },
		{ 15000, 15000, 2000, "me", "leaseDuration must be greater" },
		{ 15000, 2400, 2000, "me", "1.2 times" },
		{ 15000, 2401, 2000, "me", NULL },
		{ 1000, 900, 1, "me", NULL },
		{ 999, 500, 100, "me", "less than 1 s" },
		{ 15000, 10000, 0, "me", "retryPeriod" },
		{ 15000, 10000, 2000, "", "identity" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct lease_conf c = conf_of(NULL, rows[i].identity);
		struct error err = { 0 };
		struct lease *l = NULL;
		int rc;

		c.duration_ms = rows[i].duration;
		c.renew_ms = rows[i].renew;
		c.retry_ms = rows[i].retry;
		rc = lease_new(&l, &c, &err);
		if (!rc != !rows[i].want || (rc && !strstr(err.msg, rows[i].want)))
			fail_msg("row %zu: %d %s", i, rc, rc ? err.msg : "");
		lease_free(l);
	}
}

TEST(test_names)
{
	static const struct {
		const char *ns, *name, *identity;
	} rows[] = {
		{ NULL, "l", "me" }, { "", "l", "me" },   { "ns", NULL, "me" },
		{ "ns", "", "me" },  { "ns", "l", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct lease_conf c = conf_of(NULL, rows[i].identity);
		struct error err = { 0 };
		struct lease *l = NULL;

		c.ns = rows[i].ns;
		c.name = rows[i].name;
		assert_int_equal(lease_new(&l, &c, &err), -1);
		assert_non_null(strstr(err.msg, "a namespace, a name and an identity"));
	}
}

TEST(test_taken_renewed_given_up)
{
	struct apiserver s;
	struct lease_conf c;
	struct lease *a, *b;
	cleanup_json cJSON *first = NULL;

	apiserver_start(&s);
	c = conf_of(s.kube, "a");
	a = lease_of(&c);
	assert_false(lease_held(a));
	acquire(a);
	check_record(&s, "a", 3, 0);
	first = record(&s);
	EVENTUALLY(apiserver_seen(&s, "PUT leases") >= 3);
	{
		cleanup_json cJSON *now = record(&s);

		assert_string_equal(json_str(now, "spec", "acquireTime"),
				    json_str(first, "spec", "acquireTime"));
		assert_string_not_equal(json_str(now, "spec", "renewTime"),
					json_str(first, "spec", "renewTime"));
	}
	assert_false(is_lost(a, 0));
	lease_free(a);
	check_record(&s, "", 1, 0);

	/* What was given up is there for the next at once. */
	c.identity = "b";
	b = lease_of(&c);
	acquire(b);
	check_record(&s, "b", 3, 1);
	lease_free(b);
	apiserver_stop(&s);
}

/* The standby waits until it has not seen a renewal for the whole duration. */
TEST(test_failover)
{
	struct apiserver s;
	struct lease_conf c;
	struct waiter w = { 0 };
	struct kube *quick;
	struct lease *a;
	pthread_t thread;
	struct error err;

	apiserver_start(&s);
	quick = apiserver_client(&s, 500);
	c = conf_of(quick, "a");
	a = lease_of(&c);
	acquire(a);
	c = conf_of(s.kube, "b");
	w.l = lease_of(&c);
	assert_int_equal(thread_start(&thread, wait_for_it, &w, &err), 0);
	EVENTUALLY(apiserver_seen(&s, "GET leases") >= 20); /* 2 s of renewals */
	assert_false(lease_held(w.l));
	assert_true(lease_held(a));

	/* The server hangs: a must notice by itself, while its call is under way. */
	apiserver_do(&s, "{'op':'delay','seconds':3}");
	assert_true(is_lost(a, 60 * 1000));
	assert_false(lease_held(a));
	assert_false(lease_held(w.l));
	apiserver_do(&s, "{'op':'delay','seconds':0}");
	pthread_join(thread, NULL);
	assert_int_equal(w.rc, 0);
	assert_true(lease_held(w.l));
	assert_true(is_lost(a, 0)); /* and for good */
	check_record(&s, "b", 3, 1);
	lease_free(a); /* not ours: left alone */
	check_record(&s, "b", 3, 1);
	lease_free(w.l);
	kube_free(quick);
	apiserver_stop(&s);
}

static void put_holder(struct apiserver *s, const char *holder)
{
	cleanup_json cJSON *patch = cJSON_CreateObject();
	struct kube_ref ref = { "coordination.k8s.io/v1", "Lease", "sys", "lead" };
	struct kube_write plain = { 0 };
	struct error err = { 0 };

	json_put_str(patch, holder, "spec", "holderIdentity");
	if (kube_merge_patch(s->kube, &ref, patch, &plain, NULL, &err))
		fail_msg("%s", err.msg);
}

static void note_holder(void *ctx, const char *holder)
{
	char *text = ctx;

	snprintf(text + strlen(text), 64 - strlen(text), "%s ", holder);
}

TEST(test_taken_by_force)
{
	char holders[64] = "";
	struct apiserver s;
	struct lease_conf c;
	struct lease *a;

	apiserver_start(&s);
	c = conf_of(s.kube, "a");
	c.on_change = note_holder;
	c.ctx = holders;
	a = lease_of(&c);
	acquire(a);
	put_holder(&s, "somebody");
	assert_true(is_lost(a, 60 * 1000));
	assert_false(lease_held(a));
	lease_free(a);
	{
		cleanup_json cJSON *doc = record(&s);

		assert_string_equal(json_str(doc, "spec", "holderIdentity"), "somebody");
	}
	assert_string_equal(holders, "a somebody ");
	apiserver_stop(&s);
}

/* Who labels the Lease while we renew it does not take it. */
TEST(test_conflicts)
{
	struct apiserver s;
	struct lease_conf c;
	struct lease *a;
	int64_t calls;

	apiserver_start(&s);
	c = conf_of(s.kube, "a");
	c.duration_ms = 9500;
	c.renew_ms = 9400;
	a = lease_of(&c);
	acquire(a);
	check_record(&s, "a", 10, 0);
	calls = apiserver_seen(&s, "PUT leases");
	apiserver_do(&s, "{'op':'fail','status':409,'n':2,'of':'PUT'}");
	EVENTUALLY(apiserver_seen(&s, "PUT leases") >= calls + 5);
	assert_true(lease_held(a));
	assert_false(is_lost(a, 0));
	lease_free(a);
	check_record(&s, "", 1, 0);
	apiserver_stop(&s);
}

/* Whoever has it is frozen: it is taken when its time is over, not at the next look. */
TEST(test_taken_when_its_time_is_over)
{
	struct apiserver s;
	struct lease_conf c;
	struct waiter w = { 0 };
	struct kube_write plain = { 0 };
	struct error err = { 0 };
	cleanup_json cJSON *doc =
		doc_of("{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
		       "\"metadata\":{\"name\":\"lead\",\"namespace\":\"sys\"},"
		       "\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":2}}");
	pthread_t thread;

	apiserver_start(&s);
	if (kube_create(s.kube, doc, &plain, NULL, &err))
		fail_msg("%s", err.msg);
	c = conf_of(s.kube, "me");
	c.retry_ms = 10 * 60 * 1000;
	c.renew_ms = 2 * c.retry_ms;
	c.duration_ms = 3 * c.retry_ms;
	w.l = lease_of(&c);
	assert_int_equal(thread_start(&thread, wait_for_it, &w, &err), 0);
	EVENTUALLY(lease_held(w.l));
	pthread_join(thread, NULL);
	assert_true(apiserver_seen(&s, "GET leases") <=
		    5); /* nor was it looked at all the time */
	lease_free(w.l);
	apiserver_stop(&s);
}

/* What others wrote into it: it is waited for or taken, and never a crash. */
TEST(test_odd_records)
{
	static const char *const rows[] = {
		"{}",
		"null",
		"[1]",
		"{\"holderIdentity\":7}",
		"{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":-9}",
		"{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":\"a\"}",
		"{\"holderIdentity\":\"\",\"leaseTransitions\":99999999999}",
		"{\"holderIdentity\":\"\",\"leaseTransitions\":2147483647}",
		"{\"holderIdentity\":\"\",\"leaseTransitions\":-5}",
		"{\"holderIdentity\":\"x\",\"renewTime\":\"tomorrow\"}",
	};
	struct apiserver s;

	apiserver_start(&s);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char text[512];
		cleanup_json cJSON *doc = NULL;
		struct kube_write plain = { 0 };
		struct lease_conf c = conf_of(s.kube, "me");
		struct error err = { 0 };
		struct lease *l;

		snprintf(
			text, sizeof(text),
			"{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"lead\",\"namespace\":\"sys\"},\"spec\":%s}",
			rows[i]);
		doc = doc_of(text);
		if (i ? kube_update(s.kube, doc, &plain, NULL, &err)
		      : kube_create(s.kube, doc, &plain, NULL, &err))
			fail_msg("%s", err.msg);
		l = lease_of(&c);
		acquire(l);
		check_record(&s, "me", 3, 1);
		lease_free(l);
	}
	apiserver_stop(&s);
}

static void count_error(void *ctx, const struct error *err)
{
	assert_int_equal(err->kind, ERR_DENIED);
	++*(int *)ctx;
}

/* It is told when a Lease that is ours cannot be given up, and of nothing else. */
TEST(test_giving_up_that_fails)
{
	struct apiserver s;
	struct lease_conf c;
	struct lease *a;
	int errors = 0;

	apiserver_start(&s);
	c = conf_of(s.kube, "a");
	c.retry_ms = 10 * 60 * 1000; /* it is not renewed meanwhile */
	c.renew_ms = 2 * c.retry_ms;
	c.duration_ms = 3 * c.retry_ms;
	c.on_error = count_error;
	c.ctx = &errors;
	a = lease_of(&c);
	acquire(a);
	lease_free(a);
	assert_int_equal(errors, 0);

	a = lease_of(&c);
	acquire(a);
	apiserver_do(&s, "{'op':'fail','status':403,'n':1,'of':'PUT'}");
	lease_free(a);
	assert_int_equal(errors, 1);
	check_record(&s, "a", 1800, 1);

	a = lease_of(&c);
	acquire(a);
	put_holder(&s, "somebody");
	lease_free(a);
	assert_int_equal(errors, 1);
	apiserver_stop(&s);
}

/* Last: nothing in this process runs after it. */
TEST(test_stopped_while_waiting)
{
	struct apiserver s;
	struct lease_conf c;
	struct waiter w = { 0 };
	struct lease *a;
	pthread_t thread;
	struct error err;

	assert_int_equal(stop_setup(&err), 0);
	apiserver_start(&s);
	c = conf_of(s.kube, "a");
	a = lease_of(&c);
	acquire(a);
	c.identity = "b";
	w.l = lease_of(&c);
	assert_int_equal(thread_start(&thread, wait_for_it, &w, &err), 0);
	EVENTUALLY(apiserver_seen(&s, "GET leases") >= 2);
	stop_request();
	pthread_join(thread, NULL);
	assert_int_equal(w.rc, -1);
	assert_int_equal(w.err.kind, ERR_STOPPED);
	lease_free(w.l);
	lease_free(a); /* given up all the same */
	check_record(&s, "", 1, 0);
	apiserver_stop(&s);
}

RUN_TESTS(NULL, NULL)
