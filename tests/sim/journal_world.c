/*
 * journal_world.c - the objects of `controller --local` on a disk, and crashes.
 *
 * The program's own code runs: storage and journal, with threads that write, read and
 * watch at the same time (threads.h), on a disk that forgets what was not synced and
 * fails (disk.h). Each object has one writer, whose n-th write is a deletion or the
 * number n; a reader and a watch see some. The process is killed, or the machine loses
 * its power, and the storage is opened again.
 */
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "apiserver/exchange.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "tests/sim/disk.h"
#include "tests/sim/threads.h"

enum {
	KEYS = 4,
	SLOW = 400,  /* times as long, so that watches get bookmarks */
	WRITES = 40, /* of a key in one life of the process, at most */
	LIVES = 4,
	LARGE = 100 * 1000, /* bytes of an object that make a log be rewritten */
};

struct world;

struct key {
	struct world *w;
	char name[60];
	int64_t tried, acked; /* numbers of writes; acked: answered, or seen by others */
};

struct world {
	struct sim *sim;
	struct process *server;
	struct storage *storage;
	struct key keys[KEYS];
	int64_t version; /* the highest that anybody was told */
	int large;       /* % of the objects */
	int lives, fail;
	int64_t slow;
};

static bool deletes(int64_t n)
{
	return n % 4 == 0;
}

/* A read that began when `least` was acknowledged. */
static void saw(struct key *k, const struct stored *found, int64_t least)
{
	cleanup_json cJSON *obj = stored_read(found);
	int64_t n = json_int(obj, 0, "data", "n");

	if (n < least || n > k->tried)
		sim_broken(k->w->sim, "%s is %lld; %lld to %lld were written", k->name,
			   (long long)n, (long long)least, (long long)k->tried);
	if (disk_failed()) /* what is read then may be lost */
		return;
	k->acked = n > k->acked ? n : k->acked;
	k->w->version = found->version > k->w->version ? found->version : k->w->version;
}

/* ---- threads of the process ---- */

static int write_one(struct key *k, int64_t n, struct error *err)
{
	struct world *w = k->w;
	cleanup_stored struct stored *before = storage_get(w->storage, k->name);
	cleanup_json cJSON *obj = NULL;
	cleanup_free char *pad = NULL;
	int rc;

	if (deletes(n) &&
	    !before) /* once the disk has failed, what is read may be lost */
		return disk_failed() ? error_set(err, ERR_IO, "perhaps absent") : 0;
	if (deletes(n))
		return storage_delete(w->storage, before, err);
	obj = meta_new("v1", "ConfigMap", "default", strrchr(k->name, '/') + 1);
	json_put_int(obj, n, "data", "n");
	if (sim_dice(w->sim, 100) >= 100 - w->large) {
		pad = xcalloc(1, LARGE + 1);
		memset(pad, 'x', LARGE);
		json_put_str(obj, pad, "data", "pad");
	}
	rc = storage_put(w->storage, resource_find("v1", "configmaps"), k->name, before,
			 obj, err);
	if (!rc && (int64_t)meta_version_number(obj) > w->version)
		w->version = (int64_t)meta_version_number(obj);
	return rc;
}

static void *keep_writing(void *ctx)
{
	struct key *k = ctx;

	for (int i = 0; i < WRITES; i++) {
		int64_t n = ++k->tried;
		struct error err = { 0 };

		if (!write_one(k, n, &err)) {
			k->acked = n;
			sim_note(k->w->sim, "%s is %lld", k->name, (long long)n);
		} else if (err.kind != ERR_IO || !disk_failed()) {
			sim_broken(k->w->sim, "%s: %s", k->name, err.msg);
		}
		thread_pause(sim_dice(k->w->sim, 60) * k->w->slow);
	}
	return NULL;
}

/* A list has nothing that a crash may lose either. */
static void read_all(struct world *w)
{
	cleanup_stored_list struct stored_list all = { 0 };
	int64_t least[KEYS];

	for (int i = 0; i < KEYS; i++)
		least[i] = w->keys[i].acked;
	storage_list(w->storage, "configmaps/", &all);
	for (size_t i = 0; i < all.n; i++) {
		int k = strrchr(all.list[i]->key, '/')[1] - '0';

		saw(&w->keys[k], all.list[i], least[k]);
	}
	if (all.n > KEYS)
		sim_broken(w->sim, "a list of %zu", all.n);
}

static void *keep_reading(void *ctx)
{
	struct world *w = ctx;

	for (;;) {
		if (sim_dice(w->sim, 4) == 3) {
			read_all(w);
			thread_pause((1 + sim_dice(w->sim, 100)) * w->slow);
			continue;
		}
		struct key *k = &w->keys[sim_dice(w->sim, KEYS)];
		int64_t least = k->acked;
		cleanup_stored struct stored *found = storage_get(w->storage, k->name);

		if (found)
			saw(k, found, least);
		thread_pause((1 + sim_dice(w->sim, 100)) * w->slow);
	}
	return NULL;
}

/* A client of the API that watches. */
struct client {
	struct httpd_stream stream;
	struct world *w;
	int64_t version; /* that it was told last */
};

static bool listens(struct httpd_stream *s)
{
	return true;
}

/* Each change once, in order; a bookmark has the version of the last one. */
static void on_event(struct client *c, const char *line, size_t len)
{
	cleanup_json cJSON *event = NULL;
	const char *type;
	int64_t version;

	if (json_parse(&event, line, len, IGNORED))
		abort();
	type = json_str(event, "type");
	version = (int64_t)meta_version_number(json_get(event, "object"));
	if (version != c->version + !str_eq(type, "BOOKMARK"))
		sim_broken(c->w->sim, "the watch goes from %lld to %lld, %s",
			   (long long)c->version, (long long)version, type);
	c->version = version;
	c->w->version = version > c->w->version ? version : c->w->version;
}

static int on_events(struct httpd_stream *s, const void *data, size_t len)
{
	const char *p = data, *end = p + len, *newline;

	for (; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1)
		on_event((struct client *)s, p, (size_t)(newline - p));
	return 0;
}

static void *keep_watching(void *ctx)
{
	static const struct httpd_header headers[] = { { NULL, NULL } };
	struct world *w = ctx;
	struct apiserver api = { .storage = w->storage };
	struct client client = { { on_events, listens }, w, storage_version(w->storage) };
	struct httpd_response resp = { .body.max = 65536 };
	char query[120];
	const struct httpd_request req = { "GET", "/api/v1/namespaces/default/configmaps",
					   query, .peer = "", .headers = headers };

	snprintf(query, sizeof(query),
		 "watch=1&allowWatchBookmarks=1&timeoutSeconds=1000000&resourceVersion="
		 "%lld",
		 (long long)client.version);
	apiserver_handle(&api, &req, &resp);
	resp.stream(resp.stream_ctx, &client.stream);
	sim_broken(w->sim, "the watch ends");
	return NULL;
}

static void run(void *ctx)
{
	struct world *w = ctx;
	pthread_t id;

	for (int i = 0; i < KEYS; i++)
		if (thread_start(&id, keep_writing, &w->keys[i], IGNORED))
			abort();
	if (thread_start(&id, keep_watching, w, IGNORED))
		abort();
	keep_reading(w);
}

/* ---- what is there after a crash ---- */

static bool may_be_absent(const struct key *k)
{
	for (int64_t n = k->acked; n <= k->tried; n++)
		if (deletes(n))
			return true;
	return false;
}

/* Nothing acknowledged is lost, nothing is half there, no version is given twice. */
static void check(struct world *w)
{
	bool some = false;

	for (int i = 0; i < KEYS; i++) {
		struct key *k = &w->keys[i];
		cleanup_stored struct stored *found = storage_get(w->storage, k->name);

		some |= found != NULL;
		if (found)
			saw(k, found, k->acked);
		else if (!may_be_absent(k))
			sim_broken(w->sim, "%s is lost", k->name);
		/* What was under way has happened or not, from now on. */
		k->tried = k->tried + 4 - k->tried % 4;
		if (!found)
			k->acked = k->tried;
	}
	if (some != storage_has_namespaced(w->storage, "default"))
		sim_broken(w->sim, "is there an object? %d", some);
	if (storage_version(w->storage) < w->version)
		sim_broken(w->sim, "version %lld is given again",
			   (long long)storage_version(w->storage));
}

static void start(struct world *w)
{
	const struct storage_conf conf = { .dir = DISK_DIR, .max_events = 32 };
	struct error err = { 0 };

	disk_fail(0);
	if (storage_open(&w->storage, &conf, &err)) {
		sim_broken(w->sim, "the log cannot be read: %s", err.msg);
		return;
	}
	check(w);
	disk_fail(w->fail);
}

/* What was on disk is damaged: it is refused by name, and not read in part. */
static void rot(struct world *w)
{
	const struct storage_conf conf = { .dir = DISK_DIR, .max_events = 32 };
	struct error err = { 0 };

	disk_fail(0);
	if (disk_rot() &&
	    (!storage_open(&w->storage, &conf, &err) || !strstr(err.msg, "/objects:")))
		sim_broken(w->sim, "a damaged log is read: %s", err.msg);
}

static void crash(void *ctx)
{
	struct world *w = ctx;
	bool power = sim_dice(w->sim, 3) > 0;

	sim_note(w->sim, power ? "the power fails" : "the process is killed");
	process_kill(w->server);
	disk_crash(power);
	w->lives--;
	start(w);
	if (sim_is_broken(w->sim) || !w->lives)
		return;
	w->server = process_start(w->sim, run, w);
	sim_after(w->sim, sim_dice(w->sim, 1500) * w->slow, crash, w);
}

static void journal_world(struct sim *sim)
{
	static const int fail[] = { 0, 0, 3, 30 }, large[] = { 0, 0, 0, 60 };
	static const int preempted[] = { 0, 3, 30 };
	struct world w = { .sim = sim };

	w.lives = 1 + (int)sim_dice(sim, LIVES);
	w.large = large[sim_dice(sim, N_ELEMENTS(large))];
	w.fail = fail[sim_dice(sim, N_ELEMENTS(fail))];
	w.slow = sim_dice(sim, 8) == 7 ? SLOW : 1;
	thread_preempt(preempted[sim_dice(sim, N_ELEMENTS(preempted))]);
	disk_start(sim);
	for (int i = 0; i < KEYS; i++) {
		w.keys[i].w = &w;
		snprintf(w.keys[i].name, sizeof(w.keys[i].name), "configmaps/default/%d",
			 i);
	}
	start(&w);
	w.server = process_start(sim, run, &w);
	sim_after(sim, sim_dice(sim, 1500) * w.slow, crash, &w);
	while (!sim_is_broken(sim) && w.lives && sim_step(sim))
		continue;
	if (!sim_is_broken(sim))
		rot(&w);
}

int main(int argc, char **argv)
{
	static const struct sim_seed known[] = { { 0 } };
	static const struct sim_conf conf = { "journal", journal_world, 2000, known,
					      true };

	return sim_main(&conf, argc, argv);
}
