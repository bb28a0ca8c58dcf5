#include "store/aws_profile.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { MAX_FILE = 256 * 1024 };

const char *aws_env(struct arena *arena, const struct store_conf *conf, const char *name)
{
	const char *value = store_env(conf, name);

	value = value ? str_trim(arena, value) : "";
	return *value ? value : NULL;
}

static const char *in_home(struct arena *arena, const struct store_conf *conf,
			   const char *variable, const char *name)
{
	const char *set = aws_env(arena, conf, variable);
	const char *home = aws_env(arena, conf, "HOME");

	if (set)
		return set;
	return home ? path_join(arena, home, name) : NULL;
}

struct aws_files aws_files_of(struct arena *arena, const struct store_conf *conf)
{
	const char *profile = aws_env(arena, conf, "AWS_PROFILE");

	return (struct aws_files){
		.credentials = in_home(arena, conf, "AWS_SHARED_CREDENTIALS_FILE",
				       ".aws/credentials"),
		.config = in_home(arena, conf, "AWS_CONFIG_FILE", ".aws/config"),
		.profile = profile ? profile : "default",
	};
}

/* ---- a file ---- */

static void put(struct aws_profile *p, const char *key, const char *value)
{
	const struct {
		const char *key, **field;
	} rows[] = {
		{ "aws_access_key_id", &p->access },
		{ "aws_secret_access_key", &p->secret },
		{ "aws_session_token", &p->token },
		{ "region", &p->region },
		{ "endpoint_url", &p->endpoint },
		{ "role_arn", &p->role },
		{ "source_profile", &p->source_profile },
		{ "credential_source", &p->credential_source },
		{ "web_identity_token_file", &p->token_file },
		{ "role_session_name", &p->session_name },
		{ "external_id", &p->external_id },
		{ "credential_process", &p->process },
		{ "sso_session", &p->sso },
		{ "sso_start_url", &p->sso },
	};

	for (size_t i = 0; *value && i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcasecmp(key, rows[i].key))
			*rows[i].field = value;
}

/* "[profile NAME]", where quotes may be around the name. */
static bool is_section(struct arena *arena, const char *line, bool config,
		       const char *name)
{
	char *s = str_trim(arena, str_slice(arena, line + 1, strcspn(line + 1, "]")));
	const char *rest = str_after(s, "profile");
	size_t len;

	if (config && rest && strchr(" \t", *rest) && *rest)
		s = str_trim(arena, rest);
	else if (config && !str_eq(s, "default"))
		return false;
	len = strlen(s);
	if (config && len > 1 && strchr("'\"", *s) && s[len - 1] == *s)
		s = str_slice(arena, s + 1, len - 2);
	return str_eq(s, name);
}

bool aws_profile_read(struct aws_profile *ret, struct arena *arena, const char *text,
		      bool config, const char *name)
{
	bool found = false, ours = false;
	size_t depth = SIZE_MAX;

	for (char **line = str_split(arena, text, '\n', NULL); *line; line++) {
		size_t indent = strspn(*line, " \t");
		char *s = str_trim(arena, *line), *eq = strchr(s, '=');

		if (!*s || strchr("#;", *s))
			continue;
		if (*s == '[') {
			ours = is_section(arena, s, config, name);
			found = found || ours;
			depth = SIZE_MAX;
		} else if (indent <= depth) {
			depth = indent;
			if (ours && eq) {
				*eq = 0;
				put(ret, str_trim(arena, s), str_trim(arena, eq + 1));
			}
		}
	}
	return found;
}

/* ---- both ---- */

/* NULL: there is none. */
static int text_of(const char **ret, struct arena *arena, const char *path,
		   struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_FILE };

	*ret = NULL;
	if (!path || !file_exists(path))
		return 0;
	if (file_read(&text, path, err))
		return -1;
	*ret = arena_strdup(arena, text.len ? (const char *)text.data : "");
	return 0;
}

int aws_profile_load(struct aws_profile *ret, bool *ret_found, struct arena *arena,
		     const struct aws_files *files, const char *name, struct error *err)
{
	struct aws_profile p = { 0 }, keys = { 0 };
	const char *config, *credentials;
	bool found = false;

	if (text_of(&config, arena, files->config, err) ||
	    text_of(&credentials, arena, files->credentials, err))
		return -1;
	if (config)
		found = aws_profile_read(&p, arena, config, true, name);
	if (credentials)
		aws_profile_read(&keys, arena, credentials, false, name);
	if (keys.access) /* a token of other keys is none of these */
		p.access = p.secret = p.token = NULL;
	if (credentials && aws_profile_read(&p, arena, credentials, false, name))
		found = true;
	*ret = p;
	*ret_found = found;
	return 0;
}
