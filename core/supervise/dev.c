/* dev.c - sessions of `kftrainer rerun` in a supervisor (supervise/dev.h). */
#include "supervise/dev.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "pack/receive.h"

enum {
	PIECE = 16 * 1024,
	PENDING_MAX = 2 * PIECE,
	SILENT_MS =
		60 * 1000,   /* a session that sends nothing, ranks that do not answer */
	JOIN_MS = 10 * 1000, /* a client waits so long for a rank that is not there */
	POLL_MS = 50,
	LOST_STATUS = 125,
	TELL_MAX = MANIFEST_ENTRIES / 8,
	ARGS_MOST = 1000,
};

enum phase {
	DEV_NONE,
	DEV_LISTING, /* the ranks say what they need */
	DEV_SENDING, /* until all have everything */
	DEV_SWAPPING,
};

struct dev {
	const struct dev_conf *conf;
	struct star *star;
	struct star_dev events;
	int epoll;
	struct arena arena; /* of argv */
	char **argv;        /* NULL: conf->argv */
	/* The receiver of this rank. */
	struct received received;
	pthread_t thread;
	int receiver; /* our end; -1: there is none */
	struct buf pending;
	uint32_t id;    /* of its rerun */
	bool staged;    /* the rank has everything */
	bool committed; /* so have all ranks: to be swapped */
	/* The hub's. */
	int listener, session;
	int early;        /* a client that waits until all ranks are there; or -1 */
	int64_t early_ms; /* when it came */
	enum phase phase;
	unsigned char *needs; /* a bit for each file */
	uint32_t *answered; /* by rank: the id of the rerun, once it has in this phase */
	uint32_t n_answered;
	int64_t moved; /* when there was progress */
	struct follower follower;
	bool followed; /* from S to X */
};

static bool is_hub(const struct dev *d)
{
	return d->conf->rank == 0;
}

static void watch(const struct dev *d, int fd, uint32_t events)
{
	struct epoll_event e = { .events = events };

	if (epoll_ctl(d->epoll, EPOLL_CTL_MOD, fd, &e))
		epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* ---- to the session: few and small frames, which fit into its socket ---- */

/* false: not now, as it is full. */
static bool try_write_frame(int fd, char type, const void *data, size_t len)
{
	unsigned char frame[FRAME_HEADER + TELL_MAX];

	if (fd < 0 || len > TELL_MAX)
		return true;
	receive_header(frame, type, len);
	if (len)
		memcpy(frame + FRAME_HEADER, data, len);
	return send(fd, frame, FRAME_HEADER + len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
	       errno != EAGAIN;
}

static void write_frame(int fd, char type, const void *data, size_t len)
{
	if (!try_write_frame(fd, type, data, len))
		shutdown(fd, SHUT_RDWR);
}

static void close_follower(struct dev *d)
{
	int fd = d->follower.fd;

	if (fd < 0)
		return;
	shutdown(fd, SHUT_RDWR); /* a relay that waits for it goes on */
	pthread_mutex_lock(&d->follower.lock);
	d->follower.fd = -1;
	close(fd);
	pthread_mutex_unlock(&d->follower.lock);
	d->followed = false;
}

static void close_session(struct dev *d)
{
	if (d->session >= 0)
		close(d->session);
	d->session = -1;
}

/* ---- the receiver of this rank ---- */

static void *receive(void *ctx)
{
	receive_run(ctx);
	return NULL;
}

/* The staged files remain in d->received, to be swapped or released. */
static void stop_receiver(struct dev *d)
{
	if (d->receiver < 0)
		return;
	shutdown(d->receiver, SHUT_RDWR);
	pthread_join(d->thread, NULL);
	close(d->receiver);
	close(d->received.fd);
	d->receiver = -1;
	buf_clear(&d->pending);
}

static void drop_receiver(struct dev *d)
{
	if (d->receiver < 0 || d->committed)
		return;
	stop_receiver(d);
	receive_release(&d->received);
}

static void start_receiver(struct dev *d, uint32_t id)
{
	struct error err = { 0 };
	int ends[2];

	drop_receiver(d);
	d->id = id;
	d->staged = false;
	if (d->committed || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return;
	d->received = (struct received){ .dir = d->conf->dir, .fd = ends[1] };
	if (thread_start(&d->thread, receive, &d->received, &err)) {
		close(ends[0]);
		close(ends[1]);
		return;
	}
	d->receiver = ends[0];
	watch(d, d->receiver, EPOLLIN);
}

static void flush_pending(struct dev *d)
{
	while (d->receiver >= 0 && d->pending.len) {
		size_t n = d->pending.len < PIECE ? d->pending.len : PIECE;

		if (send(d->receiver, d->pending.data, n, MSG_NOSIGNAL | MSG_DONTWAIT) <
		    0) {
			watch(d, d->receiver, EPOLLIN | EPOLLOUT);
			return;
		}
		buf_drop(&d->pending, n);
	}
	if (d->receiver >= 0)
		watch(d, d->receiver, EPOLLIN);
}

/* false: the receiver is slower, for now. */
static bool to_receiver(struct dev *d, const void *data, size_t len)
{
	if (d->receiver < 0)
		return true;
	buf_add(&d->pending, data, len);
	flush_pending(d);
	return !d->pending.len;
}

/* ---- the hub: answers of the ranks ---- */

static void abandon(struct dev *d, const char *why)
{
	if (d->phase == DEV_NONE)
		return;
	if (d->phase != DEV_SWAPPING) {
		star_send(d->star, d->id, NULL, 0);
		drop_receiver(d);
	}
	write_frame(d->session, '!', why, strlen(why));
	close_session(d);
	d->phase = DEV_NONE;
}

static void enter(struct dev *d, enum phase phase)
{
	d->phase = phase;
	d->n_answered = 0;
	memset(d->answered, 0, d->conf->ranks * sizeof(*d->answered));
}

static void record_needs(struct dev *d, const unsigned char *data, size_t len)
{
	for (size_t i = 0; i + 4 <= len; i += 4) {
		uint32_t number = receive_number(data + i);

		if (number < MANIFEST_ENTRIES)
			d->needs[number / 8] |= (unsigned char)(1u << number % 8);
	}
}

static void send_needs(struct dev *d)
{
	write_frame(d->session, 'N', d->needs, MANIFEST_ENTRIES / 8);
	enter(d, DEV_SENDING);
}

static void commit(struct dev *d)
{
	static const char nothing[1];

	enter(d, DEV_SWAPPING);
	close_follower(d); /* of the run that this ends */
	star_hold(d->star);
	d->committed = true;
	/* A byte after the last frame: the others swap. */
	star_send(d->star, d->id, nothing, 1);
}

static void release(struct dev *d)
{
	pthread_mutex_lock(&d->follower.lock);
	d->follower.fd = d->session;
	pthread_mutex_unlock(&d->follower.lock);
	d->session = -1;
	d->phase = DEV_NONE;
	star_release(d->star);
}

/* All ranks have answered in this phase. */
static void advance(struct dev *d)
{
	if (d->phase == DEV_LISTING)
		send_needs(d);
	else if (d->phase == DEV_SENDING)
		commit(d);
	else if (d->phase == DEV_SWAPPING)
		release(d);
}

static void rank_failed(struct dev *d, uint32_t rank, const unsigned char *text,
			size_t len)
{
	char why[RECEIVE_ANSWER + 32];

	if (d->conf->ranks > 1)
		snprintf(why, sizeof(why), "rank %u: %.*s", rank, (int)len, text);
	else
		snprintf(why, sizeof(why), "%.*s", (int)len, text);
	abandon(d, why);
}

static void read_answer(struct dev *d, uint32_t rank, const unsigned char *p, size_t len)
{
	static const char of_phase[] = { [DEV_NONE] = 0,
					 [DEV_LISTING] = 'E',
					 [DEV_SENDING] = 'K',
					 [DEV_SWAPPING] = 'Y' };

	d->moved = clock_ms();
	if (p[0] == '!') {
		rank_failed(d, rank, p + 1, len - 1);
	} else if (p[0] == 'N' && d->phase == DEV_LISTING) {
		record_needs(d, p + 1, len - 1);
	} else if (p[0] == of_phase[d->phase] && d->answered[rank] != d->id) {
		d->answered[rank] = d->id;
		if (++d->n_answered == d->conf->ranks)
			advance(d);
	}
}

/* The state of this rank. */
static void answer(struct dev *d, const unsigned char *packet, size_t len)
{
	if (is_hub(d))
		read_answer(d, 0, packet, len);
	else
		star_send(d->star, d->id, packet, len);
}

/* ---- events of the star ---- */

static bool on_data(void *ctx, uint32_t rank, uint32_t id, const void *data, size_t len)
{
	struct dev *d = ctx;

	if (is_hub(d)) {
		if (d->phase != DEV_NONE && id == d->id && len)
			read_answer(d, rank, data, len);
		return true;
	}
	if (id != d->id)
		start_receiver(d, id);
	if (!len)
		drop_receiver(d);
	else if (d->staged)
		d->committed = true;
	else
		return to_receiver(d, data, len);
	return true;
}

static void on_lost(void *ctx, uint32_t rank)
{
	struct dev *d = ctx;
	char why[80];

	snprintf(why, sizeof(why), "the connection to rank %u was lost; run it again",
		 rank);
	if (is_hub(d))
		abandon(d, why);
	else
		drop_receiver(d);
}

/* ---- sessions ---- */

static bool is_same_user(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       peer.uid == geteuid();
}

static const char *refusal(struct dev *d, char text[120])
{
	int64_t missing = star_missing(d->star);

	if (d->phase != DEV_NONE || d->committed || d->early >= 0)
		return "another rerun is in progress; wait until it has started the "
		       "command";
	if (missing < 0)
		return NULL;
	snprintf(text, 120, "rank %lld is missing: its pod has not started, or was lost",
		 (long long)missing);
	return text;
}

static void refuse(int fd, const char *why)
{
	write_frame(fd, '!', why, strlen(why));
	close(fd);
}

static void begin_session(struct dev *d, int fd)
{
	char text[120];
	const char *why = refusal(d, text);

	if (why) {
		refuse(fd, why);
		return;
	}
	start_receiver(d, d->id + 1);
	if (star_ended(d->star))
		star_hold(d->star); /* the job's idle time begins again */
	d->session = fd;
	d->moved = clock_ms();
	memset(d->needs, 0, MANIFEST_ENTRIES / 8);
	enter(d, DEV_LISTING);
	watch(d, fd, EPOLLIN);
}

static void accept_session(struct dev *d)
{
	int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	bool whole = star_missing(d->star) < 0;

	if (fd >= 0 && !is_same_user(fd)) {
		refuse(fd, "the socket is another user's");
	} else if (fd >= 0 && !whole && d->early < 0) {
		d->early = fd;
		d->early_ms = clock_ms();
	} else if (fd >= 0) {
		begin_session(d, fd);
	}
	if (d->early >= 0 && (whole || clock_ms() >= d->early_ms + JOIN_MS)) {
		fd = d->early;
		d->early = -1;
		begin_session(d, fd);
	}
}

/* Pass on what all ranks can take; the socket keeps the rest. */
static void read_session(struct dev *d)
{
	size_t room = star_room(d->star);
	char data[PIECE];
	ssize_t n;

	if (d->session < 0)
		return;
	if (!room || d->pending.len) {
		watch(d, d->session, 0);
		return;
	}
	watch(d, d->session, EPOLLIN);
	n = recv(d->session, data, room < PIECE ? room : PIECE, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && d->phase != DEV_SWAPPING) {
		d->moved = clock_ms();
		star_send(d->star, d->id, data, (size_t)n);
		to_receiver(d, data, (size_t)n);
	} else if (n <= 0 && d->phase == DEV_SWAPPING) {
		close_session(d); /* the command starts all the same */
	} else if (n <= 0) {
		abandon(d, "");
	}
}

/* ---- the run ---- */

static void send_end(struct dev *d, const struct hub_dev *end)
{
	char text[120] = "";
	int n;

	text[0] = (char)(end->lost ? LOST_STATUS : end->status);
	if (end->lost)
		n = snprintf(text + 1, sizeof(text) - 1, "rank %u was lost", end->rank);
	else if (end->status && end->rank)
		n = snprintf(text + 1, sizeof(text) - 1, "rank %u ended with status %u",
			     end->rank, end->status);
	else
		n = 0;
	if (try_write_frame(d->follower.fd, 'X', text, (size_t)n + 1))
		close_follower(d);
	else
		watch(d, d->follower.fd,
		      EPOLLRDHUP | EPOLLOUT); /* the output is read first */
}

void dev_started(struct dev *d)
{
	write_frame(d->follower.fd, 'S', NULL, 0);
	d->followed = d->follower.fd >= 0;
	if (d->followed)
		watch(d, d->follower.fd, EPOLLRDHUP);
}

/* A client that has gone. */
static void check_follower(struct dev *d)
{
	char byte;

	if (d->follower.fd >= 0 &&
	    !recv(d->follower.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT))
		close_follower(d);
}

/* ---- the swap ---- */

static void append_arguments(struct dev *d)
{
	const struct buf *args = &d->received.args;
	size_t n = 0, at = 0;

	arena_clear(&d->arena);
	while (d->conf->argv[n])
		n++;
	d->argv = arena_alloc(&d->arena, (n + ARGS_MOST + 1) * sizeof(*d->argv));
	memcpy(d->argv, d->conf->argv, n * sizeof(*d->argv));
	for (size_t most = n + ARGS_MOST; at < args->len && n < most;
	     at += strlen((char *)args->data + at) + 1)
		d->argv[n++] = arena_strdup(&d->arena, (char *)args->data + at);
	d->argv[n] = NULL;
}

static void swap(struct dev *d)
{
	char packet[RECEIVE_ANSWER] = "Y";
	struct error err = { 0 };

	stop_receiver(d);
	if (receive_swap(&d->received, &err))
		snprintf(packet, sizeof(packet), "!%.*s", RECEIVE_ANSWER - 2, err.msg);
	else
		append_arguments(d);
	receive_release(&d->received);
	d->committed = false;
	answer(d, (unsigned char *)packet, strlen(packet));
}

char *const *dev_command(struct dev *d)
{
	return d->argv ? d->argv : d->conf->argv;
}

/* ---- events ---- */

static void read_receiver(struct dev *d)
{
	unsigned char packet[RECEIVE_ANSWER];

	while (d->receiver >= 0 && star_room(d->star) >= sizeof(packet)) {
		ssize_t n = recv(d->receiver, packet, sizeof(packet), MSG_DONTWAIT);

		if (n <= 0)
			return;
		d->staged |= packet[0] == 'K';
		answer(d, packet, (size_t)n);
	}
}

void dev_step(struct dev *d, bool idle)
{
	struct epoll_event events[8];
	const struct hub_dev *end = is_hub(d) ? star_ended(d->star) : NULL;
	bool was_full = d->pending.len > 0;

	epoll_wait(d->epoll, events, 8, 0); /* all are looked at anyway */
	read_receiver(d);
	flush_pending(d);
	if (was_full && !d->pending.len)
		star_resume(d->star);
	if (is_hub(d)) {
		accept_session(d);
		read_session(d);
		check_follower(d);
		if (d->phase != DEV_NONE && d->phase != DEV_SWAPPING &&
		    clock_ms() >= d->moved + SILENT_MS)
			abandon(d, "nothing was received for a minute");
		if (end && d->followed && idle)
			send_end(d, end);
	}
	if (d->committed && idle)
		swap(d);
}

int dev_fd(const struct dev *d)
{
	return d->epoll;
}

int64_t dev_until(const struct dev *d)
{
	if (d->early >= 0)
		return clock_ms() + POLL_MS;
	return d->phase == DEV_NONE || d->phase == DEV_SWAPPING ? INT64_MAX
								: d->moved + SILENT_MS;
}

struct follower *dev_follower(struct dev *d)
{
	return &d->follower;
}

/* ---- begin ---- */

static int listen_at(struct dev *d, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *dir = path_join(&arena, d->conf->dir, PACK_RECEIVED);
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	cleanup_fd int at = -1;

	if (dir_make(dir, 0700, err))
		return -1;
	at = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return error_errno(err, errno, "%s", dir);
	unlinkat(at, "socket", 0);
	/* The directory's own path may be too long. */
	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/socket", at);
	d->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->listener < 0 || bind(d->listener, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(d->listener, 8))
		return error_errno(err, errno, "%s/socket", dir);
	watch(d, d->listener, EPOLLIN);
	d->needs = xcalloc(1, MANIFEST_ENTRIES / 8);
	d->answered = xcalloc(d->conf->ranks, sizeof(*d->answered));
	return 0;
}

int dev_open(struct dev **ret, const struct dev_conf *conf, struct star *star,
	     struct error *err)
{
	struct dev *d = xcalloc(1, sizeof(*d));

	d->conf = conf;
	d->star = star;
	d->receiver = d->listener = d->session = d->early = -1;
	d->follower.fd = -1;
	d->pending.max = PENDING_MAX;
	d->events = (struct star_dev){ on_data, on_lost, d };
	pthread_mutex_init(&d->follower.lock, NULL);
	*ret = d; /* never freed: ends with the process */
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (d->epoll < 0)
		return error_errno(err, errno, "epoll");
	star_develop(star, &d->events);
	return is_hub(d) ? listen_at(d, err) : 0;
}
