/* workspace_view.c - report the packing, show the upload (cmd/ui/workspace_view.h). */
#include "cmd/ui/workspace_view.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/ui/env.h"
#include "cmd/ui/fetchview.h"
#include "store/store.h"
#include "store/upload.h"

static void tell_left(struct workspace_pack *s, const struct pack_left *left,
		      const char *why)
{
	int64_t shown = left->n < PACK_LEFT ? left->n : PACK_LEFT;

	if (!left->n)
		return;
	fprintf(stderr, "excluded %s:", why);
	for (int64_t i = 0; i < shown; i++)
		fprintf(stderr, "%s %s", i ? "," : "",
			str_visible(&s->arena, left->paths[i], false));
	if (left->n > shown)
		fprintf(stderr, " and %lld more", (long long)(left->n - shown));
	fprintf(stderr, "\n");
}

void workspace_pack_report(struct workspace_pack *s)
{
	static const char *const why[EXCLUDE_REASONS] = {
		[EXCLUDE_KEY] = "by name (--include PATH adds one)",
		[EXCLUDE_OWN] = "by " PACK_IGNORE_FILE,
		[EXCLUDE_ENV] = "environments and caches (--include PATH adds one)",
		[EXCLUDE_GIT] = "by .gitignore",
	};

	if (!s->annotations.digest || !s->summary.entries)
		return;
	fprintf(stderr, "workspace %s: %lld files and directories, %s; packed %s\n",
		str_visible(&s->arena, s->dir, false), (long long)s->summary.entries,
		str_size(&s->arena, s->summary.bytes),
		str_size(&s->arena, s->summary.size));
	for (int i = EXCLUDE_KEY; i < EXCLUDE_REASONS; i++)
		tell_left(s, &s->summary.left[i], why[i]);
}

/* Upload a directory with only the archive, linked under its final name. */
static int upload(struct workspace_pack *s, struct upload_conf *conf,
		  struct upload_progress *now, struct error *err)
{
	const char *folder = path_join(&s->arena, s->folder, "upload");
	const char *file = path_join(&s->arena, s->folder, WORKSPACE_FILE);

	if (mkdir(folder, 0700) || link(file, path_join(&s->arena, folder, s->name)))
		return error_errno(err, errno, "%s", folder);
	return upload_run(conf, folder, now, err);
}

int workspace_pack_upload(struct workspace_pack *s, bool quiet, struct error *err)
{
	const struct store_conf place = { .uri = s->to, .env = env_variable };
	const struct http_conf http = { .user_agent = "kftrainer/" VERSION };
	struct fetchview view;
	struct upload_conf conf = { .uri = s->to,
				    .env = env_variable,
				    .tick = fetchview_upload_tick,
				    .say = fetchview_say,
				    .ctx = &view };
	struct upload_progress now = { 0 };
	struct fetch_progress last;
	int rc;

	if (!quiet)
		workspace_pack_report(s);
	if (!s->annotations.uri)
		return 0;
	if (store_http_new(&conf.http, &place, &http, err))
		return -1;
	fetchview_begin(&view, quiet ? VIEW_NONE : VIEW_AUTO, "workspace");
	view.verb = "sent";
	rc = upload(s, &conf, &now, err);
	last = fetchview_upload(&now);
	fetchview_end(&view, &last, rc ? err : NULL);
	http_client_free(conf.http);
	return rc ? error_wrap(err, "--workspace-to") : 0;
}
