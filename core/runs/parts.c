/* parts.c - upload a growing text (runs/parts.h). */
#include "runs/parts.h"

#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "base/zstd.h"

enum { FRAME = 256 * 1024 };

void parts_init(struct parts *p, const char *prefix, const char *suffix, bool packed)
{
	*p = (struct parts){ .prefix = prefix,
			     .suffix = suffix,
			     .packed = packed,
			     .raw = { .max = 2 * FRAME },
			     .part = { .max = PARTS_FULL + PARTS_MAX_PENDING } };
	pthread_mutex_init(&p->lock, NULL);
}

void parts_release(struct parts *p)
{
	buf_release(&p->raw);
	buf_release(&p->part);
	pthread_mutex_destroy(&p->lock);
}

/* The caller holds the lock. */
static void pack(struct parts *p)
{
	size_t bound = p->packed ? zstd_frame_bound(p->raw.len) : p->raw.len;

	if (!p->raw.len)
		return;
	if (p->part.len + bound > p->sent + PARTS_MAX_PENDING) {
		p->dropped += (int64_t)p->raw.len;
	} else if (!p->packed) {
		buf_add(&p->part, p->raw.data, p->raw.len);
	} else {
		struct zstd_frame *ctx = NULL;
		void *frame = xmalloc(bound);

		buf_add(&p->part, frame,
			zstd_frame(&ctx, frame, p->raw.data, p->raw.len));
		zstd_frame_free(ctx);
		free(frame);
	}
	buf_clear(&p->raw);
}

void parts_add(struct parts *p, const void *data, size_t len)
{
	pthread_mutex_lock(&p->lock);
	while (len) {
		size_t n = len < FRAME ? len : FRAME;

		if (p->raw.len + n > FRAME)
			pack(p);
		buf_add(&p->raw, data, n);
		data = (const char *)data + n;
		len -= n;
	}
	pthread_mutex_unlock(&p->lock);
}

bool parts_is_sent(struct parts *p)
{
	bool sent;

	pthread_mutex_lock(&p->lock);
	sent = !p->raw.len && p->sent == p->part.len;
	pthread_mutex_unlock(&p->lock);
	return sent;
}

int64_t parts_take_dropped(struct parts *p)
{
	int64_t n;

	pthread_mutex_lock(&p->lock);
	n = p->dropped;
	p->dropped = 0;
	pthread_mutex_unlock(&p->lock);
	return n;
}

int parts_send(struct parts *p, struct rundir *rundir, const char *dir, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf copy = { .max = PARTS_FULL + PARTS_MAX_PENDING };
	char number[24] = "";
	bool sent;

	pthread_mutex_lock(&p->lock);
	pack(p);
	sent = p->sent == p->part.len;
	if (!sent)
		buf_add(&copy, p->part.data, p->part.len);
	pthread_mutex_unlock(&p->lock);
	if (sent)
		return 0;
	if (p->n)
		snprintf(number, sizeof(number), ".%u", p->n);
	if (rundir_put(
		    rundir,
		    arena_printf(&arena, "%s/%s%s%s", dir, p->prefix, number, p->suffix),
		    copy.data, copy.len, err))
		return -1;
	pthread_mutex_lock(&p->lock);
	p->sent = copy.len;
	if (p->sent >= PARTS_FULL) {
		buf_drop(&p->part, p->sent);
		p->sent = 0;
		p->n++;
	}
	pthread_mutex_unlock(&p->lock);
	return 0;
}
