/* stacks.c - read and compare the stacks of processes (supervise/stacks.h). */
#include "supervise/stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "supervise/message.h"

enum { MAX_LINE = 300 };

/* `line` begins with that text; the rest, or NULL. */
static const char *after(const char *line, size_t len, const char *text)
{
	size_t n = strlen(text);

	return len >= n && !memcmp(line, text, n) ? line + n : NULL;
}

static void add_text(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		buf_add(out, c >= 0x20 && c != 0x7f ? (const char *)&c : "?", 1);
	}
}

/* '  File "/a/b.py", line 3 in f' as "f (b.py:3)". False: it is no frame. */
static bool add_frame(struct buf *out, const char *line, size_t len)
{
	const char *path = after(line, len, "  File \""), *end = line + len;
	const char *quote = path ? memchr(path, '"', (size_t)(end - path)) : NULL;
	const char *number =
		quote ? after(quote, (size_t)(end - quote), "\", line ") : NULL;
	const char *in =
		number ? memmem(number, (size_t)(end - number), " in ", 4) : NULL;
	const char *base;

	if (!in)
		return false;
	base = memrchr(path, '/', (size_t)(quote - path));
	path = base ? base + 1 : path;
	add_text(out, in + 4, (size_t)(end - in - 4));
	buf_adds(out, " (");
	add_text(out, path, (size_t)(quote - path));
	buf_adds(out, ":");
	add_text(out, number, (size_t)(in - number));
	buf_adds(out, ")\n");
	return true;
}

void stack_read(struct buf *out, const char *text, size_t len)
{
	bool inside = false;
	int frames = 0;

	for (size_t at = 0; at < len && frames < STACK_FRAMES;) {
		const char *line = text + at;
		const char *end = memchr(line, '\n', len - at);
		size_t n = end ? (size_t)(end - line) : len - at;
		size_t cut = n < MAX_LINE ? n : MAX_LINE;

		at += n + 1;
		if (cut > out->max - out->len) /* a frame takes less than its line */
			return;
		if (after(line, cut, "Current thread "))
			inside = true;
		else if (inside && add_frame(out, line, cut))
			frames++;
		else if (inside)
			return;
	}
}

static struct stack_group *group_of(struct stacks *s, const struct buf *text)
{
	struct stack_group *g;

	for (size_t i = 0; i < s->n; i++) {
		g = &s->groups[i];
		if (g->text.len == text->len &&
		    !memcmp(g->text.data, text->data, text->len))
			return g;
	}
	if (s->n >= STACK_GROUPS)
		return NULL;
	g = &s->groups[s->n++];
	g->text.max = STACK_MAX;
	buf_add(&g->text, text->data, text->len);
	return g;
}

static int by_name(const void *a, const void *b)
{
	const struct stack_name *x = a, *y = b;

	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
				  : (x->who > y->who) - (x->who < y->who);
}

/* A rank's workers have its RANK: they are named once. The lowest STACK_NAMES are kept. */
static void add_name(struct stack_group *g, struct stack_name name)
{
	size_t n = g->n_names < STACK_NAMES ? g->n_names : STACK_NAMES;

	for (size_t i = 0; i < n; i++)
		if (!by_name(&g->names[i], &name))
			return;
	if (g->n_names && !by_name(&g->last, &name))
		return;
	g->last = name;
	g->n_names++;
	if (n < STACK_NAMES)
		g->names[n++] = name;
	else if (by_name(&name, &g->names[n - 1]) < 0)
		g->names[n - 1] = name;
	qsort(g->names, n, sizeof(g->names[0]), by_name);
}

void stacks_add(struct stacks *s, uint32_t rank, uint32_t who, const struct buf *text)
{
	struct stack_group *g;

	if (!text->len)
		return;
	s->all++;
	g = group_of(s, text);
	if (!g) {
		s->left_out++;
		return;
	}
	g->n++;
	add_name(g, (struct stack_name){ rank, who });
}

static int by_size(const void *a, const void *b)
{
	const struct stack_group *x = a, *y = b;

	return x->n != y->n ? (x->n > y->n) - (x->n < y->n)
			    : by_name(&x->names[0], &y->names[0]);
}

static void print_names(struct buf *out, const struct stack_group *g)
{
	for (size_t i = 0; i < STACK_NAMES && i < g->n_names; i++) {
		const struct stack_name *name = &g->names[i];

		buf_printf(out, "%srank %" PRIu32, i ? ", " : "", name->rank);
		if (name->who != NO_RANK && name->who != name->rank)
			buf_printf(out, " (RANK=%" PRIu32 ")", name->who);
	}
	if (g->n_names > STACK_NAMES)
		buf_printf(out, " and %" PRIu32 " more", g->n_names - STACK_NAMES);
}

static void print_group(const struct stack_group *g, uint32_t all,
			void (*say)(void *ctx, const char *line), void *ctx)
{
	cleanup_arena struct arena a = { 0 };
	char **lines = str_split(&a, (const char *)g->text.data, '\n', NULL);
	cleanup_buf struct buf names = { .max = (STACK_NAMES + 1) * 64 };

	print_names(&names, g);
	say(ctx,
	    arena_printf(&a, "the stack of %s (%" PRIu32 " of %" PRIu32 " processes):",
			 (const char *)names.data, g->n, all));
	for (; *lines && **lines; lines++) /* a peer sent it: the last \n may lack */
		say(ctx, arena_printf(&a, "  %s", *lines));
}

void stacks_print(struct stacks *s, void (*say)(void *ctx, const char *line), void *ctx)
{
	cleanup_arena struct arena a = { 0 };

	qsort(s->groups, s->n, sizeof(s->groups[0]), by_size);
	for (size_t i = 0; i < s->n; i++)
		print_group(&s->groups[i], s->all, say, ctx);
	if (s->left_out)
		say(ctx, arena_printf(&a, "%" PRIu32 " processes have other stacks",
				      s->left_out));
}

void stacks_release(struct stacks *s)
{
	for (size_t i = 0; i < s->n; i++)
		buf_release(&s->groups[i].text);
	*s = (struct stacks){ 0 };
}
