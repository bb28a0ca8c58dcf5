/* message.c - encode and decode messages, without I/O (supervise/message.h). */
#include "supervise/message.h"

enum { HEADER = 2, NUMBERS = 9, MOST_STATUS = 255 };

bool message_same_state(const struct peer_state *a, const struct peer_state *b)
{
	return a->phase == b->phase && a->epoch == b->epoch && a->status == b->status &&
	       a->leaving == b->leaving && a->acked == b->acked;
}

/* How many numbers follow, and the largest value of each. */
static const struct {
	unsigned n;
	uint32_t max[NUMBERS];
} formats[] = {
	[MESSAGE_HELLO] = { 3, { UINT32_MAX, MESSAGE_RANKS - 1, MESSAGE_RANKS } },
	[MESSAGE_STATE] = { 7,
			    { PEER_ENDED, MESSAGE_EPOCHS, MESSAGE_EPOCHS, MOST_STATUS,
			      CAUSE_MEMORY, 1, UINT32_MAX } },
	[MESSAGE_ORDER] = { 9,
			    { ORDER_DUMP, MESSAGE_EPOCHS, MESSAGE_EPOCHS, UINT32_MAX,
			      UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
			      UINT32_MAX } },
	[MESSAGE_KEEPALIVE] = { 0, { 0 } },
	[MESSAGE_REFUSED] = { 1, { REFUSED_RANK } },
	[MESSAGE_ACTIVITY] = { 4, { MESSAGE_EPOCHS, UINT32_MAX, 100, UINT32_MAX } },
	[MESSAGE_STACK] = { 1, { UINT32_MAX } },
	[MESSAGE_DUMPED] = { 0, { 0 } },
	[MESSAGE_DATA] = { 1, { UINT32_MAX } },
};

static bool has_text(enum message_type type)
{
	return type == MESSAGE_STACK || type == MESSAGE_DATA;
}

static uint32_t get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void numbers_of(uint32_t v[NUMBERS], const struct message *m)
{
	const struct peer_state *s = &m->state;
	const struct hub_order *o = &m->order;

	switch (m->type) {
	case MESSAGE_HELLO:
		v[0] = m->hello.version;
		v[1] = m->hello.rank;
		v[2] = m->hello.ranks;
		break;
	case MESSAGE_STATE:
		memcpy(v,
		       ((uint32_t[]){ s->phase, s->epoch, s->counted, s->status, s->cause,
				      s->leaving, s->acked }),
		       7 * sizeof(*v));
		break;
	case MESSAGE_ORDER:
		v[0] = o->order;
		v[1] = o->epoch;
		v[2] = o->counted;
		memcpy(v + 3, o->token, sizeof(o->token));
		v[7] = o->attempt;
		v[8] = o->sync;
		break;
	case MESSAGE_REFUSED:
		v[0] = m->refusal;
		break;
	case MESSAGE_ACTIVITY:
		v[0] = m->activity.epoch;
		v[1] = m->activity.reports;
		v[2] = m->activity.percent;
		v[3] = m->activity.step;
		break;
	case MESSAGE_STACK:
	case MESSAGE_DATA:
		v[0] = m->stack.who;
		break;
	case MESSAGE_KEEPALIVE:
	case MESSAGE_DUMPED:
		break;
	}
}

void message_add(struct buf *out, const struct message *m)
{
	unsigned char data[MESSAGE_MAX];
	unsigned n = formats[m->type].n;
	unsigned len = has_text(m->type) ? m->stack.len : 0;
	uint32_t v[NUMBERS];

	numbers_of(v, m);
	data[0] = (unsigned char)(1 + 4 * n + len);
	data[1] = (unsigned char)m->type;
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < 4; k++)
			data[HEADER + 4 * i + k] = (unsigned char)(v[i] >> (24 - 8 * k));
	if (len)
		memcpy(data + HEADER + 4 * n, m->stack.text, len);
	buf_add(out, data, HEADER + 4 * n + len);
}

static void set(struct message *m, const uint32_t v[NUMBERS])
{
	switch (m->type) {
	case MESSAGE_HELLO:
		m->hello.version = v[0];
		m->hello.rank = v[1];
		m->hello.ranks = v[2];
		break;
	case MESSAGE_STATE:
		m->state =
			(struct peer_state){ v[0], v[1], v[2], v[3], v[4], v[5], v[6] };
		break;
	case MESSAGE_ORDER:
		m->order =
			(struct hub_order){ v[0], v[1], v[2], { v[3], v[4], v[5], v[6] },
					    v[7], v[8] };
		break;
	case MESSAGE_REFUSED:
		m->refusal = v[0];
		break;
	case MESSAGE_ACTIVITY:
		m->activity = (struct peer_activity){ v[0], v[1], v[2], v[3] };
		break;
	case MESSAGE_STACK:
	case MESSAGE_DATA:
		m->stack.who = v[0];
		break;
	case MESSAGE_KEEPALIVE:
	case MESSAGE_DUMPED:
		break;
	}
}

/* Zero is none of the orders and refusals. */
static int check(const struct message *m, struct error *err)
{
	bool wrong = (m->type == MESSAGE_HELLO && m->hello.rank >= m->hello.ranks) ||
		     (m->type == MESSAGE_ORDER && !m->order.order) ||
		     (m->type == MESSAGE_REFUSED && !m->refusal);

	return wrong ? error_set(err, ERR_FORMAT,
				 "invalid message: a wrong number in type %u", m->type)
		     : 0;
}

static int numbers(struct message *m, const unsigned char *p, struct error *err)
{
	uint32_t v[NUMBERS] = { 0 };

	for (unsigned i = 0; i < formats[m->type].n; i++) {
		v[i] = get32(p + 4 * (size_t)i);
		if (v[i] > formats[m->type].max[i])
			return error_set(err, ERR_FORMAT,
					 "invalid message: %u in type %u", v[i], m->type);
	}
	set(m, v);
	return check(m, err);
}

static bool is_right_length(const struct message *m, unsigned len)
{
	unsigned least = 1 + 4 * formats[m->type].n;

	return len == least ||
	       (has_text(m->type) && len > least && len <= least + MESSAGE_TEXT);
}

int message_decode(struct message *ret, size_t *ret_used, const void *data, size_t len,
		   struct error *err)
{
	const unsigned char *p = data;
	struct message m = { 0 };

	*ret_used = 0;
	if (len && (!p[0] || p[0] >= MESSAGE_MAX))
		return error_set(err, ERR_FORMAT, "invalid message of %u bytes", p[0]);
	if (!len || len < 1u + p[0])
		return 0;
	if (p[1] < MESSAGE_HELLO || p[1] > MESSAGE_DATA)
		return error_set(err, ERR_FORMAT, "unknown message type %u", p[1]);
	m.type = p[1];
	if (m.type == MESSAGE_HELLO && p[0] >= 5 && get32(p + HEADER) != MESSAGE_VERSION)
		m.hello.version = get32(p + HEADER);
	else if (!is_right_length(&m, p[0]))
		return error_set(err, ERR_FORMAT,
				 "invalid message: type %u with %u bytes", m.type, p[0]);
	else if (numbers(&m, p + HEADER, err))
		return -1;
	if (has_text(m.type)) {
		m.stack.len = p[0] - 5u;
		m.stack.text = (const char *)p + HEADER + 4;
	}
	*ret = m;
	*ret_used = 1u + p[0];
	return 0;
}
