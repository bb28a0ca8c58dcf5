#include "kube/informer.h"

#include <dirent.h>
#include <pthread.h>

#include "api/meta.h"
#include "tests/unit/kube/apiserver.h"

/* What the informer told, a line each: "A a/x 1" is an object with spec.n of 1. */
struct told {
	struct apiserver server;
	struct informer *inf;
	pthread_mutex_t lock;
	char text[8192];
	size_t len;
	int errors;
	char last_error[1000];
};

static int64_t n_of(const cJSON *obj)
{
	return json_int(obj, -1, "spec", "n");
}

static void on_event(void *ctx, const cJSON *was, const cJSON *is)
{
	struct told *t = ctx;
	const cJSON *obj = is ? is : was;

	pthread_mutex_lock(&t->lock);
	t->len += (size_t)snprintf(t->text + t->len, sizeof(t->text) - t->len, "%c %s/%s",
				   !was ? 'A'
				   : is ? 'M'
					: 'D',
				   meta_namespace(obj), meta_name(obj));
	if (was)
		t->len += (size_t)snprintf(t->text + t->len, sizeof(t->text) - t->len,
					   " was %d", (int)n_of(was));
	if (is)
		t->len += (size_t)snprintf(t->text + t->len, sizeof(t->text) - t->len,
					   " is %d", (int)n_of(is));
	t->len += (size_t)snprintf(t->text + t->len, sizeof(t->text) - t->len, "\n");
	pthread_mutex_unlock(&t->lock);
}

static void on_error(void *ctx, const struct error *err)
{
	struct told *t = ctx;

	pthread_mutex_lock(&t->lock);
	t->errors++;
	snprintf(t->last_error, sizeof(t->last_error), "%s", err->msg);
	pthread_mutex_unlock(&t->lock);
}

static bool has_told(struct told *t, const char *line)
{
	bool ret;

	pthread_mutex_lock(&t->lock);
	ret = strstr(t->text, line) != NULL;
	pthread_mutex_unlock(&t->lock);
	return ret;
}

static int errors(struct told *t)
{
	int n;

	pthread_mutex_lock(&t->lock);
	n = t->errors;
	pthread_mutex_unlock(&t->lock);
	return n;
}

static void begin(struct told *t, bool (*transform)(cJSON *obj), bool optional)
{
	struct informer_conf conf = { .kube = t->server.kube,
				      .api_version = "v1",
				      .kind = "ConfigMap",
				      .select = { .page = 3 },
				      .transform = transform,
				      .on_event = on_event,
				      .ctx = t,
				      .optional = optional,
				      .on_error = on_error };
	struct error err = { 0 };

	pthread_mutex_init(&t->lock, NULL);
	if (informer_start(&t->inf, &conf, &err))
		fail_msg("%s", err.msg);
}

static void sync_up(struct told *t)
{
	struct error err = { 0 };

	if (informer_wait(t->inf, 60 * 1000, &err))
		fail_msg("%s", err.msg);
	assert_true(informer_synced(t->inf));
}

static void end(struct told *t)
{
	informer_stop(t->inf);
	apiserver_stop(&t->server);
	pthread_mutex_destroy(&t->lock);
}

static cJSON *object(const char *name, int n)
{
	cJSON *obj = meta_new("v1", "ConfigMap", "a", name);

	json_put_int(obj, n, "spec", "n");
	json_put_str(obj, "noise", "metadata", "managedFields");
	return obj;
}

static void create(struct told *t, const char *name, int n)
{
	cleanup_json cJSON *obj = object(name, n);
	struct kube_write plain = { 0 };
	struct error err = { 0 };

	if (kube_create(t->server.kube, obj, &plain, NULL, &err))
		fail_msg("%s", err.msg);
}

static void change(struct told *t, const char *name, int n)
{
	cleanup_json cJSON *obj = object(name, n), *patch = cJSON_CreateObject();
	struct kube_ref ref = kube_ref_of(obj);
	struct kube_write plain = { 0 };
	struct error err = { 0 };

	json_put_int(patch, n, "spec", "n");
	if (kube_merge_patch(t->server.kube, &ref, patch, &plain, NULL, &err))
		fail_msg("%s", err.msg);
}

static void remove_it(struct told *t, const char *name)
{
	cleanup_json cJSON *obj = object(name, 0);
	struct kube_ref ref = kube_ref_of(obj);
	struct error err = { 0 };

	if (kube_delete(t->server.kube, &ref, NULL, NULL, &err))
		fail_msg("%s", err.msg);
}

static int64_t stored(struct told *t, const char *name)
{
	cleanup_json cJSON *obj = informer_get(t->inf, "a", name);

	return obj ? n_of(obj) : -2;
}

static bool count_one(void *ctx, const cJSON *obj)
{
	int *n = ctx;

	assert_non_null(meta_name(obj));
	return ++*n < 5;
}

TEST(test_lists_and_watches)
{
	struct told t = { 0 };
	char name[16];
	int n = 0;

	apiserver_start(&t.server);
	for (int i = 0; i < 8; i++) { /* three pages */
		snprintf(name, sizeof(name), "x%d", i);
		create(&t, name, i);
	}
	begin(&t, NULL, false);
	sync_up(&t);
	assert_int_equal(informer_count(t.inf), 8);
	assert_int_equal(stored(&t, "x7"), 7);
	assert_int_equal(stored(&t, "nobody"), -2);
	assert_true(has_told(&t, "A a/x0 is 0\n"));
	create(&t, "y", 1);
	change(&t, "y", 2);
	remove_it(&t, "y");
	change(&t, "x3", 33);
	EVENTUALLY(has_told(&t, "A a/y is 1\nM a/y was 1 is 2\nD a/y was 2\n"
				"M a/x3 was 3 is 33\n"));
	assert_int_equal(stored(&t, "x3"), 33);
	informer_each(t.inf, count_one, &n);
	assert_int_equal(n, 5);
	assert_int_equal(errors(&t), 0);
	assert_int_equal(apiserver_seen(&t.server, "GET configmaps"), 3);
	{
		cleanup_json cJSON *obj = informer_get(t.inf, "a", "x1");

		assert_null(json_get((const cJSON *)obj, "metadata", "managedFields"));
		assert_string_equal(meta_kind(obj), "ConfigMap");
	}
	end(&t);
}

/* Odd ones are not for us; of the others n is all that is kept. */
static bool keep_even(cJSON *obj)
{
	json_del(obj, JSON_PATH("apiVersion"));
	json_del(obj, JSON_PATH("metadata", "resourceVersion"));
	return n_of(obj) % 2 == 0;
}

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

TEST(test_keeps_what_keep_says)
{
	struct told t = { 0 };
	int before = open_files();

	apiserver_start(&t.server);
	create(&t, "even", 2);
	create(&t, "odd", 1);
	begin(&t, keep_even, false);
	sync_up(&t);
	assert_int_equal(informer_count(t.inf), 1);
	change(&t, "odd", 4);  /* comes */
	change(&t, "even", 3); /* goes */
	change(&t, "even", 5); /* is none of ours */
	remove_it(&t, "even");
	change(&t, "odd", 6);
	EVENTUALLY(has_told(&t, "M a/odd was 4 is 6\n"));
	assert_string_equal(t.text, "A a/even is 2\nA a/odd is 4\nD a/even was 2\n"
				    "M a/odd was 4 is 6\n");
	end(&t);
	assert_int_equal(open_files(), before);
}

/* The watch ends in order, is cut off, or is too late: nothing is lost or told twice. */
TEST(test_comes_back)
{
	struct told t = { 0 };

	apiserver_start(&t.server);
	create(&t, "x", 1);
	create(&t, "y", 1);
	create(&t, "z", 1);
	begin(&t, NULL, false);
	sync_up(&t);
	EVENTUALLY(apiserver_seen(&t.server, "watch configmaps") == 1);
	apiserver_do(&t.server, "{'op':'cut'}");
	change(&t, "x", 2);
	EVENTUALLY(has_told(&t, "M a/x was 1 is 2\n"));
	assert_int_equal(apiserver_seen(&t.server, "GET configmaps"), 1);

	/* While it is away: y vanishes, z is another of that name, x changes. */
	apiserver_do(&t.server, "{'op':'hold','on':true}");
	apiserver_do(&t.server, "{'op':'cut'}");
	apiserver_do(&t.server, "{'op':'forget','path':"
				"'/api/v1/namespaces/a/configmaps/y'}");
	change(&t, "x", 3);
	remove_it(&t, "z");
	create(&t, "z", 9);
	apiserver_do(&t.server, "{'op':'compact'}");
	apiserver_do(&t.server, "{'op':'hold','on':false}");
	EVENTUALLY(stored(&t, "y") == -2);
	EVENTUALLY(has_told(&t, "M a/x was 2 is 3\n"));
	EVENTUALLY(has_told(&t, "D a/y was 1\n"));
	EVENTUALLY(has_told(&t, "D a/z was 1\n"));
	EVENTUALLY(has_told(&t, "A a/z is 9\n"));
	assert_int_equal(errors(&t), 0); /* 410 is nothing to tell */
	assert_int_equal(informer_count(t.inf), 2);
	end(&t);
}

/* What was only on the pages of a list that began again is not there. */
TEST(test_a_list_that_begins_again_keeps_no_ghosts)
{
	struct told t = { 0 };
	char name[16];

	apiserver_start(&t.server);
	for (int i = 0; i < 5; i++) { /* two pages */
		snprintf(name, sizeof(name), "x%d", i);
		create(&t, name, i);
	}
	apiserver_do(&t.server, "{'op':'expire','forget':"
				"'/api/v1/namespaces/a/configmaps/x1'}");
	begin(&t, NULL, false);
	sync_up(&t);
	assert_int_equal(stored(&t, "x1"), -2);
	assert_true(has_told(&t, "D a/x1 was 1\n"));
	assert_int_equal(informer_count(t.inf), 4);
	assert_int_equal(errors(&t), 0);
	end(&t);
}

/* Whatever the API server says of that place, nothing follows from there. */
TEST(test_a_watch_that_ends_with_an_error_lists_again)
{
	struct told t = { 0 };

	apiserver_start(&t.server);
	create(&t, "x", 1);
	create(&t, "y", 1);
	begin(&t, NULL, false);
	sync_up(&t);
	EVENTUALLY(apiserver_seen(&t.server, "watch configmaps") == 1);
	apiserver_do(&t.server, "{'op':'forget','path':"
				"'/api/v1/namespaces/a/configmaps/y'}");
	apiserver_do(&t.server, "{'op':'error','code':500}");
	apiserver_do(&t.server, "{'op':'cut'}");
	EVENTUALLY(has_told(&t, "D a/y was 1\n"));
	assert_int_equal(errors(&t), 1);
	assert_non_null(strstr(t.last_error, "watch configmaps: the watch ended"));
	end(&t);
}

/* After a long outage, the next failure is retried as quickly as a first one. */
TEST(test_a_watch_that_works_resets_the_delay)
{
	enum { FAILURES = 7, MOST_MS = 30 * 1000 };
	struct told t = { 0 };
	int64_t start;

	apiserver_start(&t.server);
	create(&t, "x", 1);
	apiserver_do(&t.server, "{'op':'fail','n':7,'status':500}");
	begin(&t, NULL, false);
	for (int i = 1; i <= FAILURES; i++) {
		EVENTUALLY(errors(&t) == i);
		informer_retry_now(t.inf);
	}
	sync_up(&t);
	change(&t, "x", 2);
	EVENTUALLY(has_told(&t, "M a/x was 1 is 2\n"));
	start = clock_ms();
	apiserver_do(&t.server, "{'op':'error','code':500}");
	apiserver_do(&t.server, "{'op':'cut'}");
	EVENTUALLY(apiserver_seen(&t.server, "GET configmaps") == FAILURES + 2);
	assert_true(clock_ms() - start < MOST_MS);
	end(&t);
}

/* A bookmark moves the place: after a compaction up to there, no list is needed. */
TEST(test_bookmarks)
{
	struct told t = { 0 };

	apiserver_start(&t.server);
	create(&t, "x", 1);
	begin(&t, NULL, false);
	sync_up(&t);
	EVENTUALLY(apiserver_seen(&t.server, "watch configmaps") == 1);
	apiserver_do(&t.server, "{'op':'bookmark'}");
	apiserver_do(&t.server, "{'op':'compact'}");
	apiserver_do(&t.server, "{'op':'cut'}");
	create(&t, "z", 1);
	EVENTUALLY(has_told(&t, "A a/z is 1\n"));
	assert_int_equal(apiserver_seen(&t.server, "GET configmaps"), 1);
	end(&t);
}

TEST(test_errors_are_told_and_survived)
{
	struct told t = { 0 };

	apiserver_start(&t.server);
	create(&t, "x", 1);
	apiserver_do(&t.server, "{'op':'fail','n':1,'status':403}");
	begin(&t, NULL, false);
	sync_up(&t);
	assert_int_equal(errors(&t), 1);
	assert_non_null(strstr(t.last_error, "list configmaps"));
	assert_int_equal(stored(&t, "x"), 1);
	end(&t);
}

TEST(test_a_kind_that_is_not_served)
{
	struct told t = { 0 }, u = { 0 };
	struct error err = { 0 };

	apiserver_start(&t.server);
	create(&t, "x", 1);
	apiserver_do(&t.server, "{'op':'unserved','plural':'configmaps','on':true}");
	begin(&t, NULL, true);
	sync_up(&t);
	assert_int_equal(informer_count(t.inf), 0);
	assert_false(informer_served(t.inf));
	apiserver_do(&t.server, "{'op':'unserved','plural':'configmaps','on':false}");
	informer_retry_now(t.inf);
	EVENTUALLY(has_told(&t, "A a/x is 1\n"));
	EVENTUALLY(informer_served(t.inf));
	apiserver_do(&t.server, "{'op':'unserved','plural':'configmaps','on':true}");
	EVENTUALLY(has_told(&t, "D a/x was 1\n"));
	assert_false(informer_served(t.inf));
	assert_int_equal(errors(&t), 0);

	/* Where it must be there, that is an error. */
	u.server = t.server;
	begin(&u, NULL, false);
	EVENTUALLY(errors(&u) > 0);
	assert_false(informer_synced(u.inf));
	assert_int_equal(informer_wait(u.inf, 10, &err), -1);
	assert_int_equal(err.kind, ERR_TIMEOUT);
	informer_stop(u.inf);
	end(&t);
}

static int64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Who waits for it sleeps. */
TEST(test_waiting)
{
	struct told t = { .len = 0 };
	struct error err = { 0 };
	int64_t begun, used;

	apiserver_start(&t.server);
	apiserver_do(&t.server, "{'op':'stall','plural':'configmaps','on':true}");
	begin(&t, NULL, false);
	begun = clock_ms();
	used = cpu_ms();
	assert_int_equal(informer_wait(t.inf, 500, &err), -1);
	assert_int_equal(err.kind, ERR_TIMEOUT);
	assert_true(clock_ms() - begun >= 500);
	assert_true(cpu_ms() - used < 50);
	apiserver_do(&t.server, "{'op':'stall','plural':'configmaps','on':false}");
	sync_up(&t);
	end(&t);
}

/* Readers while the store changes: for the sanitizers, and each sees a whole object. */
TEST(test_readers)
{
	struct told t = { 0 };

	apiserver_start(&t.server);
	create(&t, "x", 0);
	begin(&t, NULL, false);
	sync_up(&t);
	for (int i = 1; i <= 100; i++) {
		change(&t, "x", i);
		assert_true(stored(&t, "x") >= 0);
		assert_int_equal(informer_count(t.inf), 1);
	}
	EVENTUALLY(stored(&t, "x") == 100);
	end(&t);
}

RUN_TESTS(NULL, NULL)
