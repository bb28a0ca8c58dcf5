/* feed_serve.c - serve a feed's consumers over a socket (gpu/feed.h). */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "gpu/feed_impl.h"

/* ---- the socket -------------------------------------------------------------------------- */

static int address_of(struct sockaddr_un *ret, const char *path, struct error *err)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path))
		return error_set(err, ERR_INVALID,
				 "%s: longer than the %zu bytes of a socket's path", path,
				 sizeof(ret->sun_path) - 1);
	memcpy(ret->sun_path, path, strlen(path) + 1);
	return 0;
}

/* Remove the socket of a feed that was killed. */
static void remove_stale(const struct sockaddr_un *a)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd < 0 || lstat(a->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return;
	if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 &&
	    errno == ECONNREFUSED)
		unlink(a->sun_path);
}

int feed_listen(struct gpu_feed *f, struct error *err)
{
	struct sockaddr_un a;
	mode_t before;
	int rc;

	if (address_of(&a, f->conf.path, err))
		return -1;
	remove_stale(&a);
	f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (f->listener < 0)
		return error_errno(err, errno, "socket");
	before = umask(0177);
	rc = bind(f->listener, (const struct sockaddr *)&a, sizeof(a));
	umask(before);
	if (rc < 0 && errno == EADDRINUSE)
		return error_set(err, ERR_EXISTS, "%s: another process listens there",
				 f->conf.path);
	if (rc < 0)
		return error_errno(err, errno, "%s", f->conf.path);
	f->bound = true;
	if (listen(f->listener, FEED_PEERS_MAX) < 0)
		return error_errno(err, errno, "%s", f->conf.path);
	return 0;
}

/* With unread requests, the peer would get ECONNRESET instead of its last answer. */
static void close_peer(int fd)
{
	struct feed_request unread;

	shutdown(fd, SHUT_RD);
	while (recv(fd, &unread, sizeof(unread), MSG_DONTWAIT) > 0)
		;
	close(fd);
}

void feed_hang_up(struct gpu_feed *f)
{
	for (size_t i = 0; i < FEED_PEERS_MAX; i++)
		if (f->peers[i].fd >= 0)
			close_peer(f->peers[i].fd);
	if (f->listener >= 0)
		close(f->listener);
	if (f->bound)
		unlink(f->conf.path);
}

/* ---- answers --------------------------------------------------------------------- */

/* False: not sent; p->blocked: the buffer is full. feed_read() detects a closed peer. */
static bool send_text(struct feed_peer *p, const struct buf *text)
{
	ssize_t n = send(p->fd, text->data, text->len, MSG_NOSIGNAL | MSG_DONTWAIT);

	p->blocked = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
	return n >= 0;
}

static void send_error(struct feed_peer *p, const char *why)
{
	cleanup_buf struct buf text = { .max = FEED_MESSAGE_MAX };
	cleanup_json cJSON *string = cJSON_CreateString(why);
	cleanup_free char *quoted = json_text(string);

	buf_printf(&text, "{\"error\":%s}", quoted);
	send_text(p, &text);
}

static bool send_welcome(struct gpu_feed *f, struct feed_peer *p)
{
	cleanup_buf struct buf text = { .max = FEED_MESSAGE_MAX };

	buf_printf(&text,
		   "{\"version\":1,\"rank\":%td,\"ranks\":%u,\"uuid\":\"%s\","
		   "\"handle\":\"%s\",\"bytes\":%zu,\"columns\":%s}",
		   p->rank - f->ranks, f->conf.n_ranks, p->rank->uuid, p->rank->handle,
		   f->conf.ring * f->conf.size, f->columns);
	return send_text(p, &text);
}

static bool send_batch(struct gpu_feed *f, struct feed_peer *p, const struct feed_slot *s)
{
	cleanup_buf struct buf text = { .max = FEED_MESSAGE_MAX };

	buf_printf(&text,
		   "{\"batch\":%" PRId64 ",\"offset\":%zu,\"rows\":%" PRId64
		   ",\"arrays\":%s}",
		   s->batch, (size_t)(s - p->rank->slots) * f->conf.size, s->rows,
		   s->arrays);
	return send_text(p, &text);
}

static struct feed_slot *ready_slot(const struct gpu_feed *f, struct feed_rank *r)
{
	for (uint32_t i = 0; i < f->conf.ring; i++)
		if (r->slots[i].state == SLOT_READY && r->slots[i].batch == r->next)
			return &r->slots[i];
	return NULL;
}

void feed_send(struct gpu_feed *f, struct feed_peer *p)
{
	cleanup_buf struct buf end = { .max = FEED_MESSAGE_MAX };
	struct feed_slot *slot;

	if (!p->rank || !f->columns || p->ended)
		return;
	if (!p->welcomed && !(p->welcomed = send_welcome(f, p)))
		return;
	while ((slot = ready_slot(f, p->rank)) != NULL && send_batch(f, p, slot)) {
		slot->state = SLOT_SENT;
		p->rank->next++;
	}
	if (f->ended && p->rank->next == f->given) {
		buf_printf(&end, "{\"end\":true,\"batches\":%" PRId64 "}", f->given);
		p->ended = send_text(p, &end);
	}
}

/* ---- requests -------------------------------------------------------------------- */

static void free_slot(struct gpu_feed *f, struct feed_slot *s)
{
	free(s->arrays);
	*s = (struct feed_slot){ 0 };
	pthread_cond_broadcast(&f->changed);
}

/* Close the connection and free the buffers that the consumer holds. */
static void disconnect(struct gpu_feed *f, struct feed_peer *p, const char *why)
{
	char line[400];
	struct feed_rank *r = p->rank;
	int n = 0;

	for (uint32_t i = 0; r && i < f->conf.ring; i++)
		if (r->slots[i].state == SLOT_SENT) {
			free_slot(f, &r->slots[i]);
			n++;
		}
	if (r) {
		r->peer = NULL;
		r->absent_since = clock_ms();
		r->done = p->ended;
	}
	if (r && !p->ended)
		snprintf(line, sizeof(line),
			 "rank %td: process %d %s; released %d buffers", r - f->ranks,
			 (int)p->pid, why, n);
	else
		snprintf(line, sizeof(line), "process %d: %s", (int)p->pid, why);
	if (!p->ended)
		f->conf.say(f->conf.ctx, line);
	close_peer(p->fd);
	*p = (struct feed_peer){ .fd = -1 };
}

static const char *join(struct gpu_feed *f, struct feed_peer *p, uint64_t rank)
{
	if (p->rank)
		return "joined twice";
	if (rank >= f->conf.n_ranks)
		return "no such rank";
	if (f->ranks[rank].peer)
		return "the rank already has a consumer";
	if (f->ranks[rank].done)
		return "the rank has received all batches";
	p->rank = &f->ranks[rank];
	p->rank->peer = p;
	return NULL;
}

static const char *give_back(struct gpu_feed *f, struct feed_peer *p, uint64_t batch)
{
	for (uint32_t i = 0; p->rank && i < f->conf.ring; i++) {
		struct feed_slot *s = &p->rank->slots[i];

		if (s->state == SLOT_SENT && (uint64_t)s->batch == batch) {
			free_slot(f, s);
			return NULL;
		}
	}
	return "returned a batch that it does not hold";
}

static const char *handle_request(struct gpu_feed *f, struct feed_peer *p,
				  const struct feed_request *q, size_t len)
{
	if (len != sizeof(*q))
		return "sent a request of an unexpected size";
	if (q->version != FEED_VERSION)
		return "sent a request of an unsupported version";
	switch (q->op) {
	case FEED_JOIN:
		return join(f, p, q->value);
	case FEED_GIVE_BACK:
		return give_back(f, p, q->value);
	default:
		return "sent an unknown request";
	}
}

void feed_read(struct gpu_feed *f, struct feed_peer *p)
{
	struct feed_request q;
	const char *why;
	ssize_t n;

	while (p->fd >= 0) {
		n = recv(p->fd, &q, sizeof(q), MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			disconnect(f, p, "closed its connection");
			return;
		}
		why = handle_request(f, p, &q, (size_t)n);
		if (why) {
			send_error(p, why);
			disconnect(f, p, why);
		}
	}
}

/* ---- connections ------------------------------------------------------------------------- */

static void accept_one(struct gpu_feed *f, int fd)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	const int room = 2 * FEED_MESSAGE_MAX;
	struct feed_peer *p = NULL;

	for (size_t i = 0; i < FEED_PEERS_MAX && !p; i++)
		if (f->peers[i].fd < 0)
			p = &f->peers[i];
	if (!p || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0) {
		close(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	*p = (struct feed_peer){ .fd = fd, .pid = peer.pid, .since = clock_ms() };
	if (peer.uid && peer.uid != geteuid()) {
		send_error(p, "another user's process");
		disconnect(f, p, "refused: belongs to another user");
	}
}

/* ---- deadlines --------------------------------------------------------------------------- */

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Drop late connections, set *err for a late source or rank; return the next deadline. */
static int64_t check_deadlines(struct gpu_feed *f, struct error *err)
{
	int64_t now = clock_ms(), next = now + f->conf.join_ms;
	char text[DURATION_TEXT_SIZE];

	for (size_t i = 0; i < FEED_PEERS_MAX; i++) {
		struct feed_peer *p = &f->peers[i];

		if (p->fd >= 0 && !p->rank)
			next = sooner(next, p->since + f->conf.join_ms);
		if (p->fd >= 0 && !p->rank && now >= p->since + f->conf.join_ms)
			disconnect(f, p, "connected, but did not join");
	}
	if (f->last_batch_ms && !f->ended) {
		next = sooner(next, f->last_batch_ms + f->conf.source_ms);
		if (now >= f->last_batch_ms + f->conf.source_ms)
			error_set(err, ERR_TIMEOUT, "no batch within %s",
				  duration_text(f->conf.source_ms, text));
	}
	for (uint32_t i = 0; i < f->conf.n_ranks; i++) {
		const struct feed_rank *r = &f->ranks[i];

		if (r->peer || r->done)
			continue;
		next = sooner(next, r->absent_since + f->conf.join_ms);
		if (now >= r->absent_since + f->conf.join_ms)
			error_set(err, ERR_TIMEOUT, "rank %u: no consumer within %s", i,
				  duration_text(f->conf.join_ms, text));
	}
	return next;
}

/* ---- the loop ---------------------------------------------------------------------------- */

static bool all_done(const struct gpu_feed *f)
{
	for (uint32_t i = 0; i < f->conf.n_ranks; i++)
		if (!f->ranks[i].done)
			return false;
	return true;
}

/* The caller holds the lock. 1: all ranks are done; 0: continue; -1: failed. */
static int serve_once(struct gpu_feed *f, int64_t *ret_next, struct error *err)
{
	struct error late = { 0 };

	for (size_t i = 0; i < FEED_PEERS_MAX; i++)
		if (f->peers[i].fd >= 0)
			feed_send(f, &f->peers[i]);
	*ret_next = check_deadlines(f, &late);
	if (f->failed)
		*err = f->why;
	else if (late.kind)
		*err = late;
	else if (stop_requested())
		error_set(err, ERR_STOPPED, "stopped");
	else
		return all_done(f);
	for (size_t i = 0; i < FEED_PEERS_MAX; i++)
		if (f->peers[i].fd >= 0)
			send_error(&f->peers[i], err->msg);
	return -1;
}

static void wait_and_read(struct gpu_feed *f, int64_t next)
{
	enum { WAKE, LISTENER, STOP, FIRST_PEER };
	struct pollfd fds[FIRST_PEER + FEED_PEERS_MAX] = {
		[WAKE] = { .fd = f->wake, .events = POLLIN },
		[LISTENER] = { .fd = f->listener, .events = POLLIN },
		[STOP] = { .fd = stop_fd(), .events = POLLIN },
	};
	int64_t now = clock_ms();
	uint64_t count;
	int fd;

	for (size_t i = 0; i < FEED_PEERS_MAX; i++)
		fds[FIRST_PEER + i] = (struct pollfd){
			.fd = f->peers[i].fd,
			.events = (short)(POLLIN | (f->peers[i].blocked ? POLLOUT : 0)),
		};
	poll(fds, FIRST_PEER + FEED_PEERS_MAX, next > now ? (int)(next - now) : 0);
	(void)!read(f->wake, &count, sizeof(count));
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < FEED_PEERS_MAX; i++)
		if (fds[FIRST_PEER + i].fd >= 0 && fds[FIRST_PEER + i].revents)
			feed_read(f, &f->peers[i]);
	while (fds[LISTENER].revents &&
	       (fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		accept_one(f, fd);
	pthread_mutex_unlock(&f->lock);
}

int gpu_feed_run(struct gpu_feed *f, struct error *err)
{
	int64_t next;
	int rc;

	for (;;) {
		pthread_mutex_lock(&f->lock);
		rc = serve_once(f, &next, err);
		pthread_mutex_unlock(&f->lock);
		if (rc)
			return rc < 0 ? -1 : 0;
		wait_and_read(f, next);
	}
}
