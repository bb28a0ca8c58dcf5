/* runs.c - logs, events, metrics and the report of a run directory (runs/runs.h). */
#include "runs/runs.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "runs/detect.h"
#include "runs/runs_impl.h"

enum { REPORT_MS = 2 * 60 * 1000, MAX_LINE = 64 * 1024 };

/* ---- what is said ---- */

static void time_field(cJSON *doc, int64_t unix_ms)
{
	char text[TIME_TEXT_SIZE + 8];

	time_text(unix_ms / 1000, text);
	snprintf(text + strlen(text) - 1, 8, ".%03dZ", (int)(unix_ms % 1000));
	json_put_str(doc, text, "time");
}

static int64_t unix_ms_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* As much of a text as there is room for. */
static void put_text(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%.*s", (int)utf8_cut(text, strlen(text), size - 1), text);
}

static void add_line(struct runs *r, bool metrics, const cJSON *doc)
{
	cleanup_buf struct buf line = { .max = MAX_LINE };

	json_print(&line, doc);
	buf_adds(&line, "\n");
	if (line.overflowed)
		return;
	pthread_mutex_lock(&r->lock);
	parts_add(metrics ? &r->running->metrics : &r->running->events, line.data,
		  line.len);
	pthread_mutex_unlock(&r->lock);
}

void runs_event(struct runs *r, const char *type, const char *reason, const char *text)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *doc = cJSON_CreateObject();

	if (r->conf->rank)
		return;
	time_field(doc, unix_ms_now());
	json_put_str(doc, type, "type");
	json_put_str(doc, reason, "reason");
	json_put_str(doc, utf8_clean(&arena, text), "message");
	add_line(r, false, doc);
}

void runs_say(struct runs *r, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->conf->say(r->conf->ctx, text);
}

static void log_recovery(struct runs *r)
{
	int lines;

	pthread_mutex_lock(&r->lock);
	lines = r->lines;
	r->lines = 0;
	r->error[0] = 0;
	pthread_mutex_unlock(&r->lock);
	if (lines > 1)
		runs_say(r, "run directory: it works again");
}

void runs_log_failure(struct runs *r, int64_t *since, const struct error *why)
{
	int64_t now = clock_ms();
	bool is_due, runs;

	if (!why) {
		if (*since)
			log_recovery(r);
		*since = 0;
		return;
	}
	if (why->kind == ERR_STOPPED)
		return;
	if (!*since)
		*since = now;
	pthread_mutex_lock(&r->lock);
	is_due = !r->said || now >= r->said + RUNS_RETRY_MS;
	r->said = is_due ? now : r->said;
	r->lines += is_due;
	put_text(r->error, sizeof(r->error), why->msg);
	runs = r->running->number != 0;
	pthread_mutex_unlock(&r->lock);
	if (is_due)
		runs_say(r, "run directory: %.400s; %s", why->msg,
			 runs ? "the job continues, and the upload is retried"
			      : "it is retried for ten minutes");
}

void runs_log(struct runs *r, const char *text)
{
	cleanup_arena struct arena arena = { 0 };
	const char *line = arena_printf(&arena, "kftrainer supervise: %s\n", text);

	runs_output(r, line, strlen(line));
	runs_event(r, "Warning", "Supervisor", text);
	pthread_mutex_lock(&r->lock);
	if (!r->ended)
		put_text(r->why, sizeof(r->why), text);
	pthread_mutex_unlock(&r->lock);
}

void runs_output(struct runs *r, const void *data, size_t len)
{
	pthread_mutex_lock(&r->lock);
	parts_add(&r->running->log, data, len);
	pthread_mutex_unlock(&r->lock);
}

void runs_report(void *runs, const char *json, size_t len, int64_t unix_ms)
{
	struct runs *r = runs;
	cleanup_json cJSON *doc = cJSON_CreateObject(), *report = NULL;
	cJSON *field;

	if (r->conf->rank || json_parse(&report, json, len, IGNORED))
		return;
	time_field(doc, unix_ms);
	while ((field = report->child)) {
		cJSON_DetachItemViaPointer(report, field);
		if (str_eq(field->string, "lastUpdatedTime"))
			cJSON_Delete(field);
		else
			cJSON_AddItemToObject(doc, field->string, field);
	}
	add_line(r, true, doc);
	pthread_mutex_lock(&r->lock);
	cJSON_Delete(r->progress);
	r->progress = STEAL(doc);
	pthread_mutex_unlock(&r->lock);
}

/* ---- attempts ---- */

static void add_attempt(struct runs *r, uint32_t number)
{
	struct attempt *a = xcalloc(1, sizeof(*a));

	a->number = number;
	parts_init(&a->log, r->stem, ".log.zst", true);
	parts_init(&a->events, "events", ".jsonl", false);
	parts_init(&a->metrics, "metrics", ".jsonl", false);
	if (r->running)
		r->running->next = a;
	else
		r->attempts = a;
	r->running = a;
}

static void free_attempt(struct attempt *a)
{
	parts_release(&a->log);
	parts_release(&a->events);
	parts_release(&a->metrics);
	free(a);
}

uint32_t runs_attempt_of(const struct runs *r, const char *name, uint64_t fingerprint)
{
	for (size_t i = 0; i < r->n_seen; i++)
		if (r->seen[i].fingerprint == fingerprint &&
		    str_eq(r->seen[i].name, name))
			return r->seen[i].attempt;
	return r->running->number;
}

struct memory {
	const struct runs *r;
	int dir;
	struct seen *list;
	size_t n;
};

static void remember(void *ctx, const char *name)
{
	struct memory *m = ctx;
	struct seen *s = &m->list[m->n];
	struct detected files;

	if (m->n == RUNS_ENTRIES)
		return;
	m->n++;
	s->fingerprint = detect_fingerprint(m->dir, name, &files);
	s->attempt = runs_attempt_of(m->r, name, s->fingerprint);
	snprintf(s->name, sizeof(s->name), "%s", name);
}

void runs_remember(struct runs *r)
{
	struct memory m = { .r = r, .list = xcalloc(RUNS_ENTRIES, sizeof(*m.list)) };
	struct seen *before;

	m.dir = r->conf->dir ? open(r->conf->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			     : -1;
	if (m.dir >= 0) {
		detect_each(m.dir, remember, &m);
		close(m.dir);
	}
	pthread_mutex_lock(&r->lock);
	before = r->seen;
	r->seen = m.list;
	r->n_seen = m.n;
	pthread_mutex_unlock(&r->lock);
	free(before);
}

uint32_t runs_attempt(struct runs *r)
{
	uint32_t number;

	pthread_mutex_lock(&r->lock); /* both threads read it */
	number = r->next_attempt++;
	pthread_mutex_unlock(&r->lock);
	return number;
}

void runs_begin(struct runs *r, uint32_t attempt, int64_t restart)
{
	char text[80];

	runs_remember(r);
	pthread_mutex_lock(&r->lock);
	if (r->running->number)
		add_attempt(r, attempt);
	else
		r->running->number = attempt;
	r->acked = 0; /* syncs are answered within an attempt */
	r->restarts = restart;
	r->started = clock_now();
	r->ended = 0;
	r->status = -1;
	r->state = "Running";
	r->why[0] = 0;
	r->news = true;
	r->report_now = !r->conf->rank;
	r->failed = false;
	pthread_mutex_unlock(&r->lock);
	snprintf(text, sizeof(text), "attempt %u", attempt);
	runs_event(r, "Normal", "Started", text);
	runs_wake(r);
}

void runs_ended(struct runs *r, int status)
{
	char text[80];

	snprintf(text, sizeof(text), "the command ended with status %d", status);
	pthread_mutex_lock(&r->lock);
	r->failed = status != 0;
	r->failed_at = str_eq(r->state, "Stopped") ? 0 : clock_ms();
	pthread_mutex_unlock(&r->lock);
	runs_event(r, status ? "Warning" : "Normal", "Ended", text);
	runs_wake(r);
}

/* ---- the thread of texts ---- */

static uint32_t locked(struct runs *r, const uint32_t *from)
{
	uint32_t n;

	pthread_mutex_lock(&r->lock);
	n = *from;
	pthread_mutex_unlock(&r->lock);
	return n;
}

static int send_attempt(struct runs *r, struct attempt *a, struct error *err)
{
	char dir[40];
	uint32_t number = locked(r, &a->number);

	if (!number)
		return 0;
	snprintf(dir, sizeof(dir), "attempts/%u", number);
	return parts_send(&a->log, &r->rundir, dir, err) ||
			       parts_send(&a->events, &r->rundir, dir, err) ||
			       parts_send(&a->metrics, &r->rundir, dir, err)
		       ? -1
		       : 0;
}

static bool is_sent(struct attempt *a)
{
	return parts_is_sent(&a->log) && parts_is_sent(&a->events) &&
	       parts_is_sent(&a->metrics);
}

void runs_log_dropped(struct runs *r, struct attempt *a)
{
	int64_t bytes = parts_take_dropped(&a->log) + parts_take_dropped(&a->events) +
			parts_take_dropped(&a->metrics);

	if (bytes)
		runs_say(
			r,
			"run directory: %lld bytes of the logs of attempt %u are missing: "
			"more than %d MiB waited for their upload",
			(long long)bytes, a->number, PARTS_MAX_PENDING >> 20);
}

/* Only this thread removes attempts; others add at the end. */
static int send_texts(struct runs *r, struct error *err)
{
	for (struct attempt *a = r->attempts, *next; a; a = next) {
		if (send_attempt(r, a, err))
			return -1;
		runs_log_dropped(r, a);
		pthread_mutex_lock(&r->lock);
		next = a->next;
		if (next && is_sent(a)) {
			r->attempts = next;
			free_attempt(a);
		}
		pthread_mutex_unlock(&r->lock);
	}
	return 0;
}

static bool all_sent(struct runs *r)
{
	bool sent;

	pthread_mutex_lock(&r->lock);
	sent = !r->attempts->next && (!r->attempts->number || is_sent(r->attempts)) &&
	       !r->news;
	pthread_mutex_unlock(&r->lock);
	return sent;
}

static int send_report_if_due(struct runs *r, int64_t *due, struct error *err)
{
	bool news;

	pthread_mutex_lock(&r->lock);
	news = r->news || clock_ms() >= *due;
	r->news = false;
	pthread_mutex_unlock(&r->lock);
	if (r->conf->rank || !news)
		return 0;
	*due = clock_ms() + REPORT_MS;
	if (!runs_send_report(r, err))
		return 0;
	pthread_mutex_lock(&r->lock);
	r->news = true;
	pthread_mutex_unlock(&r->lock);
	return -1;
}

/* Until the next time, or all is to be sent, or the report that the run has begun. */
static bool wait_for_texts(struct runs *r, int64_t until)
{
	bool over;

	pthread_mutex_lock(&r->lock);
	while (!r->flush && !r->over && !r->report_now &&
	       cond_wait_until(&r->changed, &r->lock, until))
		;
	r->report_now = false;
	if (r->flush && clock_ms() < until)
		cond_wait_until(&r->changed, &r->lock, clock_ms() + 200);
	over = r->over;
	pthread_mutex_unlock(&r->lock);
	return !over;
}

static void *upload_texts(void *runs)
{
	struct runs *r = runs;
	int64_t due = 0, since = 0;

	while (wait_for_texts(r, clock_ms() + RUNS_TEXT_MS)) {
		struct error err = { 0 };
		bool failed = send_texts(r, &err) || send_report_if_due(r, &due, &err);

		runs_log_failure(r, &since, failed ? &err : NULL);
		pthread_mutex_lock(&r->lock);
		r->text_done =
			r->flush && (!failed || clock_ms() > since + RUNS_GIVE_UP_MS);
		pthread_mutex_unlock(&r->lock);
		if (failed)
			clock_sleep_ms(1000);
		runs_wake(r);
	}
	if (!all_sent(r) && !send_texts(r, IGNORED))
		send_report_if_due(r, &due, IGNORED);
	pthread_mutex_lock(&r->lock);
	r->text_ended = true;
	pthread_mutex_unlock(&r->lock);
	runs_wake(r);
	return NULL;
}

/* ---- begin and end ---- */

void runs_wake(struct runs *r)
{
	pthread_cond_broadcast(&r->changed);
	eventfd_write(r->fd, 1);
}

int runs_open(struct runs **ret, const struct runs_conf *conf, struct error *err)
{
	struct runs *r = xcalloc(1, sizeof(*r));

	*ret = NULL; /* r is never freed: it ends with the process */
	r->conf = conf;
	r->status = -1;
	r->state = "Running";
	r->supervision.max = MAX_LINE;
	r->last.attempt = -1;
	pthread_mutex_init(&r->lock, NULL);
	cond_init(&r->changed);
	snprintf(r->stem, sizeof(r->stem), "logs/%u", conf->rank);
	r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	add_attempt(r, 0);
	if (conf->dir) /* the command finds it, or says what is wrong with it */
		(void)!dir_make(conf->dir, 0777, IGNORED);
	if (rundir_open(&r->rundir, conf->uri, conf->env, conf->env_ctx, err))
		return error_wrap(err, "run directory");
	if (conf->ranks > 1 && runs_has_succeeded(&r->rundir, conf->job))
		return 0;
	entries_open(&r->opened, r); /* from now on renames are reported */
	if ((!conf->rank && runs_claim(r, err)) ||
	    thread_start(&r->text, upload_texts, r, err) ||
	    thread_start(&r->uploader, runs_uploader, r, err))
		return error_wrap(err, "run directory");
	*ret = r;
	return 0;
}

int runs_fd(const struct runs *r)
{
	return r->fd;
}

static void set(struct runs *r, uint32_t *to, uint32_t n)
{
	bool is_new;

	pthread_mutex_lock(&r->lock);
	is_new = *to != n;
	*to = n;
	pthread_mutex_unlock(&r->lock);
	if (is_new)
		pthread_cond_broadcast(&r->changed);
}

uint32_t runs_sync(struct runs *r)
{
	return locked(r, &r->sync);
}

void runs_sync_received(struct runs *r, uint32_t sync)
{
	set(r, &r->sync_received, sync);
}

uint32_t runs_sync_acked(struct runs *r)
{
	return locked(r, &r->acked);
}

void runs_sync_acked_by_all(struct runs *r, uint32_t sync)
{
	set(r, &r->acked_by_all, sync);
}

void runs_count(struct runs *r, const void *supervision, size_t len)
{
	pthread_mutex_lock(&r->lock);
	buf_clear(&r->supervision);
	buf_add(&r->supervision, supervision, len);
	pthread_mutex_unlock(&r->lock);
}

void runs_flush(struct runs *r)
{
	pthread_mutex_lock(&r->lock);
	r->flush = true;
	r->text_done = r->uploads_done = false;
	pthread_mutex_unlock(&r->lock);
	runs_wake(r);
}

void runs_unflush(struct runs *r)
{
	pthread_mutex_lock(&r->lock);
	r->flush = r->text_done = r->uploads_done = false;
	if (r->acked == RUNS_ALL_SENT)
		r->acked = r->sync_received; /* more may come after all */
	pthread_mutex_unlock(&r->lock);
}

bool runs_is_flushed(struct runs *r)
{
	bool done;

	pthread_mutex_lock(&r->lock);
	done = r->text_done && r->uploads_done;
	pthread_mutex_unlock(&r->lock);
	return done;
}

void runs_alone(struct runs *r)
{
	pthread_mutex_lock(&r->lock);
	r->alone = true;
	pthread_mutex_unlock(&r->lock);
	pthread_cond_broadcast(&r->changed);
}

void runs_end(struct runs *r, int status, bool stopped)
{
	pthread_mutex_lock(&r->lock);
	if (!r->ended)
		r->ended = clock_now();
	r->status = status;
	r->state = stopped ? "Stopped" : status ? "Failed" : "Succeeded";
	if (!r->why[0] && status)
		snprintf(r->why, sizeof(r->why), "the command ended with status %d",
			 status);
	r->news = true;
	pthread_mutex_unlock(&r->lock);
}

bool runs_unsent(struct runs *r, char *text, size_t size)
{
	bool texts = !all_sent(r);

	pthread_mutex_lock(&r->lock);
	texts = texts && (r->error[0] || !r->text_done); /* else they are on their way */
	snprintf(text, size, "run directory: not uploaded: %s%s%s: %s", r->due,
		 r->due[0] && texts ? ", " : "", texts ? "the end of its log" : "",
		 r->error[0] ? r->error : "there was no more time");
	texts |= r->due[0] != 0;
	pthread_mutex_unlock(&r->lock);
	return texts;
}

void runs_close(struct runs *r, int status, bool stopped, int64_t wait_ms)
{
	int64_t until = clock_ms() + wait_ms;

	runs_end(r, status, stopped);
	pthread_mutex_lock(&r->lock);
	r->over = true;
	pthread_mutex_unlock(&r->lock);
	runs_wake(r);
	pthread_mutex_lock(&r->lock);
	while (!r->text_ended && cond_wait_until(&r->changed, &r->lock, until))
		;
	pthread_mutex_unlock(&r->lock);
}
