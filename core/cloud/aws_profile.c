/* Reads ~/.aws/config and ~/.aws/credentials; see aws_profile.h. */
#include "cloud/aws_profile.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { MAX_FILE = 256 * 1024 };

const char *aws_env(struct arena *arena, const struct cloud_conf *conf, const char *name)
{
	const char *value = cloud_env(conf, name);

	value = value ? str_trim(arena, value) : "";
	return *value ? value : NULL;
}

static const char *in_home(struct arena *arena, const struct cloud_conf *conf,
			   const char *variable, const char *name)
{
	const char *set = aws_env(arena, conf, variable);
	const char *home = aws_env(arena, conf, "HOME");

	if (set)
		return cloud_path(arena, conf, set);
	return home ? path_join(arena, home, name) : NULL;
}

struct aws_files aws_files_of(struct arena *arena, const struct cloud_conf *conf)
{
	static const char *const settings[] = { "AWS_PROFILE", "AWS_DEFAULT_PROFILE" };
	struct aws_files ret = {
		.credentials = in_home(arena, conf, "AWS_SHARED_CREDENTIALS_FILE",
				       ".aws/credentials"),
		.config = in_home(arena, conf, "AWS_CONFIG_FILE", ".aws/config"),
		.profile = "default",
	};

	for (size_t i = 0; i < 2 && !ret.setting; i++) {
		const char *profile = aws_env(arena, conf, settings[i]);

		if (profile)
			ret.profile = profile;
		if (profile)
			ret.setting = settings[i];
	}
	return ret;
}

/* ---- a file ---- */

struct row {
	const char *key, **field;
};

static void put(const struct row *rows, size_t n, const char *key, const char *value)
{
	for (size_t i = 0; *value && i < n; i++)
		if (!strcasecmp(key, rows[i].key))
			*rows[i].field = value;
}

static void put_profile(void *profile, const char *within, const char *key,
			const char *value)
{
	struct aws_profile *p = profile;
	const struct row rows[] = {
		{ "aws_access_key_id", &p->access },
		{ "aws_secret_access_key", &p->secret },
		{ "aws_session_token", &p->token },
		{ "region", &p->region },
		{ "endpoint_url", &p->endpoint },
		{ "services", &p->services },
		{ "ca_bundle", &p->ca_bundle },
		{ "use_fips_endpoint", &p->fips },
		{ "use_dualstack_endpoint", &p->dualstack },
		{ "ec2_metadata_service_endpoint", &p->imds },
		{ "ec2_metadata_service_endpoint_mode", &p->imds_mode },
		{ "ec2_metadata_v1_disabled", &p->imds_v1_disabled },
		{ "role_arn", &p->role },
		{ "source_profile", &p->source_profile },
		{ "credential_source", &p->credential_source },
		{ "web_identity_token_file", &p->token_file },
		{ "role_session_name", &p->session_name },
		{ "external_id", &p->external_id },
		{ "mfa_serial", &p->mfa },
		{ "credential_process", &p->process },
		{ "sso_session", &p->sso },
		{ "sso_start_url", &p->sso },
	};

	if (!within)
		put(rows, N_ELEMENTS(rows), key, value);
}

static void put_services(void *profile, const char *within, const char *key,
			 const char *value)
{
	struct aws_profile *p = profile;
	const struct row rows[] = { { "s3", &p->s3_endpoint },
				    { "sts", &p->sts_endpoint } };

	if (within && !strcasecmp(key, "endpoint_url"))
		put(rows, N_ELEMENTS(rows), within, value);
}

struct section {
	const char *kind, *name; /* "[KIND NAME]"; kind NULL: "[NAME]" */
};

/* "[profile NAME]", where the name may be quoted; "[default]" is a profile, too. */
static bool is_section(struct arena *arena, const char *line, const struct section *want)
{
	char *s = str_trim(arena, str_slice(arena, line + 1, strcspn(line + 1, "]")));
	const char *rest = want->kind ? str_after(s, want->kind) : NULL;
	size_t len;

	if (rest && strchr(" \t", *rest) && *rest)
		s = str_trim(arena, rest);
	else if (want->kind && !(str_eq(want->kind, "profile") && str_eq(s, "default")))
		return false;
	len = strlen(s);
	if (want->kind && len > 1 && strchr("'\"", *s) && s[len - 1] == *s)
		s = str_slice(arena, s + 1, len - 2);
	return str_eq(s, want->name);
}

/*
 * Call `each` for every line "KEY = VALUE" of the section. A line that is indented more
 * than the key before it is `within` that key if the key has no value; otherwise it
 * continues the value and is skipped. False: no such section.
 */
static bool read_section(struct arena *arena, const char *text,
			 const struct section *want,
			 void (*each)(void *ctx, const char *within, const char *key,
				      const char *value),
			 void *ctx)
{
	const char *within = NULL, *unmarked = str_after(text, STR_BOM);
	bool found = false, ours = false;
	size_t depth = SIZE_MAX;

	text = unmarked ? unmarked : text;
	for (char **line = str_split(arena, text, '\n', NULL); *line; line++) {
		size_t indent = strspn(*line, " \t");
		char *s = str_trim(arena, *line), *eq = strpbrk(s, "=:");
		const char *value;
		bool top;

		if (!*s || strchr("#;", *s))
			continue;
		if (*s == '[') {
			ours = is_section(arena, s, want);
			found = found || ours;
			depth = SIZE_MAX;
			continue;
		}
		top = indent <= depth;
		if (top) {
			depth = indent;
			within = NULL;
		}
		if (!ours || !eq)
			continue;
		*eq = 0;
		s = str_trim(arena, s);
		value = str_trim(arena, eq + 1);
		if (top || within)
			each(ctx, top ? NULL : within, s, value);
		if (top && !*value)
			within = s;
	}
	return found;
}

bool aws_profile_read(struct aws_profile *ret, struct arena *arena, const char *text,
		      bool config, const char *name)
{
	const struct section want = { config ? "profile" : NULL, name };

	return read_section(arena, text, &want, put_profile, ret);
}

bool aws_services_read(struct aws_profile *ret, struct arena *arena, const char *text,
		       const char *name)
{
	const struct section want = { "services", name };

	return read_section(arena, text, &want, put_services, ret);
}

/* ---- both files ---- */

/* *ret NULL: no such file. */
static int text_of(const char **ret, struct arena *arena, const char *path,
		   struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_FILE };

	*ret = NULL;
	if (!path || !file_exists(path))
		return 0;
	if (file_read(&text, path, err))
		return -1;
	if (text.len && memchr(text.data, 0, text.len))
		return error_set(err, ERR_INVALID,
				 "%s: not UTF-8: save it as such (PowerShell's > writes "
				 "UTF-16)",
				 path);
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
	if (keys.access) /* do not mix a token with other keys */
		p.access = p.secret = p.token = NULL;
	if (credentials && aws_profile_read(&p, arena, credentials, false, name))
		found = true;
	if (config && p.services)
		aws_services_read(&p, arena, config, p.services);
	*ret = p;
	*ret_found = found;
	return 0;
}

static bool is_on(const struct cloud_conf *conf, const char *name, const char *of_profile)
{
	cleanup_arena struct arena arena = { 0 };
	const char *value = aws_env(&arena, conf, name);

	value = value ? value : of_profile;
	return value && !strcasecmp(value, "true");
}

struct aws_variant aws_variant_of(const struct cloud_conf *conf,
				  const struct aws_profile *profile)
{
	return (struct aws_variant){
		.fips = is_on(conf, "AWS_USE_FIPS_ENDPOINT", profile->fips),
		.dualstack =
			is_on(conf, "AWS_USE_DUALSTACK_ENDPOINT", profile->dualstack),
	};
}

const char *aws_ca_bundle(struct arena *arena, const struct cloud_conf *conf,
			  const char **ret_setting)
{
	struct aws_files files = aws_files_of(arena, conf);
	const char *file = cloud_env(conf, "AWS_CA_BUNDLE");
	struct aws_profile profile = { 0 };
	struct error ignored = {
		0
	}; /* aws_credentials_get() reports it if the profile is needed */
	bool found;

	*ret_setting = "AWS_CA_BUNDLE";
	if (file)
		return file;
	*ret_setting = arena_printf(arena, "ca_bundle of profile %s", files.profile);
	if (aws_profile_load(&profile, &found, arena, &files, files.profile, &ignored))
		return NULL;
	return profile.ca_bundle;
}
