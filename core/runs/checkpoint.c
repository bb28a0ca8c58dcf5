/* checkpoint.c - print, read and compare complete checkpoints (runs/checkpoint.h). */
#include "runs/checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/map.h"
#include "base/relpath.h"
#include "base/str.h"

enum { MAX_NAME = 200, MAX_LINE = 32 * 1024, SHA256_HEX = 64, WHOLE_SECONDS = 19 };
#define MAX_SIZE ((int64_t)1 << 50)

bool checkpoint_name_valid(const char *name)
{
	size_t len = strlen(name);

	return len && len <= MAX_NAME && *name != '.' && !strchr(name, '/') &&
	       !relpath_check(name, IGNORED) && !str_ends(name, CHECKPOINT_COMPLETE) &&
	       !str_ends(name, CHECKPOINT_FILES) && !strstr(name, CHECKPOINT_RANK);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int64_t number_at(const char *digits, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	int64_t n;

	return str_int(&n, str_slice(&arena, digits, len), 0, INT64_MAX, IGNORED) ? -1
										  : n;
}

/* The number of "step=40", "global_step40", "iter-0040", "iteration_40". */
static int64_t number_after(const char *name, const char *word)
{
	for (const char *at = name; (at = strstr(at, word));) {
		at += strlen(word);
		at += strspn(at, "abcdefghijklmnopqrstuvwxyz");
		at += *at && strchr("=-_", *at);
		if (is_digit(*at))
			return number_at(at, strspn(at, "0123456789"));
	}
	return -1;
}

/* Where the digits begin that end there. */
static size_t digits_before(const char *name, size_t end)
{
	while (end && is_digit(name[end - 1]))
		end--;
	return end;
}

/* "val_loss=0.25", "acc=93": the digits there say how good it is; "epoch=7": not so. */
static bool is_metric(const char *name, size_t from)
{
	static const char epoch[] = "epoch=";
	size_t len = strlen(epoch);

	if (from < 2)
		return false;
	if (name[from - 1] == '.')
		return is_digit(name[from - 2]);
	return name[from - 1] == '=' &&
	       (from < len || strncmp(name + from - len, epoch, len) != 0);
}

int64_t checkpoint_step(const char *name)
{
	int64_t step = number_after(name, "step");
	size_t end = strlen(name), from;
	const char *dot = strrchr(name, '.');

	step = step < 0 ? number_after(name, "iter") : step;
	if (step >= 0)
		return step;
	if (dot && dot > name && dot[1 + strspn(dot + 1, "0123456789")])
		end = (size_t)(dot - name); /* "7.ckpt" */
	from = digits_before(name, end);
	if (from < end && from > 2 && name[from - 1] == 'v' && name[from - 2] == '-') {
		end = from - 2; /* Lightning's second file of a name: "7-v1.ckpt" */
		from = digits_before(name, end);
	}
	return is_metric(name, from) ? -1 : number_at(name + from, end - from);
}

static void print_line(struct buf *out, const cJSON *doc)
{
	json_print(out, doc);
	buf_adds(out, "\n");
}

void checkpoint_print(struct buf *out, const struct checkpoint *h)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	char time[TIME_TEXT_SIZE];

	json_put_int(doc, RUNS_LAYOUT, "layout");
	json_put_str(doc, h->name, "name");
	json_put(doc, h->step < 0 ? cJSON_CreateNull() : json_new_int(h->step), "step");
	json_put_str(doc,
		     h->us ? time_micro_text(h->time, h->us, time)
			   : time_text(h->time, time),
		     "time");
	json_put_int(doc, h->attempt, "attempt");
	json_put_int(doc, h->nodes, "nodes");
	json_put_int(doc, h->files, "files");
	json_put_int(doc, h->bytes, "bytes");
	json_put_bool(doc, h->single, "single");
	print_line(out, doc);
}

void checkpoint_print_file(struct buf *out, const struct checkpoint_file *f)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();

	json_put_int(doc, f->rank, "rank");
	json_put_str(doc, f->path, "path");
	json_put_int(doc, f->size, "size");
	json_put_str(doc, f->sha256, "sha256");
	print_line(out, doc);
}

/* *at: after the line that is parsed. */
static int next_line(cJSON **ret, const char *text, size_t len, size_t *at,
		     struct error *err)
{
	const char *line = text + *at, *end = memchr(line, '\n', len - *at);

	if (!end || end - line > MAX_LINE)
		return error_set(err, ERR_FORMAT, "%s",
				 end ? "a line is too long" : "it is cut off");
	*at += (size_t)(end - line) + 1;
	return json_parse(ret, line, (size_t)(end - line), err);
}

/* The microseconds of a printed time, six digits after the point; 0: there are none. */
static int microseconds(const char *time)
{
	int us = 0, end = 0;

	return sscanf(time + WHOLE_SECONDS, ".%6d%n", &us, &end) == 1 && end == 7 &&
			       us > 0
		       ? us
		       : 0;
}

static int read_head(struct checkpoint *ret, struct arena *arena, const cJSON *doc,
		     struct error *err)
{
	const char *name = json_str(doc, "name"), *time = json_str(doc, "time");
	struct checkpoint h = { .attempt = json_int(doc, -1, "attempt"),
				.nodes = json_int(doc, -1, "nodes"),
				.files = json_int(doc, -1, "files"),
				.bytes = json_int(doc, -1, "bytes"),
				.step = json_int(doc, -1, "step"),
				.single = json_bool(doc, false, "single") };

	if (json_int(doc, -1, "layout") != RUNS_LAYOUT)
		return error_set(err, ERR_FORMAT, "expected layout %d in its first line",
				 RUNS_LAYOUT);
	if (!name || !checkpoint_name_valid(name) || !time ||
	    time_parse(&h.time, time, err) || h.attempt < 0 || h.nodes < 1 ||
	    h.nodes > UINT32_MAX || h.files < 1 || h.files > CHECKPOINT_FILES_MAX ||
	    h.bytes < 0)
		return error_set(err, ERR_FORMAT, "its first line is not a checkpoint");
	h.us = microseconds(time);
	h.name = arena_strdup(arena, name);
	*ret = h;
	return 0;
}

int checkpoint_read(struct checkpoint *ret, struct arena *arena, const char *text,
		    size_t len, struct error *err)
{
	cleanup_json cJSON *doc = NULL;
	size_t at = 0;

	return next_line(&doc, text, len, &at, err) || read_head(ret, arena, doc, err)
		       ? -1
		       : 0;
}

static bool is_sha256(const char *text)
{
	return text && strlen(text) == SHA256_HEX &&
	       strspn(text, "0123456789abcdef") == SHA256_HEX;
}

/* In order, so that none is there twice. */
static bool comes_after(const struct checkpoint_file *f,
			const struct checkpoint_file *last)
{
	return f->rank > last->rank ||
	       (f->rank == last->rank && strcmp(f->path, last->path) > 0);
}

static int read_file(struct checkpoint_manifest *c, struct arena *arena, const cJSON *doc,
		     int64_t i, struct error *err)
{
	const char *path = json_str(doc, "path"), *sum = json_str(doc, "sha256");
	int64_t rank = json_int(doc, -1, "rank");
	struct checkpoint_file f = { .rank = (uint32_t)rank,
				     .path = path,
				     .size = json_int(doc, -1, "size") };

	if (rank < 0 || rank >= c->head.nodes || !path || relpath_check(path, IGNORED) ||
	    f.size < 0 || f.size > MAX_SIZE || !is_sha256(sum) ||
	    (i && !comes_after(&f, &c->files[i - 1])))
		return error_set(err, ERR_FORMAT,
				 "line %lld is not a file of the checkpoint",
				 (long long)i + 2);
	f.path = arena_strdup(arena, path);
	f.sha256 = arena_strdup(arena, sum);
	c->files[i] = f;
	return 0;
}

int checkpoint_read_manifest(struct checkpoint_manifest *ret, struct arena *arena,
			     const char *text, size_t len, struct error *err)
{
	struct checkpoint_manifest c = { 0 };
	int64_t bytes = 0;
	size_t at = 0, lines = 0;

	if (checkpoint_read(&c.head, arena, text, len, err))
		return -1;
	for (const char *p = text; (p = memchr(p, '\n', len - (size_t)(p - text))); p++)
		lines++;
	if (lines != (size_t)c.head.files + 1)
		return error_set(err, ERR_FORMAT, "%zu lines, expected %lld", lines,
				 (long long)c.head.files + 1);
	c.files = arena_alloc(arena, (size_t)c.head.files * sizeof(*c.files));
	for (int64_t i = -1; i < c.head.files; i++) {
		cleanup_json cJSON *doc = NULL;

		if (next_line(&doc, text, len, &at, err) ||
		    (i >= 0 && read_file(&c, arena, doc, i, err)))
			return -1;
		bytes += i >= 0 ? c.files[i].size : 0;
		if (bytes > c.head.bytes)
			break;
	}
	if (bytes != c.head.bytes || at != len)
		return error_set(err, ERR_FORMAT,
				 "its files do not have the %lld bytes of its first line",
				 (long long)c.head.bytes);
	*ret = c;
	return 0;
}

/* ---- what torch.distributed.checkpoint names ---- */

/* The length of a name such as "__0_1.distcp" at p; 0: no such name. */
static size_t length_of_name(const char *p, size_t len)
{
	static const char *const parts[] = { "__", "_", ".distcp" };
	size_t n = 0;

	for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
		size_t part = strlen(parts[i]);

		if (len - n < part || memcmp(p + n, parts[i], part))
			return 0;
		n += part;
		for (part = n; i < 2 && n < len && p[n] >= '0' && p[n] <= '9';)
			n++;
		if (i < 2 && n == part)
			return 0;
	}
	return n;
}

const char *checkpoint_missing(const struct checkpoint_manifest *c, struct arena *arena,
			       const char *path, const void *metadata, size_t len)
{
	const char *start = metadata, *end = start + len, *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) + 1 : 0;
	cleanup_map struct map paths = { 0 };

	for (int64_t i = 0; i < c->head.files; i++)
		map_put(&paths, c->files[i].path, &paths);
	for (const char *p = start; (p = memchr(p, '_', (size_t)(end - p))); p++) {
		cleanup_arena struct arena one = { 0 };
		size_t n = length_of_name(p, (size_t)(end - p));
		const char *name;

		if (!n || (p > start && p[-1] == '/')) /* of another directory */
			continue;
		name = arena_printf(&one, "%.*s%.*s", dir, path, (int)n, p);
		if (!map_get(&paths, name))
			return arena_strdup(arena, name);
	}
	return NULL;
}

static int by(int64_t a, int64_t b)
{
	return a > b ? -1 : a < b;
}

int checkpoint_compare(const void *a, const void *b)
{
	const struct checkpoint *x = a, *y = b;
	int order = by(x->attempt, y->attempt);

	order = order ? order : by(x->time, y->time);
	order = order ? order : by(x->us, y->us);
	order = order ? order : by(x->step, y->step);
	return order ? order : strcmp(x->name, y->name);
}
