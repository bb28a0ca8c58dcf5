/* fetchview.c - draw a download as a bar, lines or JSON (cmd/ui/fetchview.h). */
#include "cmd/ui/fetchview.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "base/terminal.h"
#include "cmd/ui/out.h"

enum { LINE_MS = 5000, JSON_MS = 1000, BAR_WIDTH = 24, N_SPEEDS = 64 };

const char *const fetchview_words[] = { "auto", "bar", "lines", "json", "none", NULL };

void fetchview_begin(struct fetchview *v, enum fetchview_kind kind, const char *what)
{
	*v = (struct fetchview){ .kind = kind,
				 .what = what,
				 .verb = "fetched",
				 .lock = PTHREAD_MUTEX_INITIALIZER };
	if (kind == VIEW_AUTO)
		v->kind = out_terminal(STDERR_FILENO) ? VIEW_BAR : VIEW_LINES;
}

int fetchview_percent(const struct fetch_progress *now)
{
	if (now->files_unsized || !now->bytes)
		return now->files ? (int)(now->files_done * 100 / now->files) : -1;
	if (now->bytes_done >= now->bytes)
		return 100;
	return now->bytes_done < 0 ? 0 : (int)(now->bytes_done * 100 / now->bytes);
}

/* Bytes a second over the last seconds (speeds[]). */
static int64_t speed(const struct fetchview *v, const struct fetch_progress *now)
{
	const struct speed *old =
		&v->speeds[v->n_speeds < N_SPEEDS ? 0 : v->n_speeds % N_SPEEDS];
	int64_t ms = now->ms - old->ms;

	if (!v->n_speeds || ms <= 0)
		return now->ms > 0 ? now->bytes_fetched * 1000 / now->ms : 0;
	return (now->bytes_fetched - old->bytes) * 1000 / ms;
}

int64_t fetchview_seconds_left(const struct fetchview *v,
			       const struct fetch_progress *now)
{
	int64_t rate = speed(v, now), left = now->bytes - now->bytes_done;

	if (now->files_unsized || rate <= 0)
		return -1;
	return left > 0 ? (left + rate - 1) / rate : 0;
}

static void erase(struct fetchview *v)
{
	if (v->drawn)
		fputs("\r\033[K", stderr);
	v->drawn = false;
}

/* "450.0 MiB of 1.0 GiB (45 %), 350.0 MiB/s, 2 s to go, 3 of 10 files" */
static const char *summary(struct arena *a, const struct fetchview *v,
			   const struct fetch_progress *now)
{
	int64_t left = fetchview_seconds_left(v, now);
	int percent = fetchview_percent(now);
	const char *to_go =
		left < 0 ? ""
			 : arena_printf(a, ", %s left", out_duration(a, left * 1000));
	const char *all = now->files_unsized ? ""
					     : arena_printf(a, " of %s (%d %%)",
							    str_size(a, now->bytes),
							    percent < 0 ? 0 : percent);

	return arena_printf(a, "%s%s, %s/s%s, %zu of %zu files",
			    str_size(a, now->bytes_done), all, str_size(a, speed(v, now)),
			    to_go, now->files_done, now->files);
}

static void draw(struct fetchview *v, const struct fetch_progress *now)
{
	cleanup_arena struct arena a = { 0 };
	int percent = fetchview_percent(now), columns = terminal_columns(STDERR_FILENO),
	    full;
	char bar[BAR_WIDTH + 1];

	full = percent < 0 ? 0 : percent * BAR_WIDTH / 100;
	memset(bar, '.', BAR_WIDTH);
	memset(bar, '#', (size_t)full);
	bar[BAR_WIDTH] = 0;
	erase(v);
	fprintf(stderr, "%.*s", (columns ? columns : 80) - 1,
		arena_printf(&a, "[%s] %s", bar, summary(&a, v, now)));
	v->drawn = true;
}

static void print_json(cJSON *take_doc)
{
	cleanup_json cJSON *doc = take_doc;
	cleanup_buf struct buf text = { .max = 64 * 1024 };

	json_print(&text, doc);
	if (!text.overflowed)
		printf("%s\n", text.data);
	fflush(stdout);
}

static cJSON *event(const char *name)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, name, "event");
	return doc;
}

static cJSON *numbers(const struct fetchview *v, const struct fetch_progress *now,
		      const char *name)
{
	cJSON *doc = event(name);
	int64_t left = fetchview_seconds_left(v, now);

	json_put_int(doc, now->files, "files");
	json_put_int(doc, now->files_done, "filesDone");
	json_put_int(doc, now->bytes, "bytes");
	json_put_int(doc, now->bytes_done, "bytesDone");
	json_put_int(doc, now->bytes_fetched, "bytesFetched");
	json_put_int(doc, speed(v, now), "bytesPerSecond");
	if (left >= 0)
		json_put_int(doc, left, "secondsLeft");
	if (fetchview_percent(now) >= 0)
		json_put_int(doc, fetchview_percent(now), "percent");
	json_put_int(doc, now->connections, "connections");
	json_put_int(doc, now->ms, "elapsedMs");
	return doc;
}

static void show(struct fetchview *v, const struct fetch_progress *now)
{
	int64_t every = v->kind == VIEW_JSON ? JSON_MS : LINE_MS;
	cleanup_arena struct arena a = { 0 };

	v->speeds[v->n_speeds++ % N_SPEEDS] =
		(struct speed){ .ms = now->ms, .bytes = now->bytes_fetched };
	if (v->kind == VIEW_BAR)
		draw(v, now);
	if (v->kind == VIEW_BAR || now->ms - v->shown_ms < every)
		return;
	v->shown_ms = now->ms;
	if (v->kind == VIEW_JSON)
		print_json(numbers(v, now, "progress"));
	else if (v->kind == VIEW_LINES)
		fprintf(stderr, "%s\n", summary(&a, v, now));
}

static void say(struct fetchview *v, const char *line)
{
	cleanup_arena struct arena a = { 0 };
	cJSON *doc;

	if (v->kind == VIEW_JSON) {
		doc = event("note");
		json_put_str(doc, line, "text");
		print_json(doc);
		return;
	}
	erase(v);
	fprintf(stderr, "%s\n", str_visible(&a, line, false));
}

static void show_file(struct fetchview *v, enum fetch_event e, const char *path,
		      int64_t bytes)
{
	cleanup_arena struct arena a = { 0 };
	cJSON *doc;

	if (v->kind == VIEW_JSON) {
		doc = event("file");
		json_put_str(doc, path, "path");
		json_put_str(doc, fetch_event_words[e], "state");
		json_put_int(doc, bytes, "bytes");
		print_json(doc);
	} else if (e == FETCH_RESTARTED) {
		say(v, arena_printf(&a,
				    "%s: restarting: the source has changed, or the data "
				    "was damaged",
				    path));
	} else if (e == FETCH_STARTED && bytes > 0) {
		say(v,
		    arena_printf(&a, "%s: resuming after %s", path, str_size(&a, bytes)));
	}
}

void fetchview_tick(void *ctx, const struct fetch_progress *now)
{
	struct fetchview *v = ctx;

	pthread_mutex_lock(&v->lock);
	show(v, now);
	pthread_mutex_unlock(&v->lock);
}

void fetchview_file(void *ctx, enum fetch_event e, const char *path, int64_t bytes)
{
	struct fetchview *v = ctx;

	pthread_mutex_lock(&v->lock);
	show_file(v, e, path, bytes);
	pthread_mutex_unlock(&v->lock);
}

void fetchview_say(void *ctx, const char *line)
{
	struct fetchview *v = ctx;

	pthread_mutex_lock(&v->lock);
	say(v, line);
	pthread_mutex_unlock(&v->lock);
}

void fetchview_end(struct fetchview *v, const struct fetch_progress *now,
		   const struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cJSON *doc;

	erase(v);
	if (v->kind == VIEW_JSON) {
		doc = numbers(v, now, err ? "failed" : "done");
		if (err)
			json_put_str(doc, err->msg, "error");
		print_json(doc);
	} else if (!err && v->kind != VIEW_NONE) {
		fprintf(stderr, "%zu files complete, %s; %s %s in %s\n", now->files,
			str_size(&a, now->bytes), str_size(&a, now->bytes_fetched),
			v->verb, out_duration(&a, now->ms));
	}
}

struct fetch_progress fetchview_upload(const struct upload_progress *now)
{
	return (struct fetch_progress){ .files = now->files,
					.files_done = now->files_done,
					.bytes = now->bytes,
					.bytes_done = now->bytes_done,
					.bytes_fetched = now->bytes_sent,
					.connections = now->connections,
					.ms = now->ms };
}

void fetchview_upload_tick(void *ctx, const struct upload_progress *now)
{
	const struct fetch_progress view = fetchview_upload(now);

	fetchview_tick(ctx, &view);
}
