/* entries.c - what is in a directory of checkpoints (runs/entries.h). */
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
#include "runs/held.h"
#include "runs/recognize.h"
#include "runs/runs_impl.h"

enum { SECOND_US = 1000 * 1000, GONE_MS = 5 * 60 * 1000 };

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

static uint32_t attempt_of(struct runs *r, const char *name, uint64_t stamp)
{
	uint32_t ret;

	pthread_mutex_lock(&r->lock);
	ret = runs_attempt_of(r, name, stamp);
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
 * Give a time to each that has changed since the last scan: after all before, also if the
 * clock is set back, in the order of their files' times, then of their renames.
 */
static void date(struct entries *all)
{
	struct timespec t;
	int64_t now;

	clock_gettime(CLOCK_REALTIME, &t);
	now = t.tv_sec * SECOND_US + t.tv_nsec / 1000;
	for (;;) {
		struct entry *oldest = NULL;

		for (size_t i = 0; i < all->n; i++)
			if (!all->list[i].changed_us && all->list[i].stamp &&
			    (!oldest || is_older(&all->list[i], oldest)))
				oldest = &all->list[i];
		if (!oldest)
			return;
		all->newest = now > all->newest ? now : all->newest + 1;
		oldest->changed_us = all->newest;
	}
}

bool entries_is_less(const struct entry *e, const struct recognized *now)
{
	return now->files < e->files && now->newest <= e->newest;
}

static bool shrinks(struct entry *e, uint64_t stamp, const struct recognized *files)
{
	if (!entries_is_less(e, files))
		return false;
	e->stamp = stamp;
	e->files = files->files;
	e->changed = clock_ms();
	e->shrunk = true;
	e->sent = e->kept;
	return true;
}

static void change(struct entries *all, struct entry *e, uint64_t stamp,
		   const struct recognized *files, bool resumed)
{
	if (!files->finished || files->finished != e->finished) {
		e->attempt = attempt_of(all->r, e->name, stamp);
		e->changed_us = 0;
		e->old = !e->attempt || resumed;
	} /* else something was added to it, such as how good it is: that makes it no newer */
	e->stamp = stamp;
	e->changed = clock_ms();
	e->newest = files->newest;
	e->finished = files->finished;
	e->files = files->files;
	e->sent = e->torn = e->kept = e->shrunk = false;
}

static void examine(void *ctx, const char *name)
{
	struct entries *all = ctx;
	struct entry *e = entry_of(all, name);
	struct recognized files;
	uint64_t stamp = recognize_stamp(all->dir, name, &files);
	bool resumed;

	if (!e)
		return;
	e->single = files.single;
	resumed = str_eq(all->resumed.name, name) &&
		  (!all->resumed.stamp || all->resumed.stamp == stamp);
	e->seen = true;
	e->old |= resumed;
	e->quiet = files.files && (stamp == e->stamp || e->renamed > all->heard);
	if (stamp != e->stamp && !shrinks(e, stamp, &files))
		change(all, e, stamp, &files, resumed);
	e->half = e->shrunk || files.incomplete;
}

static void hear_renames(struct entries *all)
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
	all->heard = all->renames;
	hear_renames(all);
	resumed_read(&all->resumed, all->r->conf->dir);
	for (size_t i = 0; i < all->n; i++)
		all->list[i].seen = false;
	recognize_each(all->dir, examine, all);
	date(all);
	for (size_t i = 0; i < all->n;) {
		struct entry *e = &all->list[i];

		e->gone = !e->seen && all->r->conf->rank && !e->single && !e->sent &&
			  !e->old && clock_ms() < e->changed + GONE_MS;
		e->quiet |= e->gone;
		if (e->seen || e->gone)
			i++;
		else
			*e = all->list[--all->n];
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
	snprintf(all->held, sizeof(all->held), ".kftrainer-sending.%.200s.%u",
		 name ? name : "", r->conf->rank);
	held_remove(dir, all->held); /* of a supervisor that was killed */
	all->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (all->notify >= 0)
		inotify_add_watch(all->notify, dir, IN_MOVED_TO);
}

bool entries_heard(const struct entries *all)
{
	struct pollfd fd = { .fd = all->notify, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}
