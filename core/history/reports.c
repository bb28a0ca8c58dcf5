/* reports.c - the reports in a run directory (history/history.h). */
#include "base/cleanup.h"
#include "history/history_impl.h"
#include "local/state_metrics.h"
#include "net/uri.h"

enum {
	MAX_PART = 16 << 20, /* bytes: its writer has at most 9 MiB in one */
	MAX_PARTS = 1 << 30, /* of all: the run may be a stranger's */
};

static int read_parts(struct rundir *p, const struct store_listing *list,
		      void (*each)(void *ctx, const cJSON *report), void *ctx,
		      struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	size_t n, left = MAX_PARTS;
	struct history_part *parts = history_listed(&a, list, "metrics", &n);

	for (size_t i = 0; i < n; i++) {
		cleanup_buf struct buf text = { .max = left < MAX_PART ? left
								       : MAX_PART };
		const char *name = arena_printf(&a, "attempts/%s", parts[i].path);

		if (rundir_get(p, name, &text, err))
			return -1;
		left -= text.len;
		if (text.len)
			state_metrics_lines((const char *)text.data, text.len, each, ctx);
	}
	return 0;
}

static int read_reports(struct rundir *p, void (*each)(void *ctx, const cJSON *report),
			void *ctx, struct error *err)
{
	struct store_listing list = { 0 };
	int rc;

	if (p->scheme->local_open)
		return error_set(err, ERR_UNSUPPORTED,
				 "%s can be read where the job runs alone",
				 uri_shown(&p->arena, p->uri));
	rc = rundir_list(p, "attempts", ".jsonl", &list, err) ||
			     read_parts(p, &list, each, ctx, err)
		     ? -1
		     : 0;
	store_listing_release(&list);
	return rc;
}

int history_reports(const struct history_conf *conf,
		    void (*each)(void *ctx, const cJSON *report), void *ctx,
		    struct error *err)
{
	struct rundir p = { 0 };
	int rc = rundir_open(&p, conf->uri, conf->env, conf->ctx, err) ||
				 read_reports(&p, each, ctx, err)
			 ? -1
			 : 0;

	rundir_close(&p);
	return rc;
}
