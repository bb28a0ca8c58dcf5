/* feed.c - copy a feed's batches from pinned memory to devices (gpu/feed.h). */
#include "gpu/feed_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"

enum { NONE = -1 };

static void wake_server(struct gpu_feed *f)
{
	const uint64_t one = 1;

	(void)!write(f->wake, &one, sizeof(one));
}

static void set_failed(struct gpu_feed *f, const struct error *why)
{
	if (!f->failed)
		f->why = *why;
	f->failed = true;
	pthread_cond_broadcast(&f->changed);
	wake_server(f);
}

void gpu_feed_fail(struct gpu_feed *f, const struct error *why)
{
	pthread_mutex_lock(&f->lock);
	set_failed(f, why);
	pthread_mutex_unlock(&f->lock);
}

/* ---- the copier ------------------------------------------------------------------------ */

static struct feed_buffer *buffer_of(struct gpu_feed *f, int64_t batch)
{
	return &f->buffers[batch % f->conf.ring];
}

static int free_slot(const struct feed_rank *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (r->slots[i].state == SLOT_FREE)
			return (int)i;
	return NONE;
}

/* Reserve a slot of each rank for the next batch; false: no batch, or no free slot. */
static bool choose_slots(struct gpu_feed *f)
{
	struct feed_buffer *b = buffer_of(f, f->copied);
	uint8_t *slot_of = f->slot_of[f->copied % f->conf.ring];

	if (f->copied == f->given || b->state != BUFFER_FULL)
		return false;
	for (uint32_t i = 0; i < f->conf.n_ranks; i++) {
		int slot = free_slot(&f->ranks[i], f->conf.ring);

		if (slot == NONE)
			return false;
		slot_of[i] = (uint8_t)slot;
	}
	for (uint32_t i = 0; i < f->conf.n_ranks; i++)
		f->ranks[i].slots[slot_of[i]] = (struct feed_slot){
			.state = SLOT_COPYING,
			.batch = b->batch,
			.rows = b->rows,
			.arrays = xstrdup(b->arrays),
		};
	b->state = BUFFER_COPYING;
	return true;
}

/* The caller holds the lock, which is released during the helper's call. */
static int ask(struct gpu_feed *f, struct gpu_request q)
{
	cleanup_json cJSON *answer = NULL;
	struct error err;
	int rc;

	pthread_mutex_unlock(&f->lock);
	rc = gpu_helper_call(&f->helper, &q, &answer, &err);
	pthread_mutex_lock(&f->lock);
	if (rc)
		set_failed(f, &err);
	return rc;
}

static int begin_copy(struct gpu_feed *f)
{
	int64_t at = f->copied % f->conf.ring;
	struct gpu_request q = { .op = GPU_OP_FEED_COPY,
				 .device = (uint32_t)at,
				 .arg = { f->buffers[at].len } };

	memcpy(q.data, f->slot_of[at], f->conf.n_ranks);
	f->copied++;
	return ask(f, q);
}

/* Wait for the copies of the oldest batch, free its pinned buffer, wake the server. */
static int end_copy(struct gpu_feed *f)
{
	int64_t at = f->waited % f->conf.ring;

	if (ask(f,
		(struct gpu_request){ .op = GPU_OP_FEED_WAIT, .device = (uint32_t)at }))
		return -1;
	for (uint32_t i = 0; i < f->conf.n_ranks; i++)
		f->ranks[i].slots[f->slot_of[at][i]].state = SLOT_READY;
	free(f->buffers[at].arrays);
	f->buffers[at] = (struct feed_buffer){ 0 };
	f->waited++;
	pthread_cond_broadcast(&f->changed);
	wake_server(f);
	return 0;
}

/* The copier's thread: begins all possible copies before it waits for the oldest. */
static void *copy_all(void *ctx)
{
	struct gpu_feed *f = ctx;
	int rc = 0;

	pthread_mutex_lock(&f->lock);
	while (!rc && !f->failed && !f->stopping) {
		if (choose_slots(f))
			rc = begin_copy(f);
		else if (f->waited < f->copied)
			rc = end_copy(f);
		else
			pthread_cond_wait(&f->changed, &f->lock);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* ---- the source ------------------------------------------------------------------------ */

int gpu_feed_columns(struct gpu_feed *f, const char *columns, struct error *err)
{
	enum { AROUND = 1024 };

	if (strlen(columns) > FEED_MESSAGE_MAX - AROUND)
		return error_set(err, ERR_LIMIT,
				 "the columns need %zu bytes, expected at most %d: read "
				 "fewer columns",
				 strlen(columns), FEED_MESSAGE_MAX - AROUND);
	pthread_mutex_lock(&f->lock);
	f->columns = xstrdup(columns);
	f->last_batch_ms = clock_ms();
	pthread_mutex_unlock(&f->lock);
	wake_server(f);
	return 0;
}

int gpu_feed_acquire(struct gpu_feed *f, uint8_t **ret, struct error *err)
{
	struct feed_buffer *b = buffer_of(f, f->given);
	bool stopped;

	pthread_mutex_lock(&f->lock);
	f->last_batch_ms = 0;
	while (b->state != BUFFER_FREE && !f->failed && !f->stopping)
		pthread_cond_wait(&f->changed, &f->lock);
	stopped = f->failed || f->stopping;
	if (!stopped)
		b->state = BUFFER_TAKEN;
	f->last_batch_ms = clock_ms();
	pthread_mutex_unlock(&f->lock);
	if (stopped)
		return error_set(err, ERR_STOPPED, "the feed has ended");
	*ret = f->helper.pinned + (size_t)(b - f->buffers) * f->conf.size;
	return 0;
}

int gpu_feed_send(struct gpu_feed *f, size_t len, int64_t rows, const char *arrays,
		  struct error *err)
{
	enum { AROUND = 256 };
	struct feed_buffer *b = buffer_of(f, f->given);

	if (strlen(arrays) > FEED_MESSAGE_MAX - AROUND)
		return error_set(err, ERR_LIMIT,
				 "a batch's arrays need %zu bytes, expected at most %d: "
				 "read fewer columns",
				 strlen(arrays), FEED_MESSAGE_MAX - AROUND);
	pthread_mutex_lock(&f->lock);
	*b = (struct feed_buffer){ 0 };
	if (rows) {
		*b = (struct feed_buffer){ .state = BUFFER_FULL,
					   .batch = f->given++,
					   .len = len,
					   .rows = rows,
					   .arrays = xstrdup(arrays) };
		pthread_cond_broadcast(&f->changed);
	}
	f->last_batch_ms = clock_ms();
	pthread_mutex_unlock(&f->lock);
	return 0;
}

void gpu_feed_end(struct gpu_feed *f)
{
	pthread_mutex_lock(&f->lock);
	f->ended = true;
	pthread_mutex_unlock(&f->lock);
	wake_server(f);
}

int64_t gpu_feed_batches(const struct gpu_feed *f)
{
	return f->given;
}

/* ---- begin and end --------------------------------------------------------------------- */

/* Only characters that need no escaping: both are copied into JSON messages. */
static bool is_rank(const char *uuid, const char *handle)
{
	static const char hex[] = "0123456789abcdef",
			  letters[] = "0123456789abcdefGPUMI-";
	enum { HANDLE_HEX = 2 * 64 /* CUipcMemHandle */ };

	return uuid && handle && strlen(uuid) < GPU_NAME_SIZE &&
	       !uuid[strspn(uuid, letters)] && strlen(handle) == HANDLE_HEX &&
	       !handle[strspn(handle, hex)];
}

int feed_take_ranks(struct gpu_feed *f, const cJSON *answer, struct error *err)
{
	const cJSON *rank;
	uint32_t n = 0;

	json_each(rank, json_get(answer, "ranks")) {
		const char *uuid = json_str(rank, "uuid"),
			   *handle = json_str(rank, "handle");

		if (n == f->conf.n_ranks || !is_rank(uuid, handle))
			break;
		f->ranks[n].uuid = xstrdup(uuid);
		f->ranks[n].handle = xstrdup(handle);
		f->ranks[n++].absent_since = clock_ms();
	}
	if (n != f->conf.n_ranks)
		return error_set(err, ERR_FORMAT,
				 "GPU helper: %u ranks with UUID and handle, expected %u",
				 n, f->conf.n_ranks);
	return 0;
}

static int open_devices(struct gpu_feed *f, struct error *err)
{
	cleanup_json cJSON *answer = NULL;
	struct gpu_request q = { .op = GPU_OP_FEED_OPEN,
				 .device = f->conf.n_ranks,
				 .arg = { f->conf.size, f->conf.ring } };

	memcpy(q.data, f->conf.devices, f->conf.n_ranks);
	if (gpu_helper_start_pinned(&f->helper, f->conf.call_ms,
				    f->conf.ring * f->conf.size, err) ||
	    gpu_helper_call(&f->helper, &q, &answer, err))
		return -1;
	return feed_take_ranks(f, answer, err);
}

static int begin(struct gpu_feed *f, struct error *err)
{
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->wake < 0)
		return error_errno(err, errno, "eventfd");
	if (feed_listen(f, err) || open_devices(f, err) ||
	    thread_start(&f->copier, copy_all, f, err))
		return -1;
	f->has_copier = true;
	f->last_batch_ms = clock_ms();
	return 0;
}

int gpu_feed_new(struct gpu_feed **ret, const struct gpu_feed_conf *conf,
		 struct error *err)
{
	struct gpu_feed *f = xcalloc(1, sizeof(*f));

	f->conf = *conf;
	f->listener = f->wake = NONE;
	for (size_t i = 0; i < FEED_PEERS_MAX; i++)
		f->peers[i].fd = NONE;
	pthread_mutex_init(&f->lock, NULL);
	cond_init(&f->changed);
	if (begin(f, err)) {
		gpu_feed_free(f);
		return -1;
	}
	*ret = f;
	return 0;
}

static void end_copier(struct gpu_feed *f)
{
	if (!f->has_copier)
		return;
	pthread_mutex_lock(&f->lock);
	f->stopping = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->copier, NULL);
}

void gpu_feed_free(struct gpu_feed *f)
{
	if (!f)
		return;
	end_copier(f);
	if (f->helper.pid) {
		cleanup_json cJSON *answer = NULL;

		(void)!gpu_helper_call(&f->helper,
				       &(struct gpu_request){ .op = GPU_OP_FEED_CLOSE },
				       &answer, IGNORED);
	}
	gpu_helper_stop(&f->helper);
	gpu_helper_unpin(&f->helper);
	feed_hang_up(f);
	for (uint32_t i = 0; i < FEED_RING_MAX; i++)
		free(f->buffers[i].arrays);
	for (uint32_t i = 0; i < f->conf.n_ranks; i++) {
		free(f->ranks[i].uuid);
		free(f->ranks[i].handle);
		for (uint32_t k = 0; k < FEED_RING_MAX; k++)
			free(f->ranks[i].slots[k].arrays);
	}
	free(f->columns);
	if (f->wake >= 0)
		close(f->wake);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->changed);
	free(f);
}
