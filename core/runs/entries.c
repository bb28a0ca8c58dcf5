/* entries.c - scan the directory of checkpoints (runs/entries.h). */
#include "runs/entries.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "runs/detect.h"
#include "runs/linkcopy.h"
#include "runs/runs_impl.h"

enum { SECOND_US = 1000 * 1000, REMOVED_TIME_MS = 5 * 60 * 1000 };

/* NULL: there are too many. */
static struct entry *entry_of(struct entries *all, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		if (str_eq(all->list[i].name, name))
			return &all->list[i];
	if (all->n == RUNS_ENTRIES)
		return NULL;
	all->list[all->n] = (struct entry){ 0 };
	snprintf(all->list[all->n].name, sizeof(all->list[all->n].name), "%s", name);
	return &all->list[all->n++];
}

static uint32_t attempt_of(struct runs *r, const char *name, uint64_t fingerprint)
{
	uint32_t ret;

	pthread_mutex_lock(&r->lock);
	ret = runs_attempt_of(r, name, fingerprint);
	pthread_mutex_unlock(&r->lock);
	return ret;
}

static bool is_older(const struct entry *a, const struct entry *b)
{
	int64_t x = a->finished ? a->finished : a->newest;
	int64_t y = b->finished ? b->finished : b->newest;

	return x != y ? x < y : a->renamed < b->renamed;
}

/*
 * Set changed_us of the entries that have changed since the last scan, in the order of their
 * files' times, then of their renames: later than all before, even if the clock is set back.
 */
static void set_times(struct entries *all)
{
	struct timespec t;
	int64_t now;

	clock_gettime(CLOCK_REALTIME, &t);
	now = t.tv_sec * SECOND_US + t.tv_nsec / 1000;
	for (;;) {
		struct entry *oldest = NULL;

		for (size_t i = 0; i < all->n; i++)
			if (!all->list[i].changed_us && all->list[i].fingerprint &&
			    (!oldest || is_older(&all->list[i], oldest)))
				oldest = &all->list[i];
		if (!oldest)
			return;
		all->newest = now > all->newest ? now : all->newest + 1;
		oldest->changed_us = all->newest;
	}
}

bool entry_has_shrunk(const struct entry *e, const struct detected *now)
{
	return now->files < e->files && now->newest <= e->newest;
}

static bool shrinks(struct entry *e, uint64_t fingerprint, const struct detected *files)
{
	if (!entry_has_shrunk(e, files))
		return false;
	e->fingerprint = fingerprint;
	e->files = files->files;
	e->changed = clock_ms();
	e->shrunk = true;
	e->uploaded = e->stored;
	return true;
}

static void change(struct entries *all, struct entry *e, uint64_t fingerprint,
		   const struct detected *files, bool resumed)
{
	if (!files->finished || files->finished != e->finished) {
		e->attempt = attempt_of(all->r, e->name, fingerprint);
		e->changed_us = 0;
		e->excluded = !e->attempt || resumed;
	} /* else a file was added, such as a metric: the checkpoint is not newer */
	e->fingerprint = fingerprint;
	e->changed = clock_ms();
	e->newest = files->newest;
	e->finished = files->finished;
	e->files = files->files;
	e->uploaded = e->suspect = e->stored = e->shrunk = false;
}

static void examine(void *ctx, const char *name)
{
	struct entries *all = ctx;
	struct entry *e = entry_of(all, name);
	struct detected files;
	uint64_t fingerprint = detect_fingerprint(all->dir, name, &files);
	bool resumed;

	if (!e)
		return;
	e->single = files.single;
	resumed = str_eq(all->resumed.name, name) &&
		  (!all->resumed.fingerprint || all->resumed.fingerprint == fingerprint);
	e->seen = true;
	e->excluded |= resumed;
	e->unchanged = files.files && (fingerprint == e->fingerprint ||
				       e->renamed > all->renames_before);
	if (fingerprint != e->fingerprint && !shrinks(e, fingerprint, &files))
		change(all, e, fingerprint, &files, resumed);
	e->partial = e->shrunk || files.incomplete;
}

static void read_renames(struct entries *all)
{
	_Alignas(struct inotify_event) char data[4096];

	for (ssize_t n; (n = read(all->notify, data, sizeof(data))) > 0;)
		for (char *p = data; p < data + n;) {
			const struct inotify_event *ev = (const void *)p;
			struct entry *e = ev->len ? entry_of(all, ev->name) : NULL;

			if (e)
				e->renamed = ++all->renames;
			p += sizeof(*ev) + ev->len;
		}
}

void entries_scan(struct entries *all)
{
	if (all->dir < 0)
		return;
	all->renames_before = all->renames;
	read_renames(all);
	resumed_read(&all->resumed, all->r->conf->dir);
	for (size_t i = 0; i < all->n; i++)
		all->list[i].seen = false;
	detect_each(all->dir, examine, all);
	set_times(all);
	for (size_t i = 0; i < all->n;) {
		struct entry *e = &all->list[i];

		e->removed = !e->seen && all->r->conf->rank && !e->single &&
			     !e->uploaded && !e->excluded &&
			     clock_ms() < e->changed + REMOVED_TIME_MS;
		e->unchanged |= e->removed;
		if (e->seen || e->removed)
			i++;
		else
			*e = all->list[--all->n];
	}
}

void entries_exclude_partial(struct entries *all, uint32_t attempt, bool failed,
			     int64_t failed_at)
{
	bool is_first = !all->r->conf->rank;

	for (size_t i = 0; i < all->n; i++) {
		struct entry *e = &all->list[i];
		bool whole = is_first ? detect_whole(all->dir, e->name, e->renamed)
				      : e->renamed || !failed_at ||
						e->changed + UNCHANGED_MS < failed_at;

		if (e->uploaded || (whole && !e->partial) ||
		    (!failed && e->attempt == attempt))
			continue;
		if (is_first)
			e->excluded = true;
		else
			e->suspect = true;
	}
}

void entries_open(struct entries *all, struct runs *r)
{
	const char *dir = r->conf->dir, *name;

	*all = (struct entries){ .r = r };
	all->list = xcalloc(RUNS_ENTRIES, sizeof(*all->list));
	all->dir = all->notify = -1;
	if (!dir)
		return;
	all->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	name = json_str(r->conf->job, "metadata", "name");
	snprintf(all->copy, sizeof(all->copy), ".kftrainer-sending.%.200s.%u",
		 name ? name : "", r->conf->rank);
	linkcopy_remove(dir, all->copy); /* a killed supervisor left it */
	all->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (all->notify >= 0)
		inotify_add_watch(all->notify, dir, IN_MOVED_TO);
}

bool entries_rename_pending(const struct entries *all)
{
	struct pollfd fd = { .fd = all->notify, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}
