/* split.c - splits the JSON of a list into its items as it arrives (api/split.h). */
#include "api/split.h"

#include <string.h>

void split_reset(struct split *s)
{
	*s = (struct split){
		.item = s->item, .around = s->around, .on_item = s->on_item, .ctx = s->ctx
	};
	buf_clear(&s->item);
	buf_clear(&s->around);
}

static void in_string(struct split *s, char c)
{
	if (s->escaped)
		s->escaped = false;
	else if (c == '\\')
		s->escaped = true;
	else if (c == '"')
		s->in_string = false;
	if (s->in_string && s->depth == 1) {
		if (s->key_len < sizeof(s->key) - 1)
			s->key[s->key_len] = c;
		s->key_len++;
	}
}

/* Update the state by a character outside of strings. */
static void in_structure(struct split *s, char c)
{
	switch (c) {
	case '"':
		s->in_string = true;
		if (s->depth == 1) {
			memset(s->key, 0, sizeof(s->key));
			s->key_len = 0;
		}
		break;
	case '[':
		if (s->depth == 1 && s->key_len == 5 && !strcmp(s->key, "items"))
			s->in_items = true;
		s->depth++;
		break;
	case '{':
		s->depth++;
		break;
	case ']':
	case '}':
		s->depth--;
		if (s->depth <= 1)
			s->in_items = false;
		break;
	}
}

static int item_done(struct split *s, struct error *err)
{
	int rc;

	if (buf_check(&s->item, "an object of the list", err))
		return -1;
	rc = s->on_item(s->ctx, (char *)s->item.data, s->item.len, err);
	buf_clear(&s->item);
	return rc;
}

/* Consecutive bytes for the same buffer are added at once; `from` is the first. */
int split_feed(struct split *s, const void *data, size_t len, struct error *err)
{
	const char *p = data, *end = p + len, *from = p;

	for (; p < end; p++) {
		bool was_item = s->in_items && s->depth > 2, is_item;

		if (s->in_string) {
			in_string(s, *p);
			continue;
		}
		if (s->in_items && s->depth == 2 && *p == ',') {
			buf_add(&s->around, from, (size_t)(p - from));
			from = p + 1;
			continue;
		}
		in_structure(s, *p);
		is_item = s->in_items && s->depth > 2;
		if (is_item == was_item)
			continue;
		buf_add(is_item ? &s->around : &s->item, from,
			(size_t)(p - from) + was_item);
		from = p + was_item;
		if (was_item && item_done(s, err))
			return -1;
	}
	buf_add(s->in_items && s->depth > 2 ? &s->item : &s->around, from,
		(size_t)(end - from));
	if (buf_check(&s->item, "an object of the list", err))
		return -1;
	return buf_check(&s->around, "what is around the objects of the list", err);
}
