#include "kube/event.h"

#include <pthread.h>
#include <regex.h>

#include "api/meta.h"
#include "base/clock.h"
#include "tests/unit/kube/apiserver.h"

/* on_drop may be NULL. */
static struct event_recorder *recorder_with(struct apiserver *s,
					    void (*on_drop)(void *ctx,
							    const struct error *err),
					    void *ctx)
{
	const struct event_recorder_conf conf = {
		.kube = s->kube,
		.component = "trainer-trainjob-controller",
		.on_drop = on_drop,
		.ctx = ctx,
	};
	struct event_recorder *r = NULL;
	struct error err = { 0 };

	if (event_recorder_new(&r, &conf, &err))
		fail_msg("%s", err.msg);
	return r;
}

static struct event_recorder *recorder(struct apiserver *s)
{
	return recorder_with(s, NULL, NULL);
}

static cJSON *job(const char *name)
{
	cJSON *obj = meta_new("trainer.kubeflow.org/v1alpha1", "TrainJob", "a", name);

	json_put_str(obj, name, "metadata", "uid");
	json_put_str(obj, "77", "metadata", "resourceVersion");
	return obj;
}

static void record(struct event_recorder *r, const char *name, const struct event *e)
{
	cleanup_json cJSON *obj = job(name);

	event_record(r, obj, e);
}

static cJSON *events(struct apiserver *s)
{
	return apiserver_ctl(s, "{'op':'objects','plural':'events'}");
}

static int count(struct apiserver *s)
{
	cleanup_json cJSON *all = events(s);

	return cJSON_GetArraySize(json_get(all, "items"));
}

static bool matches(const char *s, const char *pattern)
{
	regex_t re;
	int rc;

	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	rc = regexec(&re, s ? s : "", 0, NULL, 0);
	regfree(&re);
	return rc == 0;
}

TEST(test_all_of_an_event)
{
	static const struct {
		const char *path[4], *want;
	} rows[] = {
		{ { "apiVersion" }, "^v1$" },
		{ { "kind" }, "^Event$" },
		{ { "metadata", "name" }, "^bert\\.[0-9a-f]{12,16}$" },
		{ { "metadata", "namespace" }, "^a$" },
		{ { "involvedObject", "apiVersion" }, "^trainer.kubeflow.org/v1alpha1$" },
		{ { "involvedObject", "kind" }, "^TrainJob$" },
		{ { "involvedObject", "name" }, "^bert$" },
		{ { "involvedObject", "namespace" }, "^a$" },
		{ { "involvedObject", "uid" }, "^bert$" },
		{ { "involvedObject", "resourceVersion" }, "^77$" },
		{ { "source", "component" }, "^trainer-trainjob-controller$" },
		{ { "reportingComponent" }, "^trainer-trainjob-controller$" },
		{ { "reportingInstance" }, "^trainer-trainjob-controller-." },
		{ { "reason" }, "^Because$" },
		{ { "action" }, "^Reconciling$" },
		{ { "message" }, "^it is so$" },
		{ { "type" }, "^Warning$" },
		{ { "firstTimestamp" }, "^20..-..-..T..:..:..Z$" },
		{ { "lastTimestamp" }, "^20..-..-..T..:..:..Z$" },
	};
	static const struct event e = { .warning = true,
					.reason = "Because",
					.action = "Reconciling",
					.message = "it is so" };
	struct apiserver s;
	struct event_recorder *r;
	cleanup_json cJSON *all = NULL;
	const cJSON *got;

	apiserver_start(&s);
	r = recorder(&s);
	record(r, "bert", &e);
	event_recorder_free(r, 60 * 1000);
	all = events(&s);
	got = json_get((const cJSON *)all, "items")->child;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (!matches(json_str_at(got, rows[i].path), rows[i].want))
			fail_msg("%s: %s", rows[i].want, json_str_at(got, rows[i].path));
	assert_int_equal(json_int(got, 0, "count"), 1);
	assert_null(json_get(got, "eventTime"));
	assert_int_equal(count(&s), 1);
	apiserver_stop(&s);
}

/* What is the same is counted; what differs is another event. */
TEST(test_the_same_again)
{
	static const struct event rows[] = {
		{ .reason = "A", .message = "one" },
		{ .reason = "A", .message = "two" },
		{ .reason = "B", .message = "one" },
		{ .reason = "A", .message = "one", .warning = true },
	};
	struct apiserver s;
	struct event_recorder *r;
	cleanup_json cJSON *all = NULL;
	const cJSON *got;

	apiserver_start(&s);
	r = recorder(&s);
	for (int i = 0; i < 30; i++)
		record(r, "x", &rows[0]);
	EVENTUALLY(count(&s) == 1);
	for (int i = 0; i < 30; i++)
		record(r, "x", &rows[0]);
	for (size_t i = 1; i < N_ELEMENTS(rows); i++)
		record(r, "x", &rows[i]);
	record(r, "y", &rows[0]);
	event_recorder_free(r, 60 * 1000);
	all = events(&s);
	assert_int_equal(count(&s), 5);
	got = json_get((const cJSON *)all, "items")->child;
	assert_int_equal(json_int(got, 0, "count"), 60);
	assert_true(apiserver_seen(&s, "PATCH events") >= 1);
	assert_true(apiserver_seen(&s, "PATCH events") <= 3);
	apiserver_stop(&s);
}

/* Of a series the last message is seen, without waiting for the end. */
TEST(test_series)
{
	struct apiserver s;
	struct event_recorder *r;
	char text[64];
	cleanup_json cJSON *all = NULL;

	apiserver_start(&s);
	r = recorder(&s);
	for (int i = 1; i <= 500; i++) {
		struct event e = { .reason = "A", .message = text, .series = "pods" };

		snprintf(text, sizeof(text), "%d pods", i);
		record(r, "x", &e);
	}
	EVENTUALLY(({
		cJSON_Delete(all);
		all = events(&s);
		const cJSON *first = json_get((const cJSON *)all, "items")->child;
		first &&json_int(first, 0, "count") == 500;
	}));
	assert_string_equal(
		json_str(json_get((const cJSON *)all, "items")->child, "message"),
		"500 pods");
	assert_int_equal(count(&s), 1);
	assert_true(apiserver_seen(&s, "PATCH events") <= 3);
	event_recorder_free(r, 0);
	apiserver_stop(&s);
}

/* One object cannot flood: 25 at once. Another one has its own. */
TEST(test_spam)
{
	struct apiserver s;
	struct event_recorder *r;
	char text[64];

	apiserver_start(&s);
	r = recorder(&s);
	for (int i = 0; i < 100; i++) {
		struct event e = { .reason = "A", .message = text };

		snprintf(text, sizeof(text), "message %d", i);
		record(r, "noisy", &e);
	}
	record(r, "quiet", &(struct event){ .reason = "A", .message = "hello" });
	event_recorder_free(r, 60 * 1000);
	assert_int_equal(count(&s), 26);
	apiserver_stop(&s);
}

TEST(test_long_messages_and_names)
{
	struct apiserver s;
	struct event_recorder *r;
	char name[254], text[3000];
	struct event e = { .reason = "A", .message = text };
	cleanup_json cJSON *all = NULL;
	const char *got;

	memset(name, 'n', sizeof(name) - 1);
	name[235] = '.';
	name[253] = 0;
	for (size_t i = 0; i < sizeof(text) - 3; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 4);
	apiserver_start(&s);
	r = recorder(&s);
	record(r, name, &e);
	event_recorder_free(r, 60 * 1000);
	all = events(&s);
	got = json_str(json_get((const cJSON *)all, "items")->child, "message");
	assert_int_equal(strlen(got), 1023); /* 341 characters of three bytes */
	got = json_str(json_get((const cJSON *)all, "items")->child, "metadata", "name");
	assert_true(strlen(got) <= 253);
	assert_null(strstr(got, ".."));
	apiserver_stop(&s);
}

struct drops {
	pthread_mutex_t lock;
	int n;
	enum error_kind kind;
};

static void on_drop(void *ctx, const struct error *err)
{
	struct drops *d = ctx;

	pthread_mutex_lock(&d->lock);
	d->n++;
	d->kind = err->kind;
	pthread_mutex_unlock(&d->lock);
}

/* A refusal is final; of the others the event is tried again. Expired ones are recreated. */
TEST(test_failures)
{
	static const struct event e = { .reason = "A", .message = "one" };
	struct drops d = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct apiserver s;
	struct event_recorder *r;
	cleanup_json cJSON *all = NULL;
	const cJSON *first;
	char op[256];

	apiserver_start(&s);
	r = recorder_with(&s, on_drop, &d);
	apiserver_do(&s, "{'op':'fail','n':1,'status':403}");
	record(r, "x", &e);
	EVENTUALLY(({
		pthread_mutex_lock(&d.lock);
		int n = d.n;
		pthread_mutex_unlock(&d.lock);
		n == 1;
	}));
	assert_int_equal(d.kind, ERR_DENIED);
	assert_int_equal(count(&s), 0);

	apiserver_do(&s, "{'op':'fail','n':1,'status':500}");
	record(r, "x", &e);
	EVENTUALLY(count(&s) == 1);
	all = events(&s);
	first = json_get((const cJSON *)all, "items")->child;
	assert_int_equal(json_int(first, 0, "count"), 1); /* the refused one is none */
	snprintf(op, sizeof(op),
		 "{'op':'forget','path':'/api/v1/namespaces/a/events/%s'}",
		 meta_name(first));
	apiserver_do(&s, op);
	assert_int_equal(count(&s), 0);
	record(r, "x", &e);
	EVENTUALLY(count(&s) == 1);
	event_recorder_free(r, 0);
	assert_int_equal(d.n, 1);
	apiserver_stop(&s);
}

/* A call that was given up is made again: under the same name, so that it is one event. */
TEST(test_made_although_it_seemed_not)
{
	struct apiserver s;
	struct event_recorder *r = NULL;
	struct error err = { 0 };
	struct kube *hasty;

	apiserver_start(&s);
	hasty = apiserver_client(&s, 300);
	assert_int_equal(event_recorder_new(&r,
					    &(struct event_recorder_conf){
						    .kube = hasty, .component = "test" },
					    &err),
			 0);
	apiserver_do(&s, "{'op':'delay','seconds':1}");
	record(r, "bert", &(struct event){ .reason = "A", .message = "m" });
	EVENTUALLY(apiserver_seen(&s, "POST events") == 1);
	apiserver_do(&s, "{'op':'delay','seconds':0}");
	EVENTUALLY(apiserver_seen(&s, "POST events") == 2);
	clock_sleep_ms(1200); /* now both have been done */
	check_int("events", count(&s), 1);
	event_recorder_free(r, 1000);
	kube_free(hasty);
	apiserver_stop(&s);
}

/* More than fits: what is dropped is dropped, and it ends in time with the server gone. */
static void keep(void *ctx, const cJSON *event)
{
	cJSON_AddItemToArray(ctx, json_dup(event));
}

/* Each at once, with all that a server would be sent; what is the same has one name. */
TEST(test_in_place_of_a_server)
{
	static const struct event a = { .reason = "A", .message = "one", .series = "s" };
	static const struct event again = { .reason = "A",
					    .message = "two",
					    .series = "s" };
	static const struct event b = { .reason = "B", .message = "one" };
	cleanup_json cJSON *got = cJSON_CreateArray();
	const struct event_recorder_conf conf = { .component = "c",
						  .on_event = keep,
						  .ctx = got };
	const cJSON *first, *second, *third;
	struct event_recorder *r;
	struct error err = { 0 };

	assert_int_equal(event_recorder_new(&r, &conf, &err), 0);
	record(r, "bert", &a);
	record(r, "bert", &again);
	record(r, "bert", &b);
	event_recorder_free(r, 0);
	assert_int_equal(cJSON_GetArraySize(got), 3);
	first = got->child;
	second = first->next;
	third = second->next;
	assert_true(matches(meta_name(first), "^bert\\.[0-9a-f]{12,16}$"));
	assert_true(matches(json_str(first, "firstTimestamp"), "^20..-..-..T..:..:..Z$"));
	assert_string_equal(json_str(first, "message"), "one");
	assert_int_equal(json_int(first, 0, "count"), 1);
	assert_string_equal(meta_name(second), meta_name(first));
	assert_string_equal(json_str(second, "message"), "two");
	assert_int_equal(json_int(second, 0, "count"), 2);
	assert_string_not_equal(meta_name(third), meta_name(first));
	assert_string_equal(json_str(third, "source", "component"), "c");
}

TEST(test_flood_without_a_server)
{
	struct apiserver s;
	struct event_recorder *r;
	int64_t begin = clock_ms();
	char name[32];

	apiserver_start(&s);
	r = recorder(&s);
	apiserver_do(&s, "{'op':'delay','seconds':1}");
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		record(r, name, &(struct event){ .reason = "A", .message = "hello" });
	}
	event_recorder_free(r, 100); /* a call under way, and no more */
	apiserver_do(&s, "{'op':'delay','seconds':0}");
	assert_true(count(&s) <= 2 + (clock_ms() - begin) / 1000);
	apiserver_stop(&s);
}

RUN_TESTS(NULL, NULL)
