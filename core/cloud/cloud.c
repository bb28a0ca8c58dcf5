/* Settings of all providers; see cloud.h. */
#include "cloud/cloud.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { MAX_PATH = 64 * 1024 };

static size_t name_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

/* The value of the variable at `s`, a '$'; *ret_len: of its reference. NULL: none. */
static const char *variable(struct arena *arena, const struct cloud_conf *conf,
			    const char *s, size_t *ret_len)
{
	size_t brace = s[1] == '{', len = name_length(s + 1 + brace);

	if (!len || (brace && s[2 + len] != '}'))
		return NULL;
	*ret_len = 1 + len + 2 * brace;
	return cloud_env(conf, str_slice(arena, s + 1 + brace, len));
}

const char *cloud_path(struct arena *arena, const struct cloud_conf *conf,
		       const char *path)
{
	cleanup_buf struct buf text = { .max = MAX_PATH };
	const char *home = cloud_env(conf, "HOME");

	if (home && str_starts(path, "~/")) {
		buf_adds(&text, home);
		path++;
	}
	while (*path) {
		size_t len = 1;
		const char *value =
			*path == '$' ? variable(arena, conf, path, &len) : NULL;

		if (value)
			buf_adds(&text, value);
		else
			buf_add(&text, path, len);
		path += len;
	}
	return text.len && !text.overflowed ? arena_strdup(arena, (const char *)text.data)
					    : "";
}
