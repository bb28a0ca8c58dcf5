/*
 * aws_profile.h - what the files of AWS's own programs say of a profile.
 *
 * ~/.aws/credentials (AWS_SHARED_CREDENTIALS_FILE) has sections [NAME], ~/.aws/config
 * (AWS_CONFIG_FILE) [default] and [profile NAME]; the first file's values win. Lines
 * that are further in than the key before them are a part of its value, and passed over,
 * but for [services NAME] of the second file, which a profile's `services` names:
 *
 *     s3 =
 *       endpoint_url = https://s3.example.com
 *
 * Source: the SDKs' reference guide of AWS, "Shared config and credentials files" and
 * "Service-specific endpoints".
 */
#ifndef CLOUD_AWS_PROFILE_H
#define CLOUD_AWS_PROFILE_H

#include "cloud/cloud.h"

struct aws_profile { /* NULL: not set */
	const char *access, *secret, *token;
	const char *region, *endpoint, *ca_bundle;
	const char *services, *s3_endpoint,
		*sts_endpoint; /* the last two from `services` */
	const char *role, *source_profile, *credential_source, *token_file;
	const char *session_name, *external_id;
	const char *process, *sso, *mfa; /* ways to get credentials that are not ours */
};

/* Without blanks around it: a Secret made with echo ends in a newline. NULL: unset. */
const char *aws_env(struct arena *arena, const struct cloud_conf *conf, const char *name);

struct aws_files {
	const char *credentials, *config; /* paths; NULL: none */
	const char *profile;              /* "default" */
	const char *
		setting; /* the variable that names it: AWS_PROFILE, AWS_DEFAULT_PROFILE; or NULL */
};
struct aws_files aws_files_of(struct arena *arena, const struct cloud_conf *conf);

/*
 * *ret_found: one of the files has it. Missing files are not an error. Strings in the
 * arena.
 */
MUST_CHECK int aws_profile_load(struct aws_profile *ret, bool *ret_found,
				struct arena *arena, const struct aws_files *files,
				const char *name, struct error *err);

/*
 * The file of certificates that AWS's programs trust, AWS_CA_BUNDLE or the profile's
 * ca_bundle, and which setting names it. NULL: neither is set.
 */
const char *aws_ca_bundle(struct arena *arena, const struct cloud_conf *conf,
			  const char **ret_setting);

/* A file's text; `config`: of which form. Is the profile in it? */
bool aws_profile_read(struct aws_profile *ret, struct arena *arena, const char *text,
		      bool config, const char *name);
/* Endpoints of [services NAME]. */
bool aws_services_read(struct aws_profile *ret, struct arena *arena, const char *text,
		       const char *name);

#endif
