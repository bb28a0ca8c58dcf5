/*
 * Any messages of a feed's consumers: each is answered with JSON, a rank has one consumer,
 * who gets its batches in order and is told why it is refused. Any answer of its helper.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/xmalloc.h"
#include "gpu/feed_impl.h"
#include "tests/fuzz/fuzz.h"

enum { PEERS = 3, RANKS = 2, RING = 3, LONGEST = 40 };

static struct gpu_feed feed = { .lock = PTHREAD_MUTEX_INITIALIZER,
				.changed = PTHREAD_COND_INITIALIZER };
static struct consumer {
	int fd;
	int64_t next; /* the batch that it may get, at least */
	bool refused;
} consumers[PEERS];

static void say(void *ctx, const char *line)
{
	FUZZ_CHECK(*line);
}

static void connect_one(int i)
{
	int pair[2];

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair));
	feed.peers[i] = (struct feed_peer){ .fd = pair[0] };
	consumers[i] = (struct consumer){ .fd = pair[1] };
}

/* Two ranks with three batches each, which are all. */
static void begin(void)
{
	feed.conf = (struct gpu_feed_conf){
		.n_ranks = RANKS, .ring = RING, .size = 4096, .say = say
	};
	feed.columns = xstrdup("[]");
	feed.given = RING;
	feed.ended = true;
	for (int r = 0; r < RANKS; r++) {
		feed.ranks[r] = (struct feed_rank){ .uuid = xstrdup("GPU-1"),
						    .handle = xstrdup("00") };
		for (int i = 0; i < RING; i++)
			feed.ranks[r].slots[i] = (struct feed_slot){ SLOT_READY, i, 7,
								     xstrdup("[[7,0]]") };
	}
	for (int i = 0; i < PEERS; i++)
		connect_one(i);
}

static void end(void)
{
	for (int i = 0; i < PEERS; i++) {
		if (feed.peers[i].fd >= 0)
			close(feed.peers[i].fd);
		close(consumers[i].fd);
	}
	for (int r = 0; r < RANKS; r++) {
		free(feed.ranks[r].uuid);
		free(feed.ranks[r].handle);
		for (int i = 0; i < RING; i++)
			free(feed.ranks[r].slots[i].arrays);
	}
	free(feed.columns);
}

/*
 * What a consumer has been sent; false: no more, the feed has hung up. A close is seen
 * later if another process looks at /proc/PID/fd in that moment: then wait for it.
 */
static bool hear(struct consumer *c, bool hung_up)
{
	static char text[FEED_MESSAGE_MAX];
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };
	ssize_t n;

	if (hung_up)
		poll(&p, 1, 10 * 1000);
	while ((n = recv(c->fd, text, sizeof(text), 0)) > 0) {
		cJSON *doc = NULL;
		struct error err;
		int64_t batch;

		FUZZ_CHECK(!json_parse(&doc, text, (size_t)n, &err));
		batch = json_int(doc, -1, "batch");
		FUZZ_CHECK(batch < 0 || batch >= c->next);
		c->next = batch < 0 ? c->next : batch + 1;
		c->refused = c->refused || json_str(doc, "error");
		cJSON_Delete(doc);
	}
	FUZZ_CHECK(!n || errno == EAGAIN);
	return n < 0;
}

static void check(void)
{
	for (int r = 0; r < RANKS; r++) {
		const struct feed_rank *rank = &feed.ranks[r];

		FUZZ_CHECK(!rank->peer ||
			   (rank->peer->fd >= 0 && rank->peer->rank == rank));
		for (int i = 0; i < RING; i++)
			FUZZ_CHECK(rank->slots[i].state != SLOT_SENT || rank->peer);
	}
	for (int i = 0; i < PEERS; i++)
		FUZZ_CHECK(feed.peers[i].fd < 0 || !feed.peers[i].rank ||
			   feed.peers[i].rank->peer == &feed.peers[i]);
}

/* The server's turn. Who was dropped has been told why, and comes again. */
static void serve(int i, bool closed)
{
	if (feed.peers[i].fd >= 0)
		feed_read(&feed, &feed.peers[i]);
	if (feed.peers[i].fd >= 0)
		feed_send(&feed, &feed.peers[i]);
	check();
	if (!closed && hear(&consumers[i], feed.peers[i].fd < 0)) {
		FUZZ_CHECK(feed.peers[i].fd >= 0);
		return;
	}
	FUZZ_CHECK(feed.peers[i].fd < 0 && (closed || consumers[i].refused));
	if (!closed)
		close(consumers[i].fd);
	connect_one(i);
}

static void send_request(int i, uint32_t op, uint64_t value)
{
	const struct feed_request q = { FEED_VERSION, op, value };

	(void)!send(consumers[i].fd, &q, sizeof(q), MSG_NOSIGNAL);
}

/* A byte says who does what: JOIN, GIVE_BACK, any bytes, close; the next one, which or how many. */
static void talk(const uint8_t *data, size_t size)
{
	while (size >= 2) {
		int i = data[0] % PEERS, what = data[0] / PEERS % 4;
		size_t n = data[1] % LONGEST;

		data += 2;
		size -= 2;
		if (what < 2) {
			send_request(i, what ? FEED_GIVE_BACK : FEED_JOIN, data[-1]);
		} else if (what == 2) {
			n = n < size ? n : size;
			if (n)
				(void)!send(consumers[i].fd, data, n, MSG_NOSIGNAL);
			data += n;
			size -= n;
		} else {
			close(consumers[i].fd);
		}
		/* Some come together. */
		if (what == 3 || data[-1] < 128)
			serve(i, what == 3);
	}
	for (int i = 0; i < PEERS; i++)
		serve(i, false);
}

/* As an answer of the helper: what it says is in what a consumer is told. */
static void open_ranks(const uint8_t *data, size_t size)
{
	cJSON *answer = NULL;
	struct error err = { 0 };

	for (int r = 0; r < RANKS; r++) {
		free(feed.ranks[r].uuid);
		free(feed.ranks[r].handle);
		feed.ranks[r].uuid = feed.ranks[r].handle = NULL;
	}
	if (json_parse(&answer, (const char *)data, size, &err))
		return;
	if (feed_take_ranks(&feed, answer, &err)) {
		FUZZ_CHECK(err.kind == ERR_FORMAT && *err.msg);
	} else {
		send_request(0, FEED_JOIN, 1);
		serve(0, false);
	}
	cJSON_Delete(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	begin();
	if (size && *data == '{')
		open_ranks(data, size);
	else
		talk(data, size);
	end();
	return 0;
}
