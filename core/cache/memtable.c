/* memtable.c - stores rows as messages ready to be sent (cache/memtable.h). */
#include "cache/memtable_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cores.h"
#include "base/large.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/flight.h"
#include "cache/parallel.h"

enum {
	MAX_MESSAGE = 2 * 1024 * 1024,
	HEAD_ROOM = 32, /* prefix, tags and lengths */
	ALIGN = 64,
	SLAB = 64 * 1024 * 1024,
	FIRST = 1024 * 1024, /* small tables get small pages */
	DECODED = 2,         /* memory for a unit, stored and decoded */
};

/* Rows that one thread decodes: a unit's, or a part of them. */
struct piece {
	struct rows rows;
	int64_t at; /* the next row */
	struct message *messages;
	size_t n, cap;
};

struct loading {
	struct memtable *m;
	const struct memtable_conf *conf;
	struct piece *pieces;
	size_t n;
	pthread_mutex_t lock; /* guards the slabs and `done` */
	int64_t done;         /* rows */
};

/* ---- slabs ------------------------------------------------------------------------- */

/* An unlinked file: freed with its mapping. */
static int map_file(uint8_t **ret, const char *folder, size_t size, struct error *err)
{
	cleanup_fd int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return error_errno(err, errno, "%s", folder);
	rc = posix_fallocate(fd, 0, (off_t)size);
	if (rc)
		return error_errno(err, rc, "%s", folder);
	*ret = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*ret == MAP_FAILED)
		return error_errno(err, errno, "%s", folder);
	return 0;
}

static int too_large(uint64_t need, const char *how, uint64_t limit, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	return error_set(err, ERR_LIMIT,
			 "the rows need %s %s of memory, %s more than the limit of %s: "
			 "raise --memory, use --spill, or add workers",
			 how, str_size(&arena, (int64_t)need),
			 str_size(&arena, (int64_t)(need - limit)),
			 str_size(&arena, (int64_t)limit));
}

/* ERR_LIMIT if the rows do not fit; estimates their total size from the loaded ones. */
static int is_full(const struct loading *l, size_t more, struct error *err)
{
	const struct memtable *m = l->m;
	uint64_t need = m->bytes + more;
	double rows = (double)(m->rows.end - m->rows.first);

	if (l->done && (double)m->bytes / (double)l->done * rows > (double)need)
		need = (uint64_t)((double)m->bytes / (double)l->done * rows);
	return too_large(need, "about", l->conf->memory, err);
}

/* Small pages if memory is tight: the ends of huge pages would be wasted. */
static int map_memory(struct slab *s, bool limited, struct error *err)
{
	s->large = !limited;
	if (s->large) {
		s->data = large_grow(NULL, 0, s->cap);
		return 0;
	}
	s->data = mmap(NULL, s->cap, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->data == MAP_FAILED)
		return error_errno(err, errno, "memory for rows");
	return 0;
}

static int slab_add(struct loading *l, size_t size, struct error *err)
{
	const struct memtable_conf *conf = l->conf;
	struct memtable *m = l->m;
	struct slab s = { .cap = m->n_slabs ? SLAB : FIRST };

	s.cap = size < s.cap ? s.cap : size;
	s.file = m->bytes - m->spilled + size > conf->memory;
	if (s.file && !conf->spill)
		return is_full(l, size, err);
	if (s.file ? map_file(&s.data, conf->spill, s.cap, err)
		   : map_memory(&s, conf->memory != UINT64_MAX, err))
		return -1;
	m->slabs = xreallocarray(m->slabs, m->n_slabs + 1, sizeof(*m->slabs));
	m->slabs[m->n_slabs++] = s;
	return 0;
}

/* Write pages to the file and drop them: reads page them in again. */
static void slab_close(struct slab *s)
{
	if (!s->file)
		return;
	msync(s->data, s->cap, MS_SYNC);
	madvise(s->data, s->cap, MADV_DONTNEED);
}

static void slab_free(struct slab *s)
{
	if (s->large)
		large_free(s->data, s->cap);
	else
		munmap(s->data, s->cap);
}

/*
 * Allocate `size` bytes of which those from `body` on are aligned, with slack, because
 * bits are read in words.
 */
static int slab_take(struct loading *l, uint8_t **ret, size_t size, size_t body,
		     struct error *err)
{
	struct memtable *m = l->m;
	size_t room = size + ALIGN + 8, at;
	struct slab *s = m->n_slabs ? &m->slabs[m->n_slabs - 1] : NULL;
	bool over = m->bytes - m->spilled + size > l->conf->memory;

	if (!s || room > s->cap - s->used || (over && !s->file)) {
		if (s)
			slab_close(s);
		if (slab_add(l, room, err))
			return -1;
		s = &m->slabs[m->n_slabs - 1];
	}
	at = (s->used + body + ALIGN - 1) / ALIGN * ALIGN - body;
	*ret = s->data + at;
	s->used = at + size;
	m->bytes += size;
	m->spilled += s->file ? size : 0;
	return 0;
}

/* ---- messages ---------------------------------------------------------------------- */

size_t message_head(uint8_t *to, const struct ipc_plan *p, uint32_t *ret_metadata)
{
	cleanup_buf struct buf head = { .max = HEAD_ROOM + p->metadata.len };
	uint64_t len;

	buf_add(&head, "\0\0\0\0\0", GRPC_PREFIX);
	pb_put_head(&head, DATA_HEADER, p->metadata.len);
	*ret_metadata = (uint32_t)head.len;
	buf_add(&head, p->metadata.data, p->metadata.len);
	pb_put_head(&head, DATA_BODY, p->body);
	len = head.len - GRPC_PREFIX + p->body;
	grpc_prefix(head.data, (uint32_t)len);
	if (to)
		memcpy(to, head.data, head.len);
	return head.len;
}

static int add_message(struct loading *l, struct piece *to, const struct ipc_plan *p,
		       int64_t first, int64_t n, struct error *err)
{
	struct message msg = { .first = first, .n = n };
	size_t head = message_head(NULL, p, &msg.metadata);
	uint8_t *data;
	int rc;

	if (p->body > INT32_MAX)
		return error_set(err, ERR_LIMIT, "a row of more than 2 GiB");
	pthread_mutex_lock(&l->lock);
	rc = slab_take(l, &data, head + p->body, head, err);
	pthread_mutex_unlock(&l->lock);
	if (rc)
		return -1;
	message_head(data, p, &msg.metadata);
	ipc_body(p, data + head);
	msg.data = data;
	msg.n_metadata = (uint32_t)p->metadata.len;
	msg.body = (uint32_t)head;
	msg.len = (uint32_t)(head + p->body);
	if (to->n == to->cap) {
		to->cap = 2 * to->cap + 8;
		to->messages = xreallocarray(to->messages, to->cap, sizeof(msg));
	}
	to->messages[to->n++] = msg;
	return 0;
}

/* Split a batch in halves until each message is small enough. */
static int add_rows(struct loading *l, struct piece *to, struct ipc_plan *p,
		    const struct batch *b, struct rows rows, struct error *err)
{
	int64_t n = rows.end - rows.first;
	struct rows half = { rows.first, rows.first + n / 2 };

	ipc_plan(p, b, rows.first, n, l->m->form);
	if (p->body + p->metadata.len + HEAD_ROOM <= MAX_MESSAGE || n == 1)
		return add_message(l, to, p, to->at + rows.first, n, err);
	if (add_rows(l, to, p, b, half, err))
		return -1;
	return add_rows(l, to, p, b, (struct rows){ half.end, rows.end }, err);
}

static void note_rows(struct loading *l, int64_t n)
{
	pthread_mutex_lock(&l->lock);
	l->done += n;
	pthread_mutex_unlock(&l->lock);
	if (l->conf->loaded)
		*l->conf->loaded += n;
}

static int load_piece(void *ctx, size_t i, struct error *err)
{
	struct loading *l = ctx;
	struct piece *to = &l->pieces[i];
	cleanup_table_scan struct table_scan *s =
		table_scan_new(dataset_table(l->m->dataset), to->rows, NULL, 0);
	cleanup_ipc_plan struct ipc_plan plan = { 0 };

	while (to->at < to->rows.end) {
		cleanup_batch struct batch b = { 0 };

		if (l->conf->stop && *l->conf->stop)
			return error_set(err, ERR_STOPPED, "loading was interrupted");
		if (table_next(s, &b, err))
			return -1;
		if (!b.n)
			return error_set(err, ERR_FORMAT,
					 "the table has fewer rows than expected");
		if (add_rows(l, to, &plan, &b, (struct rows){ 0, b.n }, err))
			return -1;
		to->at += b.n;
		note_rows(l, b.n);
	}
	if (l->conf->memory != UINT64_MAX)
		xmalloc_trim(); /* before the next unit */
	return 0;
}

/* ---- loading ----------------------------------------------------------------------- */

/*
 * As many threads as cores, and as can decode the largest unit at the same time within
 * the memory.
 */
static size_t threads_for(const struct loading *l)
{
	const struct table *t = dataset_table(l->m->dataset);
	size_t most = (size_t)cores_usable();
	uint64_t unit = 1;

	for (size_t i = 0; i < table_units(t); i++) {
		struct table_unit u = table_unit(t, i);

		if (rows_meet(u.rows, l->m->rows).end && u.bytes > unit)
			unit = u.bytes;
	}
	if (dataset_memory(l->m->dataset) / DECODED / unit < most)
		most = dataset_memory(l->m->dataset) / DECODED / unit;
	return most ? most : 1;
}

static void cut_pieces(struct loading *l)
{
	const struct table *t = dataset_table(l->m->dataset);

	l->pieces = xcalloc(table_units(t) + 1, sizeof(*l->pieces));
	for (size_t i = 0; i < table_units(t); i++) {
		struct rows rows = rows_meet(table_unit(t, i).rows, l->m->rows);

		if (rows.end)
			l->pieces[l->n++] =
				(struct piece){ .rows = rows, .at = rows.first };
	}
}

/* Collect the messages of all threads in the order of their rows. */
static void join_pieces(struct loading *l)
{
	struct memtable *m = l->m;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->pieces[i].n;
	m->messages = xcalloc(n + 1, sizeof(*m->messages));
	for (size_t i = 0; i < l->n; i++) {
		struct piece *p = &l->pieces[i];

		if (p->n)
			memcpy(&m->messages[m->n], p->messages,
			       p->n * sizeof(*p->messages));
		m->n += p->n;
		free(p->messages);
	}
	free(l->pieces);
	for (size_t i = 0; i < m->n; i++)
		m->messages[i].first += l->conf->base;
	m->rows.first += l->conf->base;
	m->rows.end += l->conf->base;
}

static int load(struct memtable *m, const struct memtable_conf *conf, struct error *err)
{
	struct loading l = { .m = m, .conf = conf, .lock = PTHREAD_MUTEX_INITIALIZER };
	uint64_t least = table_least_bytes(dataset_table(m->dataset), m->rows);
	int rc;

	if (least > conf->memory && !conf->spill)
		return too_large(least, "at least", conf->memory, err);
	cut_pieces(&l);
	rc = parallel_run(threads_for(&l), l.n, load_piece, &l, err);
	join_pieces(&l);
	pthread_mutex_destroy(&l.lock);
	for (size_t i = 0; i < m->n_slabs; i++)
		slab_close(&m->slabs[i]);
	return rc;
}

int memtable_load(struct memtable **ret, struct dataset *take_dataset, struct rows rows,
		  const struct memtable_conf *conf, struct error *err)
{
	struct memtable *m = xcalloc(1, sizeof(*m));

	m->refs = 1;
	m->dataset = take_dataset;
	m->fields = table_columns(dataset_table(m->dataset), &m->n_fields);
	m->rows = rows;
	m->form = dataset_form(m->dataset);
	memtable_schema(&m->schema, m->fields, m->n_fields, m->form);
	if (load(m, conf, err)) {
		memtable_unref(m);
		return -1;
	}
	*ret = m;
	return 0;
}

struct memtable *memtable_ref(struct memtable *m)
{
	atomic_fetch_add(&m->refs, 1);
	return m;
}

void memtable_unref(struct memtable *m)
{
	if (!m || atomic_fetch_sub(&m->refs, 1) > 1)
		return;
	for (size_t i = 0; i < m->n_slabs; i++)
		slab_free(&m->slabs[i]);
	free(m->slabs);
	free(m->messages);
	buf_release(&m->schema);
	dataset_free(m->dataset);
	free(m);
}

const struct field *memtable_columns(const struct memtable *m, size_t *ret_n)
{
	*ret_n = m->n_fields;
	return m->fields;
}

struct rows memtable_rows(const struct memtable *m)
{
	return m->rows;
}

uint64_t memtable_bytes(const struct memtable *m)
{
	return m->bytes;
}

uint64_t memtable_spilled(const struct memtable *m)
{
	return m->spilled;
}

void memtable_schema(struct buf *out, const struct field *fields, size_t n,
		     struct ipc_form form)
{
	cleanup_buf struct buf metadata = { .max = SIZE_MAX / 2 };
	uint8_t prefix[GRPC_PREFIX];
	cleanup_buf struct buf data = { .max = SIZE_MAX / 2 };

	ipc_schema(&metadata, fields, n, form);
	pb_put_bytes(&data, DATA_HEADER, metadata.data, metadata.len);
	grpc_prefix(prefix, (uint32_t)data.len);
	out->max = SIZE_MAX / 2;
	buf_add(out, prefix, sizeof(prefix));
	buf_add(out, data.data, data.len);
}
