/* reply.c - write the helper's replies as JSON (gpu/helper/helper.h). */
#include <stdio.h>
#include <string.h>

#include "gpu/helper/helper.h"

static void add(struct reply *s, const char *text, size_t len)
{
	if (s->full || len >= sizeof(s->text) - s->len) {
		s->full = true;
		return;
	}
	memcpy(s->text + s->len, text, len);
	s->len += len;
}

static void quote(struct reply *s, const char *value)
{
	char escaped[8];

	add(s, "\"", 1);
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			add(s, escaped,
			    (size_t)snprintf(escaped, sizeof(escaped), "\\u%04x", c));
		else
			add(s, value, 1);
	}
	add(s, "\"", 1);
}

static void begin_value(struct reply *s, const char *key)
{
	if (s->len && !strchr("{[", s->text[s->len - 1]))
		add(s, ",", 1);
	if (key) {
		quote(s, key);
		add(s, ":", 1);
	}
}

void reply_begin(struct reply *s, const char *key, char bracket)
{
	begin_value(s, key);
	add(s, &bracket, 1);
}

void reply_end(struct reply *s, char bracket)
{
	add(s, &bracket, 1);
}

void reply_str(struct reply *s, const char *key, const char *value)
{
	begin_value(s, key);
	quote(s, value);
}

void reply_num(struct reply *s, const char *key, uint64_t value)
{
	char digits[24];

	begin_value(s, key);
	add(s, digits,
	    (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value));
}

void reply_hex(char *to, const char *from, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*to++ = digits[(unsigned char)from[i] >> 4];
		*to++ = digits[from[i] & 15];
	}
	*to = 0;
}

int reply_error(struct helper *h, enum gpu_status status, const char *message, int code)
{
	struct reply *s = &h->reply;

	s->len = 0;
	s->full = false;
	h->status = status;
	reply_begin(s, NULL, '{');
	reply_str(s, "library", h->shared->library);
	reply_str(s, "call", h->shared->call);
	reply_num(s, "code", (unsigned int)code);
	reply_str(s, "message", message);
	return -1;
}
