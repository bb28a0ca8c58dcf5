/* The head's decisions by its workers' answers, without threads and calls. */
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/fleet_impl.h"
#include "cache/serve_impl.h"
#include "cache/table_impl.h"
#include "tests/unit/kubelet/quoted.h"

enum { WORKERS = 3, UNITS = 6, UNIT = 10 };

static struct file files[] = { { .path = "a" }, { .path = "b" } };
static struct unit units[UNITS];
static struct table table = { .units = units, .n_units = UNITS, .rows = UNITS * UNIT };
static char hosts[WORKERS][4] = { "w0", "w1", "::1" };
static struct cache_address addresses[WORKERS] = { { hosts[0], 1 },
						   { hosts[1], 2 },
						   { hosts[2], 3 } };
static struct cache_conf conf = { .workers = addresses,
				  .n_workers = WORKERS,
				  .takeover_ms = 1000 };
static struct fleet *fleet;

static void start(void)
{
	struct error err;

	for (int i = 0; i < UNITS; i++)
		units[i] =
			(struct unit){ &files[i > 3], 0, { i * UNIT, (i + 1) * UNIT } };
	assert_int_equal(fleet_new(&fleet, &conf, &table, &err), 0);
}

/* What a worker answers that has been sent its assignment; `loans`: their state. */
static cJSON *health(struct remote *r, const char *state, const char *loans)
{
	cleanup_free char *text = NULL;
	cJSON *doc, *more, *pair, *list;
	struct error err;

	fleet_poll_begin(r);
	text = fleet_assignment(r);
	assert_int_equal(json_parse(&doc, text, strlen(text), &err), 0);
	more = cJSON_DetachItemFromObjectCaseSensitive(doc, "more");
	list = json_list(doc, "more");
	json_each(pair, more) {
		cJSON *one = cJSON_CreateObject();

		json_put_str(one, loans, "state");
		json_put(one, json_dup(cJSON_GetArrayItem(pair, 0)), "first");
		json_put(one, json_dup(cJSON_GetArrayItem(pair, 1)), "end");
		cJSON_AddItemToArray(list, one);
	}
	cJSON_Delete(more);
	if (str_eq(state, "waiting"))
		json_put_str(doc, "", "table");
	json_put_str(doc, state, "state");
	return doc;
}

/* A poll with this answer (NULL: none). Returns whether an assignment is wanted. */
static bool poll(int i, const char *state, const char *loans)
{
	struct remote *r = &fleet->remotes[i];
	cleanup_json cJSON *doc = state ? health(r, state, loans) : NULL;
	char trouble[FLEET_TEXT];
	bool ready, wants = false;

	fleet_poll_begin(r);
	ready = doc ? fleet_poll_answer(r, doc, &wants, trouble)
		    : fleet_poll_silence(r, "no route", trouble);
	fleet_poll_end(r, ready, trouble);
	return wants;
}

static void start_ready(void)
{
	start();
	for (int i = 0; i < WORKERS; i++)
		poll(i, "ready", "");
}

/* The holders of these rows: "w0 0-20, w1 20-40"; or why they cannot be read. */
static const char *found(int64_t first, int64_t end)
{
	static char text[FLEET_TEXT];
	struct holders who = { 0 };
	struct error err;
	size_t len = 0;

	text[0] = 0;
	if (fleet_find(fleet, (struct rows){ first, end }, &who, &err))
		snprintf(text, sizeof(text), "%s", err.msg);
	else
		for (size_t i = 0; i < who.n; i++)
			len += (size_t)snprintf(
				text + len, sizeof(text) - len, "%s%s %d-%d",
				i ? ", " : "", who.at[i].address->host,
				(int)who.at[i].rows.first, (int)who.at[i].rows.end);
	holders_release(&who);
	return text;
}

static void lose(int i)
{
	poll(i, NULL, NULL);
	fleet->remotes[i].unanswered_ms -= conf.takeover_ms;
	poll(i, NULL, NULL);
}

TEST(test_parts)
{
	for (int64_t n = 1; n <= UNITS + 1; n++) {
		int64_t next = 0;

		start();
		for (int64_t i = 0; i < n; i++) {
			struct rows r =
				table_part(&table, (struct rows){ 0, table.rows }, i, n);

			assert_int_equal(r.first, next);
			assert_int_equal(r.first % UNIT, 0);
			next = r.end;
		}
		assert_int_equal(next, table.rows);
		fleet_free(fleet);
	}
	assert_int_equal(table_file_part(&table, 0, 2).end, 4 * UNIT);
	assert_int_equal(table_file_part(&table, 1, 2).end, 6 * UNIT);
}

TEST(test_all_once)
{
	start();
	assert_string_equal(fleet->remotes[2].origin, "http://[::1]:3");
	assert_true(strstr(found(0, 5), "not asked yet"));
	assert_true(poll(0, "waiting", ""));
	assert_false(poll(0, "ready", ""));
	assert_false(poll(1, "ready", ""));
	assert_true(strstr(found(0, 5), "worker [::1]:3"));
	assert_false(fleet_ready(fleet));
	assert_false(poll(2, "loading", ""));
	poll(2, "ready", "");
	assert_true(fleet_ready(fleet));
	assert_string_equal(found(15, 45), "w0 15-20, w1 20-40, ::1 40-45");
	assert_string_equal(found(0, 0), "w0 0-0");
	poll(1, "loading", "");
	assert_true(strstr(found(15, 45), "loading: 0 of 20 rows"));
	assert_string_equal(found(0, 20), "w0 0-20");
	fleet_free(fleet);
}

TEST(test_takeover)
{
	start_ready();
	lose(1);
	assert_true(strstr(found(20, 40), "no route"));
	assert_true(poll(0, "ready", "waiting") || fleet->remotes[1].n_loans == 2);
	poll(0, "ready", "ready");
	poll(2, "ready", "ready");
	assert_string_equal(found(0, 60), "w0 0-20, ::1 20-30, w0 30-40, ::1 40-60");
	poll(1, "ready", "");
	assert_string_equal(found(0, 60), "w0 0-20, w1 20-40, ::1 40-60");
	assert_int_equal(fleet->remotes[1].n_loans, 2); /* old tickets */
	lose(2);
	assert_int_equal(fleet->remotes[1].n_loans, 0); /* whose memory is needed */
	assert_int_equal(fleet->remotes[2].n_loans, 2);
	poll(2, "ready", "");
	fleet->remotes[2].back_ms -= 10 * 1000;
	poll(2, "ready", "");
	assert_int_equal(fleet->remotes[2].n_loans, 0);
	fleet_free(fleet);
}

/* As of a head before this one: the body of "health" of a worker that has its rows. */
static cJSON *ready_before(int i)
{
	cJSON *doc = health(&fleet->remotes[i], "ready", "");

	fleet->remotes[i].assigned = false;
	return doc;
}

/* A head that restarts while a worker is away lends its rows; one that starts does not. */
TEST(test_restarted_head)
{
	char trouble[FLEET_TEXT];
	bool wants;

	start();
	poll(0, "ready", "");
	poll(2, "ready", "");
	lose(1);
	assert_int_equal(fleet->remotes[1].n_loans, 0);
	assert_true(strstr(found(0, 20), "no route"));
	fleet_free(fleet);

	start();
	lose(1);
	for (int i = 0; i < WORKERS; i += 2) {
		cleanup_json cJSON *doc = ready_before(i);

		fleet_poll_begin(&fleet->remotes[i]);
		assert_true(fleet_poll_answer(&fleet->remotes[i], doc, &wants, trouble));
		fleet_poll_end(&fleet->remotes[i], true, "");
	}
	assert_string_equal(found(0, 20), "w0 0-20");
	poll(1, NULL, NULL);
	assert_int_equal(fleet->remotes[1].n_loans, 2);
	poll(0, "ready", "ready");
	poll(2, "ready", "ready");
	assert_true(fleet_ready(fleet));
	fleet_free(fleet);
}

/* A loan that fails is moved; and is tried again for as long as its worker is away. */
TEST(test_failed_loans)
{
	const struct remote *last;

	start_ready();
	lose(1);
	for (int i = 0; i < 20; i++) {
		poll(0, "ready", "failed");
		poll(2, "ready", "failed");
		poll(1, NULL, NULL);
	}
	assert_true(strstr(found(20, 40), "cannot take them over"));
	last = fleet->remotes[1].loans[0].holder;
	for (size_t i = 0; i < fleet->remotes[1].n_loans; i++)
		fleet->remotes[1].loans[i].moved_ms -= FAILED_MS;
	poll(0, "ready", "loading");
	poll(2, "ready", "loading");
	poll(0, "ready", "failed");
	poll(2, "ready", "failed");
	poll(1, NULL, NULL);
	assert_ptr_equal(fleet->remotes[1].loans[0].holder, last); /* for a while */
	for (size_t i = 0; i < fleet->remotes[1].n_loans; i++)
		fleet->remotes[1].loans[i].moved_ms -= FAILED_MS;
	poll(1, NULL, NULL);
	poll(0, "ready", "ready");
	poll(2, "ready", "ready");
	assert_null(strstr(found(20, 40), "cannot"));
	fleet_free(fleet);
}

/* After rows could not be loaded, however long that took, they are assigned again, later. */
TEST(test_failed_rows)
{
	start();
	for (int i = 0; i < 3; i++) {
		assert_false(poll(0, "loading", ""));
		assert_false(poll(0, "failed", ""));
		assert_false(poll(0, "failed", ""));
		fleet->remotes[0].failed_ms -= FAILED_MS;
		assert_true(poll(0, "failed", ""));
	}
	fleet_free(fleet);
}

/* The only worker that is left is told to try again, once each time. */
TEST(test_last_holder)
{
	start_ready();
	lose(1);
	lose(2);
	poll(0, "ready", "waiting");
	assert_false(poll(0, "ready", "failed"));
	poll(1, NULL, NULL);
	poll(2, NULL, NULL);
	assert_true(poll(0, "ready", "failed"));
	poll(0, "ready", "failed");
	assert_false(poll(0, "ready", "failed"));
	assert_true(strstr(found(20, 40), "cannot take them over"));
	fleet_free(fleet);
}

/* Workers without rows of their own, as there are more than row groups. */
TEST(test_without_rows)
{
	table.n_units = 1;
	table.rows = UNIT;
	start_ready();
	for (int i = 0; i < WORKERS; i++) {
		struct rows r = fleet->remotes[i].rows;

		lose(i);
		if (r.first == r.end)
			assert_true(strstr(found(0, UNIT), " 0-10") &&
				    fleet_ready(fleet));
		assert_null(strstr(found(0, 0), "cannot be read"));
		poll(i, "ready", "");
	}
	table.n_units = UNITS;
	table.rows = UNITS * UNIT;
	fleet_free(fleet);
}

/* A claim of other rows, of another table: assigned again, never ready. */
TEST(test_other_rows)
{
	static const char *const keys[] = { "first", "end", "rows", "table" };

	for (size_t k = 0; k < N_ELEMENTS(keys); k++) {
		cleanup_json cJSON *doc = NULL;
		char trouble[FLEET_TEXT];
		bool wants;

		start();
		doc = health(&fleet->remotes[1], "ready", "");
		if (str_eq(keys[k], "table"))
			json_put_str(doc, "another", keys[k]);
		else
			json_put_int(doc, 7, keys[k]);
		fleet_poll_begin(&fleet->remotes[1]);
		assert_false(fleet_poll_answer(&fleet->remotes[1], doc, &wants, trouble));
		assert_true(wants);
		fleet_free(fleet);
	}
}

TEST(test_upstream)
{
	char trouble[FLEET_TEXT];

	start();
	poll(0, "ready", "");
	assert_false(fleet_poll_upstream(&fleet->remotes[2], trouble));
	assert_false(fleet->remotes[0].ready);
	poll(0, "ready", "");
	assert_false(fleet_poll_upstream(&fleet->remotes[2], trouble));
	assert_true(fleet->remotes[0].ready); /* it has whole files already */
	assert_int_equal(fleet->remotes[0].rows.end, fleet->remotes[1].rows.first);
	assert_int_equal(fleet->remotes[2].rows.end, table.rows);
	for (int i = 0; i < WORKERS; i++)
		assert_true(fleet->remotes[i].rows.first == 0 ||
			    fleet->remotes[i].rows.first == 4 * UNIT);
	fleet_free(fleet);
}

#define STATS(state, w0, w1, w2)                                       \
	"{'role':'head','state':'" state                               \
	"','rows':60,'workers':[{'address':'w0:1','first':"            \
	"0,'end':20," w0 "},{'address':'w1:2','first':20,'end':40," w1 \
	"},{'address':'[::1]:3','first':40,'end':60," w2 "}]}"
#define NO  "'ready':false"
#define YES "'ready':true"
#define LENT(one) \
	NO ",'error':'no route','lent':[" one ",{'to':'w0:1','first':30,'end':40,"

static void expect_stats(const char *text)
{
	cleanup_json cJSON *want = parse(text), *have = fleet_describe(fleet);
	cleanup_free char *printed = json_text(have);

	if (!json_equal(have, want))
		fail_msg("have %s\n  want %s", printed, text);
}

TEST(test_describe)
{
	conf.tls_cert = "x";
	start();
	assert_string_equal(fleet->remotes[0].origin, "https://w0:1");
	conf.tls_cert = NULL;
	expect_stats(STATS("loading", NO, NO, NO));
	for (int i = 0; i < WORKERS; i++)
		poll(i, "ready", "");
	expect_stats(STATS("ready", YES, YES, YES));
	lose(1);
	poll(0, "ready", "failed");
	poll(2, "ready", "ready");
	expect_stats(STATS("ready", YES,
			   LENT("{'to':'[::1]:3','first':20,'end':30," YES "}") NO
			   ",'error':'unknown'}]",
			   YES));
	fleet_free(fleet);
}

RUN_TESTS(NULL, NULL)
