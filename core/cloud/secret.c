/* Reads tokens from a file or a variable; see secret.h. */
#include "cloud/secret.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { MAX_SECRET = 64 * 1024 };

int secret_take(const char **ret, struct arena *arena, const char *text, const char *from,
		struct error *err)
{
	const char *secret = str_trim(arena, text);

	if (!*secret)
		return error_set(
			err, ERR_INVALID,
			"the token in %s is empty: set it, or unset the variable", from);
	if (strlen(secret) > MAX_SECRET)
		return error_set(err, ERR_INVALID, "the token in %s is too long", from);
	for (const unsigned char *p = (const unsigned char *)secret; *p; p++)
		if (*p <= ' ' || *p >= 0x7f)
			return error_set(err, ERR_INVALID,
					 "the token in %s contains an invalid character, "
					 "such as a space or newline",
					 from);
	/* As of a line NAME="TOKEN" that is read without a shell; no token has any. */
	if (strchr("\"'", *secret) && secret[strlen(secret) - 1] == *secret)
		return error_set(err, ERR_INVALID,
				 "the token in %s is in quotes: leave them out", from);
	*ret = secret;
	return 0;
}

int secret_read(const char **ret, struct arena *arena, const char *path, const char *from,
		struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_SECRET };
	int rc;

	buf_adds(&text, "");
	if (file_read(&text, path, err))
		return error_wrap(err, "%s", from);
	if (memchr(text.data, 0, text.len))
		rc = error_set(err, ERR_INVALID, "the token in %s contains NUL", from);
	else
		rc = secret_take(ret, arena, (const char *)text.data, from, err);
	explicit_bzero(text.data, text.len);
	return rc;
}
