/* backfill.c - read the reports of jobs from before this process (ui/backfill.h). */
#include "ui/backfill.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "trainer/progress.h"
#include "ui/board.h"
#include "ui/series.h"
#include "ui/ui.h"

/* A store that does not answer has a thread for minutes. */
enum { THREADS = 4, WAIT_MS = 60000, PAST_BYTES = 2 << 20 };

struct backfill {
	const struct ui_conf *conf;
	struct board *board;
	pthread_t threads[THREADS];
	size_t n;
};

static void on_report(void *ctx, const cJSON *report)
{
	struct series_set *points = ctx;
	cleanup_json cJSON *job = cJSON_CreateObject();

	progress_put_line(job, report);
	if (progress_updated_ms(job) >= 0)
		series_add(points, job, progress_updated_ms(job), 0, true);
	if (points->bytes > PAST_BYTES)
		series_thin(points, 0);
}

static void *backfill_main(void *ctx)
{
	const struct backfill *p = ctx;
	uint64_t seen_changes = 0;

	do {
		cleanup_arena struct arena a = { 0 };
		struct series_set points = { 0 };
		const char *key, *run_dir;
		struct error why = { 0 };

		while (board_next_backfill(p->board, &a, &key, &run_dir)) {
			(void)!p->conf->history(p->conf->ctx, run_dir, on_report, &points,
						&why);
			board_put_backfill(p->board, key, run_dir, &points, &why);
			series_release(&points);
			why = (struct error){ 0 };
		}
	} while (board_wait(p->board, &seen_changes, WAIT_MS));
	return NULL;
}

int backfill_start(struct backfill **ret, const struct ui_conf *conf, struct board *b,
		   struct error *err)
{
	struct backfill *p = *ret = xcalloc(1, sizeof(*p));
	int rc = 0;

	p->conf = conf;
	p->board = b;
	while (conf->history && !rc && p->n < THREADS) {
		rc = thread_start(&p->threads[p->n], backfill_main, p, err);
		p->n += !rc;
	}
	return rc;
}

void backfill_free(struct backfill *p)
{
	while (p && p->n)
		pthread_join(p->threads[--p->n], NULL);
	free(p);
}
