/* resume.c - choose, fetch and verify a checkpoint (runs/resume.h). */
#include "runs/resume.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/relpath.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/digest.h"
#include "runs/detect.h"
#include "runs/runs_impl.h"

#define RESUMED ".kftrainer-resumed"

enum {
	MAX_HEAD = 64 * 1024,
	BLOCK = 1024 * 1024,
	MAX_METADATA = 64 * 1024 * 1024, /* longer ones are not checked */
	POLL_MS = 1000,
	PAUSE_MS = 5000,
};

/* ---- lists ---- */

static int get(struct rundir *p, const char *name, struct buf *text, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	return rundir_get(
		p, arena_printf(&arena, "checkpoints/%s" CHECKPOINT_COMPLETE, name), text,
		err);
}

struct heads {
	struct arena *arena;
	struct checkpoint *list;
	size_t n, cap;
};

static int add_head(void *ctx, const char *path, const struct buf *text,
		    struct error *err)
{
	struct heads *h = ctx;
	struct checkpoint head;

	if (err->kind)
		return err->kind == ERR_NOT_FOUND ? 0 : -1;
	if (!text->len ||
	    checkpoint_read(&head, h->arena, (const char *)text->data, text->len,
			    IGNORED) ||
	    !str_eq(path, arena_printf(h->arena, "%s" CHECKPOINT_COMPLETE, head.name)))
		return 0;
	if (h->n == h->cap) {
		h->cap = h->cap ? 2 * h->cap : 16;
		h->list = xreallocarray(h->list, h->cap, sizeof(*h->list));
	}
	h->list[h->n++] = head;
	return 0;
}

int resume_list(struct rundir *rundir, struct arena *arena, struct checkpoint **ret,
		size_t *ret_n, struct error *err)
{
	const struct rundir_pattern heads = { NULL, CHECKPOINT_COMPLETE, MAX_HEAD };
	struct heads h = { .arena = arena };
	int rc = rundir_read_each(rundir, "checkpoints", &heads, add_head, &h, err);

	*ret = arena_alloc(arena, (h.n + 1) * sizeof(**ret));
	*ret_n = h.n;
	if (h.n)
		memcpy(*ret, h.list, h.n * sizeof(**ret));
	free(h.list);
	qsort(*ret, h.n, sizeof(**ret), checkpoint_compare);
	return rc;
}

void resumed_read(struct resumed *ret, const char *dir)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = 1024 };
	const char *path = path_join(&arena, dir, RESUMED), *space;

	*ret = (struct resumed){ 0 };
	if (file_read_regular(&text, path, IGNORED) || !text.len)
		return;
	space = strchr((const char *)text.data, ' ');
	if (!space)
		return;
	ret->fingerprint = strtoull((const char *)text.data, NULL, 16);
	snprintf(ret->name, sizeof(ret->name), "%s", space + 1);
}

/* Before the fetch, and after it, also if it failed: until then no file is the command's. */
static int write_resumed(const char *dir, const char *name, bool after, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t fingerprint = 0;
	struct detected files;
	const char *text;

	if (fd >= 0 && after)
		fingerprint = detect_fingerprint(fd, name, &files);
	text = arena_printf(&arena, "%" PRIx64 " %s", fingerprint, name);

	return file_write(path_join(&arena, dir, RESUMED), text, strlen(text), 0666, err);
}

/* ---- the files of a checkpoint ---- */

struct wanted {
	const struct checkpoint_file *
		*files; /* one for each path: mine, or the lowest rank's */
	size_t n;
};

static int by_path(const void *a, const void *b)
{
	const struct checkpoint_file *x = *(const struct checkpoint_file *const *)a;
	const struct checkpoint_file *y = *(const struct checkpoint_file *const *)b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static struct wanted choose_files(struct arena *arena,
				  const struct checkpoint_manifest *c, uint32_t rank)
{
	size_t all = (size_t)c->head.files;
	struct wanted w = { arena_alloc(arena, (all + 1) * sizeof(*w.files)), 0 };

	for (size_t i = 0; i < all; i++)
		w.files[i] = &c->files[i];
	qsort(w.files, all, sizeof(*w.files), by_path);
	for (size_t i = 0; i < all; i++) {
		const struct checkpoint_file *f = w.files[i];

		if (!w.n || strcmp(w.files[w.n - 1]->path, f->path))
			w.files[w.n++] = f;
		else if (f->rank == rank)
			w.files[w.n - 1] = f;
	}
	return w;
}

/* Is it there, and the same? It may be a link that the command has made. */
static bool is_whole(int dir, const struct checkpoint_file *f, char *block)
{
	cleanup_fd int fd = openat(dir, f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	cleanup_digest struct digest *sum = digest_new(DIGEST_SHA256);
	char hex[DIGEST_HEX_SIZE];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size != f->size)
		return false;
	while ((n = read(fd, block, BLOCK)) > 0)
		digest_add(sum, block, (size_t)n);
	return !n && str_eq(digest_end_hex(sum, hex), f->sha256);
}

/* Keeps those that are missing or differ, of which the wrong ones are removed. */
static void keep_differing(int dir, struct wanted *w)
{
	cleanup_free char *block = xmalloc(BLOCK);
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct checkpoint_file *f = w->files[i];

		if (is_whole(dir, f, block))
			continue;
		unlinkat(dir, f->path, 0);
		w->files[n++] = f;
	}
	w->n = n;
}

static int fetch_rank(struct rundir *p, const struct checkpoint_manifest *c,
		      const struct wanted *w, uint32_t rank, const char *to,
		      struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_map struct map paths = { 0 };
	const struct rundir_files files = { .paths = &paths };
	const char *from =
		rank ? arena_printf(&arena, "checkpoints/%s" CHECKPOINT_RANK "%u",
				    c->head.name, rank)
		     : arena_printf(&arena, "checkpoints/%s", c->head.name);

	for (size_t i = 0; i < w->n; i++)
		if (w->files[i]->rank == rank)
			map_put(&paths, w->files[i]->path, &paths);
	return paths.n ? rundir_download(p, from, to, &files, NULL, err) : 0;
}

/* ERR_FORMAT: it is damaged. */
static int fetch_files(const struct resume_conf *conf, struct rundir *p,
		       const struct checkpoint_manifest *c, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *to =
		c->head.single ? conf->dir : path_join(&arena, conf->dir, c->head.name);
	struct wanted w = choose_files(&arena, c, conf->rank);
	cleanup_fd int dir = -1;
	int rc = dir_make(to, 0777, err);

	dir = rc ? -1 : open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return rc ? rc : error_errno(err, errno, "%s", to);
	keep_differing(dir, &w);
	for (int64_t rank = 0; w.n && !rc && rank < c->head.nodes; rank++)
		rc = fetch_rank(p, c, &w, (uint32_t)rank, to, err);
	if (rc && (err->kind == ERR_NOT_FOUND || err->kind == ERR_CONFLICT))
		err->kind = ERR_FORMAT;
	if (rc)
		return rc;
	keep_differing(dir, &w);
	return w.n ? error_set(err, ERR_FORMAT, "%.300s is missing, or not as it was",
			       w.files[0]->path)
		   : 0;
}

static int fetch_checkpoint(const struct resume_conf *conf, struct rundir *p,
			    const struct checkpoint_manifest *c, struct error *err)
{
	struct error why = { 0 };

	if (dir_make(conf->dir, 0777, err) ||
	    write_resumed(conf->dir, c->head.name, false, err))
		return -1;
	if (!fetch_files(conf, p, c, err))
		return write_resumed(conf->dir, c->head.name, true, err);
	(void)!write_resumed(conf->dir, c->head.name, true, &why);
	return -1;
}

static int fetch_named(const struct resume_conf *conf, struct rundir *p, const char *name,
		       struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = CHECKPOINT_MANIFEST_MAX };
	struct checkpoint_manifest c;

	if (get(p, name, &text, err))
		return -1;
	if (checkpoint_read_manifest(&c, &arena, text.data ? (const char *)text.data : "",
				     text.len, err))
		return -1;
	if (!str_eq(c.head.name, name))
		return error_set(err, ERR_FORMAT, "it belongs to another checkpoint");
	return fetch_checkpoint(conf, p, &c, err);
}

/* ---- before it is called complete ---- */

int resume_check_named(struct rundir *rundir, const struct buf *text, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct checkpoint_manifest c;

	if (checkpoint_read_manifest(&c, &arena, (const char *)text->data, text->len,
				     err))
		return -1;
	for (int64_t i = 0; i < c.head.files && !c.files[i].rank; i++) {
		const struct checkpoint_file *f = &c.files[i];
		cleanup_buf struct buf meta = { .max = MAX_METADATA };
		const char *lacks;

		if (!str_eq(path_base(f->path), ".metadata") || !f->size ||
		    f->size > MAX_METADATA)
			continue;
		if (rundir_get(rundir,
			       arena_printf(&arena, "checkpoints/%s/%s", c.head.name,
					    f->path),
			       &meta, err))
			return -1;
		lacks = checkpoint_missing(&c, &arena, f->path, meta.data, meta.len);
		if (lacks)
			return error_set(err, ERR_CONFLICT,
					 "%s: no node has sent %s, which its %s names",
					 c.head.name, lacks, f->path);
	}
	return 0;
}

/* ---- the choice ---- */

static int choose(const struct resume_conf *conf, struct rundir *p, struct arena *arena,
		  const char **ret, struct error *err)
{
	struct checkpoint *list;
	char text[600];
	size_t n;

	*ret = NULL;
	if (resume_list(p, arena, &list, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (!fetch_named(conf, p, list[i].name, err)) {
			*ret = list[i].name;
			return 0;
		}
		if (err->kind != ERR_FORMAT && err->kind != ERR_NOT_FOUND)
			return -1;
		snprintf(text, sizeof(text),
			 "run directory: checkpoint %.100s is damaged: %.200s; %s%.100s",
			 list[i].name, err->msg,
			 i + 1 < n ? "the next older one is " : "",
			 i + 1 < n ? list[i + 1].name : "there is no older one");
		conf->say(conf->ctx, text);
	}
	return 0;
}

static int publish_choice(const struct resume_conf *conf, struct rundir *p,
			  const char *name, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *doc = cJSON_CreateObject();
	const char *uid = json_str(conf->job, "metadata", "uid");
	char now[TIME_TEXT_SIZE];

	json_put_int(doc, conf->attempt, "attempt");
	json_put_int(doc, conf->restart, "restart");
	json_put(doc, uid ? cJSON_CreateString(uid) : cJSON_CreateNull(), "uid");
	json_put_int(doc, conf->ranks, "nodes");
	json_put_str(doc, time_text(clock_now(), now), "started");
	json_put(doc, name ? cJSON_CreateString(name) : cJSON_CreateNull(), "resume");
	return runs_put_json(
		p, arena_printf(&arena, "attempts/%u/attempt.json", conf->attempt), doc,
		err);
}

static int read_choice(const struct resume_conf *conf, struct rundir *p,
		       struct arena *arena, const char **ret, struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_HEAD };
	cleanup_json cJSON *doc = NULL;
	const char *name;

	if (rundir_get(p, arena_printf(arena, "attempts/%u/attempt.json", conf->attempt),
		       &text, err) ||
	    json_parse(&doc, text.data ? (const char *)text.data : "", text.len, err))
		return -1;
	name = json_str(doc, "resume");
	if (name && !checkpoint_name_valid(name))
		return error_set(err, ERR_FORMAT,
				 "attempt.json: invalid name of a checkpoint");
	*ret = arena_strdup(arena, name);
	return name ? fetch_named(conf, p, name, err) : 0;
}

static int prepare_once(const struct resume_conf *conf, struct rundir *p,
			struct arena *arena, const char **ret, struct error *err)
{
	if (conf->rank)
		return read_choice(conf, p, arena, ret, err);
	return choose(conf, p, arena, ret, err) || publish_choice(conf, p, *ret, err) ? -1
										      : 0;
}

static bool may_help(const struct error *err)
{
	return err->kind == ERR_NOT_FOUND || err->kind == ERR_IO ||
	       err->kind == ERR_BUSY || err->kind == ERR_TIMEOUT ||
	       err->kind == ERR_CONFLICT; /* replaced while it was read */
}

int resume_prepare(const struct resume_conf *conf, struct rundir *rundir,
		   struct arena *arena, const char **ret_name, struct error *err)
{
	int64_t until = clock_ms() + RUNS_GIVE_UP_MS, said = 0;

	while (prepare_once(conf, rundir, arena, ret_name, err)) {
		bool waits = err->kind == ERR_NOT_FOUND && conf->rank;

		if (!may_help(err) || err->code == ENOSPC || clock_ms() >= until)
			return -1;
		if (!waits && clock_ms() >= said + RUNS_RETRY_MS) {
			said = clock_ms();
			conf->say(conf->ctx, err->msg);
		}
		clock_sleep_ms(waits ? POLL_MS : PAUSE_MS);
	}
	return 0;
}
