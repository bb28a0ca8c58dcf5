/* names.c - checks names, labels and keys (api/names.h). */
#include "api/names.h"

#include <string.h>

#include "base/str.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

/* Are all len bytes in `inner`, and the first and last in `ends`? */
static bool is_word(const char *s, size_t len, const char *ends, const char *inner)
{
	return len && strspn(s, inner) >= len && strchr(ends, s[0]) &&
	       strchr(ends, s[len - 1]);
}

static bool is_label(const char *s, size_t len)
{
	return is_word(s, len, LOWER DIGIT, LOWER DIGIT "-");
}

static bool is_subdomain(const char *s, size_t len)
{
	const char *end = s + len, *dot;

	while ((dot = memchr(s, '.', (size_t)(end - s)))) {
		if (!is_label(s, (size_t)(dot - s)))
			return false;
		s = dot + 1;
	}
	return is_label(s, (size_t)(end - s));
}

static bool is_qualified(const char *s, size_t len)
{
	return is_word(s, len, LOWER UPPER DIGIT, LOWER UPPER DIGIT "-_.");
}

bool name_is_dns1035(const char *s)
{
	return *s && strchr(LOWER, *s) && is_label(s, strlen(s));
}

const char *name_label_invalid(const char *s)
{
	if (strlen(s) > NAME_LABEL_MAX)
		return "must have 63 characters at most";
	if (is_label(s, strlen(s)))
		return NULL;
	if (is_subdomain(s, strlen(s)))
		return "must not contain dots";
	return "must consist of lower case letters, digits and '-', and "
	       "start and end with a letter or a digit";
}

const char *name_subdomain_invalid(const char *s)
{
	if (strlen(s) > NAME_SUBDOMAIN_MAX)
		return "must have 253 characters at most";
	if (is_subdomain(s, strlen(s)))
		return NULL;
	return "must consist of lower case letters, digits, '-' and '.', "
	       "and start and end with a letter or a digit";
}

const char *name_key_invalid(const char *s)
{
	const char *slash = strchr(s, '/'), *name = slash ? slash + 1 : s;
	size_t prefix = slash ? (size_t)(slash - s) : 0;

	if (slash && (prefix > NAME_SUBDOMAIN_MAX || !is_subdomain(s, prefix)))
		return "must have a DNS subdomain before the '/', of 253 "
		       "characters at most";
	if (strlen(name) > NAME_LABEL_MAX)
		return "must have 63 characters at most after the '/'";
	if (!is_qualified(name, strlen(name)))
		return "must consist of letters, digits, '-', '_' and '.', start "
		       "and end with a letter or a digit, and may have a DNS "
		       "subdomain and '/' before it";
	return NULL;
}

const char *name_value_invalid(const char *s)
{
	if (strlen(s) > NAME_LABEL_MAX)
		return "must have 63 characters at most";
	if (!*s || is_qualified(s, strlen(s)))
		return NULL;
	return "must be empty or consist of letters, digits, '-', '_' and "
	       "'.', and start and end with a letter or a digit";
}

int name_check_job(const char *name, struct error *err)
{
	if (*name && !str_eq(name, ".") && !str_eq(name, "..") && !strpbrk(name, "/%"))
		return 0;
	return error_set(err, ERR_USAGE, "invalid TrainJob name '%s'", name);
}
