/*
 * JSON between head and workers: what "assign" is accepted has rows of the table, and what
 * a worker answers changes nothing but the state of its loans.
 */
#include "base/cleanup.h"
#include "cache/fleet_impl.h"
#include "tests/fuzz/fuzz.h"

/* Its functions that are not public. */
int fuzz_cache_worker_run(const struct cache_conf *conf, struct error *err);
#define cache_worker_run fuzz_cache_worker_run
#define worker_action    fuzz_worker_action
#define worker_read      fuzz_worker_read
#include "cache/worker.c"

static void check_assign(struct iovec body)
{
	cleanup_json cJSON *doc = NULL;
	cleanup_free struct rows *rows = xcalloc(MAX_MORE + 2, sizeof(*rows));
	struct assignment a = { .rows = rows, .n = 1 };
	struct error err = { 0 };

	if (read_assignment(&a, rows, &doc, body, &err)) {
		FUZZ_CHECK(err.kind == ERR_INVALID);
		return;
	}
	FUZZ_CHECK(a.n >= 1 && a.n <= MAX_MORE + 1 && a.total >= 0);
	for (size_t i = 0; i < a.n; i++)
		FUZZ_CHECK(rows[i].first >= 0 && rows[i].first <= rows[i].end &&
			   rows[i].end <= a.total);
}

static void check_answer(struct iovec body)
{
	struct loan loans[] = { { .rows = { 0, 5 } }, { .rows = { 5, 9 } } };
	struct remote remotes[2] = { { .loans = loans, .n_loans = 2 }, { 0 } };
	struct fleet f = { .remotes = remotes, .n_remotes = 2 };
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };

	if (json_parse(&doc, body.iov_base, body.iov_len, &err))
		return;
	remotes[0].fleet = remotes[1].fleet = &f;
	loans[0].holder = loans[1].holder = &remotes[1];
	if (loans_record(&remotes[1], json_get((const cJSON *)doc, "more")))
		FUZZ_CHECK(loans_ready(&remotes[0], (struct rows){ 0, 9 }) ==
			   (loans[0].ready && loans[1].ready && remotes[1].ready));
	FUZZ_CHECK(loans[0].rows.end == 5 && loans[1].holder == &remotes[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct iovec body = { (void *)(uintptr_t)data, size };

	check_assign(body);
	check_answer(body);
	return 0;
}
