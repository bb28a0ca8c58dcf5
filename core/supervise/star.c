/* star.c - connections between hub and peers (supervise/star.h). */
#include "supervise/star.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sock.h"
#include "base/xmalloc.h"
#include "net/dial.h"
#include "net/preauth.h"
#include "supervise/hub.h"
#include "supervise/peerconn.h"
#include "supervise/stacks.h"
#include "supervise/star_dial.h"

enum {
	EVENTS = 64,
	SPARE_PREAUTH = 128, /* connections beyond one per rank */
	PREAUTH_MS = 10 * 1000,
	FIRST_PAUSE_MS = 50,
	LAST_PAUSE_MS = 1000,
	LINES_MS = 10 * 1000,
	LINES_MAX = 10,
	REPORT_MS = 60 * 1000,
};

struct star {
	const struct star_conf *conf;
	struct psk *psk;
	int epoll;
	struct peerconn *conns; /* newest first */
	struct peer_state mine;
	struct hub_order order; /* the last one for this rank */
	bool news;              /* `order` is not taken yet */
	struct error fatal;
	const struct star_dev *dev; /* or NULL */
	/* The hub's. */
	int listener;
	struct hub hub;
	struct peerconn **by_rank;
	struct preauth preauth;
	struct stacks stacks;
	struct supervision reported; /* the last time, at `reported_at` */
	int64_t reported_at, begun;  /* begun: seconds since 1970 */
	struct {
		int64_t since, lines, left_out;
	} refusals;
	/* A peer's; it has at most one connection. */
	struct star_dial dial;
	int64_t dial_at, pause; /* -1: not now */
	int64_t lost_since;     /* -1: connected, or never was */
	bool refused;           /* and logged */
};

static void free_ended(struct star *s, int64_t now);

static bool is_hub(const struct star *s)
{
	return s->conf->rank == 0;
}

__attribute__((format(printf, 2, 3))) static void say(const struct star *s,
						      const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->conf->say(s->conf->ctx, text);
}

/* At most ten lines in ten seconds: anybody can cause them. */
static void say_refusal(struct star *s, const struct peerconn *l, int64_t now)
{
	if (now - s->refusals.since >= LINES_MS) {
		if (s->refusals.left_out)
			say(s, "refused %lld more connections",
			    (long long)s->refusals.left_out);
		s->refusals.since = now;
		s->refusals.lines = s->refusals.left_out = 0;
	}
	if (s->refusals.lines++ < LINES_MAX)
		say(s, "refused a connection from %s: %s", l->peer, l->why.msg);
	else
		s->refusals.left_out++;
}

/* ---- connections ---- */

static void watch(struct star *s, struct peerconn *l)
{
	struct epoll_event e = { .events = peerconn_events(l), .data.ptr = l };

	if (l->over || l->watched == e.events)
		return;
	epoll_ctl(s->epoll, l->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, l->fd, &e);
	l->watched = e.events;
}

static struct peerconn *add_conn(struct star *s, int fd, const char *peer, int64_t now)
{
	struct peerconn *l = peerconn_new(s->psk, fd, peer, now);

	dial_watch(fd, PEERCONN_TIMEOUT_MS / 1000);
	l->next = s->conns;
	s->conns = l;
	watch(s, l);
	return l;
}

static void take_order(struct star *s, const struct hub_order *order)
{
	s->order = *order;
	s->news = true;
}

/* ---- the hub ---- */

static void send_order(struct star *s, struct peerconn *l, int64_t now)
{
	struct message m = { .type = MESSAGE_ORDER, .order = s->hub.order };

	peerconn_send(l, &m, now);
	watch(s, l);
}

static void report(struct star *s, int64_t now)
{
	int64_t ms[SUPERVISION_SLICES];

	if (!s->conf->report)
		return;
	s->reported = s->hub.counts;
	s->reported.since = s->begun;
	s->reported.at = clock_now();
	account_read(&s->hub.account, ms, now);
	for (int i = 0; i < SUPERVISION_SLICES; i++)
		s->reported.seconds[i] = ms[i] / 1000;
	s->reported_at = now;
	s->conf->report(s->conf->report_ctx, &s->reported);
}

static bool counts_changed(const struct star *s)
{
	const struct supervision *now = &s->hub.counts, *then = &s->reported;

	return now->restarts != then->restarts || now->lost != then->lost ||
	       now->stalls != then->stalls || now->failed != then->failed ||
	       now->rank != then->rank || now->status != then->status;
}

/* After each event of s->hub: say and send what is new. */
static void apply_hub(struct star *s, const struct hub_order *before, int64_t now)
{
	struct buf *line = &s->hub.log_line;

	if (before->order == ORDER_DUMP && s->hub.order.order != ORDER_DUMP) {
		stacks_print(&s->stacks, s->conf->say, s->conf->ctx);
		stacks_release(&s->stacks);
	}
	memcpy(s->hub.order.token, s->conf->token, sizeof(s->conf->token));
	s->hub.order.attempt = s->conf->attempt;
	s->hub.order.sync = s->conf->sync;
	if (line->len)
		say(s, "%s", (const char *)line->data);
	buf_clear(line);
	if (!memcmp(before, &s->hub.order, sizeof(*before)))
		return;
	take_order(s, &s->hub.order);
	if (counts_changed(s) || s->order.order == ORDER_FREE)
		report(s, now);
	for (uint32_t i = 0; i < s->conf->ranks; i++)
		if (s->by_rank[i] && s->by_rank[i]->stated) /* else with its state */
			send_order(s, s->by_rank[i], now);
}

static void set_state(struct star *s, uint32_t rank, const struct peer_state *state,
		      int64_t now)
{
	struct hub_order before = s->hub.order;

	hub_state(&s->hub, rank, state, now);
	apply_hub(s, &before, now);
}

static void leave(struct star *s, const struct peerconn *l, int64_t now)
{
	struct hub_order before = s->hub.order;

	s->by_rank[l->rank] = NULL;
	if (s->dev)
		s->dev->on_lost(s->dev->ctx, (uint32_t)l->rank);
	hub_left(&s->hub, (uint32_t)l->rank, l->received, now);
	apply_hub(s, &before, now);
}

/*
 * The connection stays until the peer has read why and closes it: closing it with unread bytes
 * would lose the message.
 */
static void refuse(struct star *s, struct peerconn *l, enum message_refusal refusal,
		   int64_t now)
{
	struct message m = { .type = MESSAGE_REFUSED, .refusal = refusal };

	if (refusal == REFUSED_VERSION)
		error_set(&l->why, ERR_UNSUPPORTED,
			  "another version of the protocol; this program has version %d",
			  MESSAGE_VERSION);
	else
		error_set(&l->why, ERR_INVALID, "not a rank of this job");
	say_refusal(s, l, now);
	l->refused = true;
	peerconn_send(l, &m, now);
}

static void replace(struct star *s, uint32_t rank, struct peerconn *l, int64_t now)
{
	struct peerconn *old = s->by_rank[rank];

	if (old) { /* the newest connection is the one that works */
		leave(s, old, now);
		peerconn_end(old, ERR_NONE, "");
	}
	preauth_remove(&s->preauth, l->peer);
	l->rank = rank;
	s->by_rank[rank] = l;
}

static void take_hello(struct star *s, struct peerconn *l, const struct message *m,
		       int64_t now)
{
	uint32_t rank = m->hello.rank;

	if (m->hello.version != MESSAGE_VERSION)
		refuse(s, l, REFUSED_VERSION, now);
	else if (!rank || m->hello.ranks != s->conf->ranks)
		refuse(s, l, REFUSED_RANK, now);
	else
		replace(s, rank, l, now);
}

static void add_piece(struct star *s, struct peerconn *l, const struct peer_stack *piece)
{
	l->stack.max = STACK_MAX;
	buf_add(&l->stack, piece->text, piece->len);
	if (piece->len)
		return;
	if (s->hub.order.order == ORDER_DUMP)
		stacks_add(&s->stacks, (uint32_t)l->rank, piece->who, &l->stack);
	buf_release(&l->stack);
}

static void set_dumped(struct star *s, uint32_t rank, int64_t now)
{
	struct hub_order before = s->hub.order;

	hub_dumped(&s->hub, rank, now);
	apply_hub(s, &before, now);
}

static void read_state(struct star *s, struct peerconn *l, const struct peer_state *state,
		       int64_t now)
{
	set_state(s, (uint32_t)l->rank, state, now);
	if (!l->stated)
		send_order(s, l, now);
	l->stated = true;
}

static int take_from_peer(void *ctx, struct peerconn *l, const struct message *m,
			  struct error *err)
{
	struct star *s = ctx;
	int64_t now = clock_ms();

	if (l->refused)
		return 0;
	if (m->type == MESSAGE_HELLO && l->rank < 0) {
		take_hello(s, l, m, now);
		return 0;
	}
	if (l->rank >= 0 && m->type == MESSAGE_STATE)
		read_state(s, l, &m->state, now);
	else if (l->rank >= 0 && m->type == MESSAGE_ACTIVITY)
		hub_activity(&s->hub, &m->activity, now);
	else if (l->rank >= 0 && m->type == MESSAGE_STACK)
		add_piece(s, l, &m->stack);
	else if (l->rank >= 0 && m->type == MESSAGE_DUMPED)
		set_dumped(s, (uint32_t)l->rank, now);
	else if (l->rank > 0 && m->type == MESSAGE_DATA && s->dev)
		s->dev->on_data(s->dev->ctx, (uint32_t)l->rank, m->stack.who,
				m->stack.text, m->stack.len);
	else
		return error_set(err, ERR_FORMAT, "unexpected message of type %u",
				 m->type);
	return 0;
}

/* The oldest of the address with the most: a flood ends no other. */
static void end_oldest_preauth(struct star *s)
{
	struct peerconn *oldest = NULL;
	int most = 0;

	for (struct peerconn *l = s->conns; l; l = l->next) {
		int n = l->rank < 0 && !l->over ? preauth_count(&s->preauth, l->peer) : 0;

		if (n && n >= most) {
			most = n;
			oldest = l;
		}
	}
	if (oldest)
		peerconn_end(oldest, ERR_LIMIT, "too many connections");
}

static void accept_some(struct star *s, int64_t now)
{
	char peer[SOCK_ADDRESS_SIZE];

	for (int i = 0; i < PREAUTH_ACCEPT_BATCH; i++) {
		int fd = sock_accept(s->listener, peer);

		if (fd < 0)
			return;
		if (s->preauth.n >= (int64_t)s->conf->ranks + SPARE_PREAUTH)
			end_oldest_preauth(s);
		add_conn(s, fd, peer, now);
		preauth_add(&s->preauth, peer);
		free_ended(s, now);
	}
}

static void hub_tick(struct star *s, int64_t now)
{
	struct hub_order before = s->hub.order;

	for (struct peerconn *l = s->conns; l; l = l->next)
		if (l->rank < 0 && now >= l->since + PREAUTH_MS)
			peerconn_end(l, ERR_TIMEOUT,
				     "it did not identify itself in time");
	hub_time(&s->hub, now);
	apply_hub(s, &before, now);
	if (now >= s->reported_at + REPORT_MS)
		report(s, now);
}

/* ---- a peer ---- */

static void send_state(struct star *s, struct peerconn *l, int64_t now)
{
	struct message m = { .type = MESSAGE_STATE, .state = s->mine };

	peerconn_send(l, &m, now);
	watch(s, l);
}

static void say_hello(struct star *s, struct peerconn *l, int64_t now)
{
	struct message m = { .type = MESSAGE_HELLO,
			     .hello = { MESSAGE_VERSION, s->conf->rank,
					s->conf->ranks } };

	peerconn_send(l, &m, now);
	send_state(s, l, now);
}

static int take_from_hub(void *ctx, struct peerconn *l, const struct message *m,
			 struct error *err)
{
	struct star *s = ctx;

	if (m->type == MESSAGE_REFUSED)
		return error_set(&s->fatal, ERR_UNSUPPORTED,
				 "rank 0's supervisor refuses rank %u: it has another %s",
				 s->conf->rank,
				 m->refusal == REFUSED_VERSION ? "version"
							       : "number of ranks");
	if (m->type == MESSAGE_DATA && s->dev) {
		l->paused = !s->dev->on_data(s->dev->ctx, 0, m->stack.who, m->stack.text,
					     m->stack.len);
		return 0;
	}
	if (m->type != MESSAGE_ORDER)
		return error_set(err, ERR_FORMAT, "unexpected message of type %u",
				 m->type);
	s->lost_since = -1;
	s->refused = false;
	s->mine.counted = m->order.counted;
	take_order(s, &m->order);
	if (m->order.order == ORDER_FREE && !s->conf->stays)
		peerconn_end(l, ERR_NONE, "");
	return 0;
}

/* A line of the log for the first failure of its kind, not for each try. */
static void say_refused(struct star *s, const struct error *why)
{
	if (why->kind == ERR_UNTRUSTED && !s->refused)
		say(s,
		    "rank 0's supervisor at %s:%d does not have the key of this job: %s",
		    s->conf->hub, s->conf->port, why->msg);
	s->refused |= why->kind == ERR_UNTRUSTED;
}

static void redial(struct star *s, int64_t now)
{
	if (s->order.order == ORDER_FREE)
		return;
	s->dial_at = now + s->pause;
	s->pause = s->pause * 2 < LAST_PAUSE_MS ? s->pause * 2 : LAST_PAUSE_MS;
}

/* ---- both ---- */

/* Record that a connection has ended; the caller frees it. */
static void ended(struct star *s, const struct peerconn *l, int64_t now)
{
	if (!is_hub(s)) {
		say_refused(s, &l->why);
		if (s->dev)
			s->dev->on_lost(s->dev->ctx, 0);
		if (s->lost_since < 0 && s->order.order)
			s->lost_since = now;
		redial(s, now);
		return;
	}
	if (l->rank < 0) {
		preauth_remove(&s->preauth, l->peer);
		/* A connection without a byte is a probe of the port. */
		if (!l->refused && (l->received > l->since || l->why.kind != ERR_IO))
			say_refusal(s, l, now);
	} else if (s->by_rank[l->rank] == l) {
		if (l->closed)
			hub_closed(&s->hub, (uint32_t)l->rank);
		leave(s, l, now);
	}
}

static void free_ended(struct star *s, int64_t now)
{
	for (struct peerconn **at = &s->conns; *at;) {
		struct peerconn *l = *at;

		if (!l->over) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		ended(s, l, now);
		peerconn_free(l);
	}
}

static void step_conn(struct star *s, struct peerconn *l, int64_t now)
{
	bool opened;

	peerconn_step(l, is_hub(s) ? take_from_peer : take_from_hub, s, &opened, now);
	if (!opened || is_hub(s)) {
		watch(s, l);
		return;
	}
	s->pause = FIRST_PAUSE_MS;
	say_hello(s, l, now);
}

static void peer_tick(struct star *s, int64_t now)
{
	int fd;

	if (s->lost_since >= 0 && now >= s->lost_since + HUB_AWAY_MAX_MS &&
	    s->order.order != ORDER_FREE) {
		say(s, "rank 0's supervisor has been away for ten minutes: this rank "
		       "continues without it");
		take_order(s, &(struct hub_order){ .order = ORDER_FREE });
	}
	if (star_dial_ended(&s->dial, &fd)) {
		if (fd >= 0)
			step_conn(s, add_conn(s, fd, s->conf->hub, now), now);
		else
			redial(s, now);
	}
	if (s->dial_at >= 0 && now >= s->dial_at) {
		s->dial_at = -1;
		star_dial_start(&s->dial);
	}
}

int star_step(struct star *s, struct error *err)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(s->epoll, events, EVENTS, 0);
	int64_t now = clock_ms();

	for (int i = 0; i < n; i++)
		if (events[i].data.ptr)
			step_conn(s, events[i].data.ptr, now);
	if (is_hub(s) && s->listener >= 0)
		accept_some(s, now);
	for (struct peerconn *l = s->conns; l; l = l->next)
		peerconn_tick(l, now);
	if (is_hub(s))
		hub_tick(s, now);
	else
		peer_tick(s, now);
	free_ended(s, now);
	for (struct peerconn *l = s->conns; l; l = l->next)
		watch(s, l);
	if (!s->fatal.kind)
		return 0;
	*err = s->fatal;
	return -1;
}

static void sooner(int64_t *until, int64_t at)
{
	if (at >= 0 && at < *until)
		*until = at;
}

int64_t star_until(const struct star *s)
{
	int64_t until = s->news ? 0 : INT64_MAX;

	for (const struct peerconn *l = s->conns; l; l = l->next) {
		sooner(&until, peerconn_until(l));
		if (is_hub(s) && l->rank < 0)
			sooner(&until, l->since + PREAUTH_MS);
	}
	if (is_hub(s)) {
		sooner(&until, hub_until(&s->hub));
		sooner(&until, s->conf->report ? s->reported_at + REPORT_MS : -1);
		sooner(&until, star_is_over(s) ? -1 : hub_over_at(&s->hub));
	} else {
		sooner(&until, s->dial_at);
		sooner(&until, s->lost_since < 0 || s->order.order == ORDER_FREE
				       ? -1
				       : s->lost_since + HUB_AWAY_MAX_MS);
	}
	return until;
}

int star_fd(const struct star *s)
{
	return s->epoll;
}

void star_report(struct star *s, const struct peer_state *state)
{
	uint32_t counted = s->mine.counted;
	int64_t now = clock_ms();

	s->mine = *state;
	s->mine.counted = counted;
	if (is_hub(s))
		set_state(s, 0, &s->mine, now);
	else if (s->conns && s->conns->open)
		send_state(s, s->conns, now);
}

static void send(struct star *s, const struct message *m)
{
	if (!s->conns || !s->conns->open)
		return;
	peerconn_send(s->conns, m, clock_ms());
	watch(s, s->conns);
}

void star_activity(struct star *s, const struct peer_activity *activity)
{
	if (is_hub(s))
		hub_activity(&s->hub, activity, clock_ms());
	else
		send(s, &(struct message){ .type = MESSAGE_ACTIVITY,
					   .activity = *activity });
}

void star_stack(struct star *s, uint32_t who, const struct buf *text)
{
	struct message m = { .type = MESSAGE_STACK, .stack = { who, 0, "" } };

	if (is_hub(s)) {
		stacks_add(&s->stacks, 0, who, text);
		return;
	}
	for (size_t at = 0; at < text->len; at += m.stack.len) {
		size_t left = text->len - at;

		m.stack.text = (const char *)text->data + at;
		m.stack.len = left < MESSAGE_TEXT ? (uint32_t)left : MESSAGE_TEXT;
		send(s, &m);
	}
	m.stack.len = 0;
	send(s, &m);
}

void star_dumped(struct star *s)
{
	if (is_hub(s))
		set_dumped(s, 0, clock_ms());
	else
		send(s, &(struct message){ .type = MESSAGE_DUMPED });
}

bool star_order(struct star *s, struct hub_order *ret)
{
	bool news = s->news;

	*ret = s->order;
	s->news = false;
	return news;
}

uint32_t star_acked(const struct star *s)
{
	return hub_acked(&s->hub);
}

bool star_has_failed(const struct star *s)
{
	return s->order.order == ORDER_FREE && s->hub.first_failed != NO_RANK;
}

bool star_others_succeeded(const struct star *s)
{
	return hub_others_succeeded(&s->hub);
}

bool star_is_alone(const struct star *s)
{
	for (uint32_t i = 0; i < s->conf->ranks; i++)
		if (s->by_rank[i])
			return false;
	return true;
}

bool star_is_over(const struct star *s)
{
	return !is_hub(s) || s->order.order != ORDER_FREE ||
	       clock_ms() >= hub_over_at(&s->hub);
}

void star_leave(struct star *s)
{
	for (struct peerconn *l = s->conns; l; l = l->next)
		peerconn_end(l, ERR_NONE, "");
	free_ended(s, clock_ms());
}

/* ---- a job in development ---- */

void star_develop(struct star *s, const struct star_dev *dev)
{
	s->dev = dev;
}

static bool has_rank(const struct star *s, const struct peerconn *l)
{
	return !is_hub(s) || (l->rank >= 0 && s->by_rank[l->rank] == l);
}

void star_send(struct star *s, uint32_t id, const void *data, size_t len)
{
	int64_t now = clock_ms();

	for (struct peerconn *l = s->conns; l; l = l->next)
		if (l->open && !l->over && has_rank(s, l)) {
			peerconn_send_data(l, id, data, len, now);
			watch(s, l);
		}
}

size_t star_room(const struct star *s)
{
	size_t room = SIZE_MAX;

	for (const struct peerconn *l = s->conns; l; l = l->next)
		if (has_rank(s, l) && peerconn_room(l) < room)
			room = peerconn_room(l);
	return room;
}

void star_resume(struct star *s)
{
	for (struct peerconn *l = s->conns; l; l = l->next) {
		if (!l->paused)
			continue;
		l->paused = false;
		step_conn(s, l, clock_ms()); /* TLS may hold what was read */
	}
}

int64_t star_missing(const struct star *s)
{
	for (uint32_t i = 0; i < s->conf->ranks; i++)
		if (!s->hub.ranks[i].joined)
			return i;
	return -1;
}

static void change_hub(struct star *s, void (*change)(struct hub *h, int64_t now))
{
	struct hub_order before = s->hub.order;
	int64_t now = clock_ms();

	change(&s->hub, now);
	apply_hub(s, &before, now);
}

void star_hold(struct star *s)
{
	change_hub(s, hub_hold);
}

void star_release(struct star *s)
{
	change_hub(s, hub_release);
}

const struct hub_dev *star_ended(const struct star *s)
{
	return s->hub.dev.held ? &s->hub.dev : NULL;
}

/* Other descriptors than connections have no pointer. */
static int add_fd(const struct star *s, int fd, struct error *err)
{
	struct epoll_event e = { .events = EPOLLIN };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e)
		       ? error_errno(err, errno, "epoll")
		       : 0;
}

static int open_hub(struct star *s, struct error *err)
{
	size_t n = s->conf->ranks;

	s->reported_at = clock_ms();
	s->begun = clock_now();
	hub_init(&s->hub, s->conf->rules, xcalloc(n, sizeof(struct hub_rank)),
		 s->conf->ranks, s->reported_at);
	s->hub.dev = (struct hub_dev){ .on = s->conf->idle_ms > 0,
				       .idle_ms = s->conf->idle_ms };
	s->by_rank = xcalloc(n, sizeof(*s->by_rank));
	take_order(s, &s->hub.order);
	if (n == 1)
		return 0;
	return preauth_init(&s->preauth, err) ||
			       sock_listen(&s->listener, NULL, s->conf->port, err) ||
			       add_fd(s, s->listener, err)
		       ? -1
		       : 0;
}

static int open_peer(struct star *s, struct error *err)
{
	return star_dial_init(&s->dial, s->conf->hub, s->conf->port, err) ||
			       add_fd(s, s->dial.done, err)
		       ? -1
		       : 0;
}

int star_open(struct star **ret, const struct star_conf *conf, struct error *err)
{
	struct star *s = xcalloc(1, sizeof(*s));

	s->conf = conf;
	s->lost_since = -1;
	s->listener = -1;
	s->pause = FIRST_PAUSE_MS;
	*ret = s; /* never freed: ends with the process */
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return error_errno(err, errno, "epoll");
	if (conf->ranks > 1 && psk_new(&s->psk, is_hub(s) ? PSK_SERVER : PSK_CLIENT,
				       conf->key, STAR_KEY_INFO, err))
		return -1;
	return is_hub(s) ? open_hub(s, err) : open_peer(s, err);
}
