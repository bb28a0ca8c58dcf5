/*
 * Files of AWS's profiles: a name, a newline, then a file. Values are words of the file;
 * a section behind all others is found, and changes nothing of what they say.
 */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cloud/aws_profile.h"
#include "tests/fuzz/fuzz.h"

#define LAST_NAME "last of all"
#define LAST      "\n[ profile '" LAST_NAME "' ]\n region = q\n"
#define SERVICES  "\n[services " LAST_NAME "]\ns3 =\n endpoint_url = q\n"

struct whole {
	bool found[3];
	struct aws_profile p[3]; /* of config, of credentials, of services */
};

static void read_all(struct whole *ret, struct arena *a, const char *text,
		     const char *name)
{
	*ret = (struct whole){ 0 };
	ret->found[0] = aws_profile_read(&ret->p[0], a, text, true, name);
	ret->found[1] = aws_profile_read(&ret->p[1], a, text, false, name);
	ret->found[2] = aws_services_read(&ret->p[2], a, text, name);
}

/* Each member is a string of its own. */
enum { FIELDS = sizeof(struct aws_profile) / sizeof(const char *) };
static const char *field(const struct aws_profile *p, size_t i)
{
	return ((const char *const *)p)[i];
}

static void check_word(const char *word, const char *text)
{
	size_t len = strlen(word);

	FUZZ_CHECK(len && !strchr(word, '\n') && strstr(text, word));
	FUZZ_CHECK(!isspace((unsigned char)word[0]) &&
		   !isspace((unsigned char)word[len - 1]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = { 0 };
	const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
	const char *name, *text, *longer;
	struct whole before, after, last;

	if (!line || size > 10000)
		return 0;
	name = str_slice(&a, (const char *)data, (size_t)(line - data));
	text = str_slice(&a, (const char *)line + 1, size - (size_t)(line + 1 - data));
	longer = arena_printf(&a, "%s" LAST SERVICES, text);
	read_all(&before, &a, text, name);
	read_all(&last, &a, longer, LAST_NAME);
	FUZZ_CHECK(last.found[0] && str_eq(last.p[0].region, "q"));
	FUZZ_CHECK(last.found[2] && str_eq(last.p[2].s3_endpoint, "q"));
	if (str_eq(name, LAST_NAME) || strstr(name, "profile") ||
	    strstr(name, "services"))
		return 0;
	read_all(&after, &a, longer, name);
	for (size_t w = 0; w < 3; w++) {
		FUZZ_CHECK(before.found[w] == after.found[w]);
		for (size_t i = 0; i < FIELDS; i++) {
			const char *word = field(&before.p[w], i);

			FUZZ_CHECK(str_eq(word, field(&after.p[w], i)));
			FUZZ_CHECK(!word || before.found[w]);
			if (word)
				check_word(word, text);
		}
	}
	return 0;
}
