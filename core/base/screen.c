/* screen.c - rewrite lines as a terminal does (base/screen.h). */
#include "base/screen.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum {
	ESC = 0x1b,
	BEL = 0x07,
	LEAD_C1 = 0xc2, /* of U+0080 to U+00bf in UTF-8 */
	FORGET_UP = 32, /* after as many newlines, lines are reported at once again */
	KEEP_TEXT = 16 * 1024,
};

enum { TEXT, ESCAPE, CHARSET, CSI, STRING, STRING_ESCAPE };

/* ---- rows ---------------------------------------------------------------------------- */

static struct screen_row *row_of(struct screen *s)
{
	if (!s->n)
		s->n = 1;
	return &s->rows[s->at];
}

static size_t limit(const struct screen *s)
{
	return s->keep ? s->max / SCREEN_ROWS : s->max;
}

/* Only spaces and colors: what programs leave of a bar that they remove. */
static bool is_blank(const struct screen_row *r)
{
	const char *p = (const char *)r->text.data;
	size_t i = r->tag, n;

	while (i < r->text.len &&
	       (n = p[i] == ' ' ? 1 : screen_colour(p + i, r->text.len - i)))
		i += n;
	return i >= r->text.len;
}

static void report(struct screen *s, struct screen_row *r)
{
	if (r->cut && s->mark)
		buf_adds(&r->text, s->mark);
	if (r->written && !(r->rewritten && is_blank(r)))
		s->on_line(s->ctx, r->text.data ? (const char *)r->text.data : "",
			   r->text.len);
}

static void empty(struct screen_row *r)
{
	struct buf text = r->text;

	if (text.cap > KEEP_TEXT)
		buf_release(&text);
	buf_clear(&text);
	*r = (struct screen_row){ .text = text };
}

/* Report the first row, and move the others up. */
static void scroll(struct screen *s)
{
	struct screen_row first = s->rows[0];

	report(s, &first);
	empty(&first);
	memmove(s->rows, s->rows + 1, (s->n - 1) * sizeof(first));
	s->rows[--s->n] = first;
	s->at -= s->at > 0;
	s->newest -= s->newest > 0;
}

/* The first write to a row: its tag. */
static void begin(struct screen *s, struct screen_row *r)
{
	if (r->written)
		return;
	r->written = true;
	r->text.max = s->max + SCREEN_TAG + (s->mark ? strlen(s->mark) : 0);
	buf_add(&r->text, s->tag, s->tag_len);
	r->tag = s->tag_len;
}

static void clear(struct screen_row *r)
{
	r->rewritten |= r->text.len > r->tag;
	r->text.len = r->text.len < r->tag ? r->text.len : r->tag;
	r->cut = false;
}

/* The end of "12/20 [00:01<00:02, 4.1it/s, loss=1]" or "5it [00:01, 4.1it/s]"; 0: none. */
static size_t bar_end(const char *text, size_t len)
{
	const char *end = text + len, *at = text, *p;
	size_t depth = 1;

	while ((at = memmem(at, (size_t)(end - at), " [", 2))) {
		at += 2;
		for (p = at; p < end && (isdigit((unsigned char)*p) || *p == ':'); p++)
			;
		if (end - p > 1 && p - at >= 5 && p[-3] == ':' && p[-2] != ':' &&
		    p[-1] != ':' && strchr("<,", *p))
			break;
	}
	if (!at)
		return 0;
	while (at < end && depth) {
		depth += *at == '[';
		depth -= *at == ']';
		at++;
	}
	return depth ? 0 : (size_t)(at - text);
}

/* Where a line begins that was written behind a bar; 0: there is none. */
static size_t behind_bar(const struct screen_row *r)
{
	const char *text = (const char *)r->text.data;
	size_t at = r->returned && !r->cut && r->text.len > r->tag
			    ? bar_end(text + r->tag, r->text.len - r->tag)
			    : 0;

	if (!at)
		return 0;
	for (at += r->tag; at < r->text.len && text[at] == ' '; at++)
		;
	return at < r->text.len ? at : 0;
}

/* Remove the first bytes of a character whose last ones do not fit. */
static void drop_partial(struct screen_row *r)
{
	const unsigned char *text = r->text.data, *end = text + r->text.len;
	size_t n = 1, most = r->text.len - r->tag;

	while (n < most && n < 4 && (*(end - n) & 0xc0) == 0x80)
		n++;
	if (most && *(end - n) >= 0xc0 && !utf8_length(end - n, end))
		r->text.len -= n;
}

static void put(struct screen *s, const char *data, size_t len)
{
	struct screen_row *r = row_of(s);
	size_t room;

	begin(s, r);
	if (!s->inside) {
		s->suffixed |= r->text.len > r->tag && behind_bar(r);
		clear(r);
		if (r->returned)
			buf_clear(&s->bar);
	}
	s->inside = true;
	s->newest = s->at;
	room = r->text.len - r->tag < limit(s) ? limit(s) - (r->text.len - r->tag) : 0;
	if (r->cut)
		return;
	r->cut = len > room;
	if (r->cut)
		len = *data == ESC ? 0 : utf8_cut(data, len, room);
	buf_add(&r->text, data, len);
	if (r->cut)
		drop_partial(r);
}

/* The row's text goes into s->bar, but for the line behind it. */
static void split(struct screen *s, struct screen_row *r)
{
	size_t at = behind_bar(r), bar;

	if (!at || s->suffixed || s->n > 1 || s->keep)
		return;
	bar = r->tag + bar_end((char *)r->text.data + r->tag, r->text.len - r->tag);
	buf_clear(&s->bar);
	s->bar.max = s->max + SCREEN_TAG;
	buf_add(&s->bar, r->text.data, bar);
	memmove(r->text.data + r->tag, r->text.data + at, r->text.len - at);
	r->text.len -= at - r->tag;
	r->rewritten = false;
}

/* The newline of a bar behind which a line was written: its state, in place of "". */
static void end_bar(struct screen *s, struct screen_row *r)
{
	if (!s->bar.len || r->text.len > r->tag)
		return;
	r->text.len = 0;
	buf_add(&r->text, s->bar.data, s->bar.len);
	buf_clear(&s->bar);
}

static void new_line(struct screen *s)
{
	struct screen_row *r = row_of(s);

	split(s, r);
	s->inside = false;
	if (s->at + 1 < s->n) {
		s->at++;
		return;
	}
	begin(s, r);
	end_bar(s, r);
	if (s->keep && ++s->straight > FORGET_UP)
		s->keep = 0;
	while (s->n > s->keep) /* first: there may be no room for one more */
		scroll(s);
	s->at = s->n++;
}

static void cursor_up(struct screen *s, size_t by)
{
	size_t most = SCREEN_ROWS - 1, more;

	(void)row_of(s);
	by = by < most ? by : most;
	s->straight = 0;
	more = by > s->at ? by - s->at : 0;
	if (more > SCREEN_ROWS - s->n)
		more = SCREEN_ROWS - s->n;
	if (more) { /* rows that were reported: they will be written again */
		struct screen_row spare[SCREEN_ROWS];

		memcpy(spare, s->rows + s->n, more * sizeof(*spare));
		memmove(s->rows + more, s->rows, s->n * sizeof(*spare));
		memcpy(s->rows, spare, more * sizeof(*spare));
		s->n += more;
		s->at += more;
		s->newest += more;
	}
	s->at -= by < s->at ? by : s->at;
	if (s->n - 1 - s->at > s->keep)
		s->keep = s->n - 1 - s->at;
}

static void cursor_down(struct screen *s, size_t by)
{
	size_t most = s->n ? s->n - 1 - s->at : 0;

	s->at += by < most ? by : most;
}

static bool ends_with_colour(const struct screen_row *r)
{
	size_t n = r->text.len - r->tag, most = SCREEN_SEQUENCE + 3;
	const char *text = (const char *)r->text.data, *esc;

	if (!n)
		return false;
	n = n < most ? n : most;
	text += r->text.len - n;
	esc = memrchr(text, ESC, n);
	return esc &&
	       screen_colour(esc, (size_t)(text + n - esc)) == (size_t)(text + n - esc);
}

/* Delete the last character; before a color it stays. Was there one to delete? */
static bool backspace(struct screen *s)
{
	struct screen_row *r = row_of(s);

	if (!s->inside || r->text.len <= r->tag || ends_with_colour(r))
		return false;
	r->rewritten = true;
	while (r->text.len > r->tag && (r->text.data[r->text.len - 1] & 0xc0) == 0x80)
		r->text.len--;
	if (r->text.len > r->tag && !ends_with_colour(r))
		r->text.len--;
	return true;
}

static void erase(struct screen *s)
{
	struct screen_row *r = row_of(s);

	if (r->text.len > r->tag)
		clear(r);
}

/* ---- escape sequences ------------------------------------------------------------------ */

/* The first number of the sequence. */
static size_t number(const struct screen *s, size_t absent)
{
	size_t n = 0;

	if (!isdigit((unsigned char)s->sequence[0]))
		return absent;
	for (size_t i = 0; i < s->n_sequence && isdigit((unsigned char)s->sequence[i]);
	     i++)
		n = n < 100000 ? 10 * n + (size_t)(s->sequence[i] - '0') : n;
	return n ? n : absent;
}

static void colour(struct screen *s)
{
	char text[SCREEN_SEQUENCE + 4];
	size_t len = s->n_sequence;
	bool reset = !len || (len == 1 && *s->sequence == '0');
	bool inside = s->inside;

	if (len >= SCREEN_SEQUENCE)
		return;
	snprintf(text, sizeof(text), "\033[%.*sm", (int)len, s->sequence);
	if (!screen_colour(text, len + 3))
		return;
	if (reset) /* at the start of a line it belongs to the text that is there */
		s->inside = true;
	put(s, text, len + 3);
	s->inside = reset ? inside : true;
}

static void move_left(struct screen *s, size_t by)
{
	const struct screen_row *r = row_of(s);

	if (by >= r->text.len - r->tag)
		s->inside = false;
	else
		while (by-- && backspace(s))
			;
}

static void move(struct screen *s, char final)
{
	size_t by = number(s, 1);

	switch (final) {
	case 'A':
	case 'F':
		cursor_up(s, by);
		break;
	case 'B':
	case 'E':
		cursor_down(s, by);
		break;
	case 'D':
		move_left(s, by);
		break;
	default:
		break;
	}
	if (final == 'E' || final == 'F' || ((final == 'G' || final == '`') && by == 1))
		s->inside = false;
}

static void control(struct screen *s, char final)
{
	switch (final) {
	case 'm':
		colour(s);
		break;
	case 'H':
	case 'f':
		if (row_of(s)->text.len > row_of(s)->tag)
			new_line(s);
		break;
	case 'J':
		if (!number(s, 0) && !s->inside)
			erase(s);
		break;
	case 'K':
		if (number(s, 0) || !s->inside)
			erase(s);
		break;
	default:
		move(s, final);
	}
}

static void begin_sequence(struct screen *s, unsigned char c)
{
	s->n_sequence = 0;
	s->sequence[0] = 0;
	s->state = TEXT;
	if (c == '[')
		s->state = CSI;
	else if (c && strchr("]PX^_", c))
		s->state = STRING;
	else if (c >= 0x20 && c < 0x30)
		s->state = CHARSET;
	else if (c == 'M')
		cursor_up(s, 1);
}

/* A byte of a control sequence; others end it. */
static void in_csi(struct screen *s, unsigned char c)
{
	if (c >= 0x20 && c < 0x40) {
		if (s->n_sequence < SCREEN_SEQUENCE)
			s->sequence[s->n_sequence++] = (char)c;
		return;
	}
	s->state = TEXT;
	if (c >= 0x40 && c < 0x7f)
		control(s, (char)c);
}

/* A byte within a sequence. false: it ends the sequence, and does not belong to it. */
static bool in_sequence(struct screen *s, unsigned char c)
{
	if (s->state == STRING) {
		s->state = c == BEL || c == '\n' ? TEXT
			   : c == ESC            ? STRING_ESCAPE
						 : STRING;
		return c != '\n';
	}
	if (s->state == STRING_ESCAPE && c == '\\') {
		s->state = TEXT;
		return true;
	}
	if (s->state == CSI)
		in_csi(s, c);
	else if (s->state != CHARSET)
		begin_sequence(s, c);
	else if (c < 0x20 || c >= 0x30)
		s->state = TEXT;
	return c >= 0x20 && c < 0x7f;
}

/* ---- characters ------------------------------------------------------------------------ */

/* The character of several bytes is complete, or is none. */
static void end_rune(struct screen *s)
{
	char text[8];

	if ((unsigned char)s->rune[0] == LEAD_C1 && s->n_rune == 2 &&
	    (unsigned char)s->rune[1] < 0xa0) {
		snprintf(text, sizeof(text), "\\x%02x", (unsigned char)s->rune[1]);
		put(s, text, strlen(text));
	} else if (s->n_rune) {
		put(s, s->rune, s->n_rune);
	}
	s->n_rune = 0;
}

static void put_byte(struct screen *s, char c)
{
	bool more = ((unsigned char)c & 0xc0) == 0x80;

	if (s->n_rune && !more)
		end_rune(s);
	if ((unsigned char)c == LEAD_C1 || s->n_rune) {
		s->rune[s->n_rune++] = c;
		if (s->n_rune == 2)
			end_rune(s);
	} else {
		put(s, &c, 1);
	}
}

static void one_byte(struct screen *s, char c)
{
	if (s->state != TEXT && in_sequence(s, (unsigned char)c))
		return;
	s->state = TEXT;
	if (s->n_rune && ((unsigned char)c & 0xc0) != 0x80)
		end_rune(s);
	switch (c) {
	case '\n':
		new_line(s);
		break;
	case '\r':
		s->inside = false;
		row_of(s)->returned = true;
		break;
	case '\b':
		(void)backspace(s);
		break;
	case ESC:
		s->state = ESCAPE;
		break;
	default:
		put_byte(s, c);
	}
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

enum { KINDS = 5 };

/* The bytes of a write, and the next one of each kind that is not plain text. */
struct piece {
	const char *data;
	size_t len, next[KINDS];
};

/* The next byte of that kind; each byte is looked at once per kind. */
static size_t next_of(struct piece *p, int kind, size_t at)
{
	static const char kinds[KINDS] = { '\n', '\r', '\b', ESC, (char)LEAD_C1 };

	if (p->next[kind] <= at) {
		const char *found = memchr(p->data + at, kinds[kind], p->len - at);

		p->next[kind] = 1 + (found ? (size_t)(found - p->data) : p->len);
	}
	return p->next[kind] - 1;
}

/* The first byte from `at` on that moves the cursor, or may begin a control character. */
static size_t special(struct piece *p, size_t at)
{
	size_t ret = p->len;

	for (int i = 1; i < KINDS; i++)
		ret = least(ret, next_of(p, i, at));
	return ret;
}

static size_t newline_at(struct piece *p, size_t at)
{
	return next_of(p, 0, at);
}

/* Is there no text but what was reported? */
static bool is_between_lines(const struct screen *s)
{
	return s->n <= 1 && !s->keep && s->state == TEXT && !s->inside && !s->n_rune &&
	       !s->tag_len && !s->bar.len && !(s->n && s->rows[0].written);
}

/* Nothing is begun: report whole lines without a copy. Returns the end of the last one. */
static size_t whole_lines(struct screen *s, struct piece *p, size_t at)
{
	size_t end, stop;

	if (!is_between_lines(s))
		return at;
	while (at < p->len && (end = newline_at(p, at)) < p->len) {
		stop = special(p, at);
		if (end - at > s->max ||
		    (stop < end && !(stop + 1 == end && p->data[stop] == '\r')))
			break;
		s->on_line(s->ctx, p->data + at, least(stop, end) - at);
		at = end + 1;
	}
	return at;
}

/* How far up the sequence moves the cursor; 0: it does not, or is not complete. */
static size_t ups(const char *p, size_t len)
{
	size_t n = 0, i = 2;

	while (i < len && i < 5 && isdigit((unsigned char)p[i]))
		n = 10 * n + (size_t)(p[i++] - '0');
	if (i >= len || p[1] != '[' || (p[i] != 'A' && p[i] != 'F'))
		return 0;
	return n ? least(n, SCREEN_ROWS) : 1;
}

void screen_look_ahead(struct screen *s, const char *data, size_t len)
{
	const char *end = data + len, *p = memchr(data, ESC, len);
	size_t up = 0, most = 0;

	while (p) {
		const char *next = memchr(p + 1, ESC, (size_t)(end - p - 1));

		up += ups(p, (size_t)(end - p));
		most = most > up ? most : up;
		for (const char *c = p; up && c < (next ? next : end); c++)
			up -= *c == '\n';
		p = next;
	}
	most = least(most, SCREEN_ROWS - 1);
	s->keep = s->keep > most ? s->keep : most;
}

void screen_write(struct screen *s, const char *data, size_t len)
{
	struct piece p = { .data = data, .len = len };
	size_t at, end;

	screen_look_ahead(s, data, len);
	at = whole_lines(s, &p, 0);
	while (at < len) {
		end = s->state == TEXT && !s->n_rune
			      ? least(special(&p, at), newline_at(&p, at))
			      : at;
		if (end > at) {
			put(s, data + at, end - at);
			at = end;
		} else {
			one_byte(s, data[at++]);
			if (data[at - 1] == '\n')
				at = whole_lines(s, &p, at);
		}
	}
}

void screen_tag(struct screen *s, const char *tag, size_t len)
{
	s->tag_len = least(len, SCREEN_TAG);
	memcpy(s->tag, tag, s->tag_len);
}

const char *screen_state(const struct screen *s, size_t *ret_len, bool *ret_bar)
{
	const struct screen_row *r = &s->rows[s->newest];

	if (s->newest >= s->n || !r->written || r->text.len <= r->tag)
		return NULL;
	*ret_len = r->text.len;
	*ret_bar = r->rewritten || !s->inside || s->n > 1;
	return (const char *)r->text.data;
}

void screen_end(struct screen *s)
{
	end_rune(s);
	for (size_t i = 0; i < s->n; i++)
		if (i + 1 < s->n || s->rows[i].text.len > s->rows[i].tag)
			report(s, &s->rows[i]);
	if (s->bar.len)
		s->on_line(s->ctx, (const char *)s->bar.data, s->bar.len);
	screen_release(s);
}

void screen_release(struct screen *s)
{
	for (size_t i = 0; i < SCREEN_ROWS; i++)
		buf_release(&s->rows[i].text);
	buf_release(&s->bar);
	*s = (struct screen){
		.on_line = s->on_line, .ctx = s->ctx, .max = s->max, .mark = s->mark
	};
}

/* ---- text ------------------------------------------------------------------------------ */

size_t screen_colour(const char *p, size_t len)
{
	size_t i = 2;

	if (len < 3 || p[0] != ESC || p[1] != '[')
		return 0;
	while (i < len && (isdigit((unsigned char)p[i]) || p[i] == ';' || p[i] == ':'))
		i++;
	return i < len && p[i] == 'm' ? i + 1 : 0;
}

const char *screen_uncoloured(const char *line, size_t *len, char *room, size_t size)
{
	size_t n = 0;

	if (!memchr(line, ESC, *len))
		return line;
	for (size_t i = 0; i < *len && n < size;) {
		size_t sequence = screen_colour(line + i, *len - i);

		if (!sequence)
			room[n++] = line[i];
		i += sequence ? sequence : 1;
	}
	*len = n;
	return room;
}

static void add_line(void *ctx, const char *line, size_t len)
{
	struct buf *out = ctx;

	if (out->len)
		buf_adds(out, "\n");
	for (size_t i = 0; i < len;) {
		const char *next = memchr(line + i, ESC, len - i);
		size_t n = next ? (size_t)(next - line) - i : len - i;

		buf_add(out, line + i, n);
		i += n;
		i += next ? screen_colour(next, len - i) : 0;
	}
}

const char *screen_text(struct arena *arena, const char *text)
{
	size_t len = strlen(text);
	cleanup_buf struct buf out = { .max = 4 * len + 1 };
	struct screen s = { .on_line = add_line, .ctx = &out, .max = len + 1 };

	if (!strpbrk(text, "\r\b\033\302"))
		return text;
	screen_write(&s, text, len);
	screen_end(&s);
	return arena_strdup(arena, out.data ? (const char *)out.data : "");
}
