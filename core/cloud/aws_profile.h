/*
 * aws_profile.h - read a profile from the configuration files of AWS's own programs.
 *
 * ~/.aws/credentials (AWS_SHARED_CREDENTIALS_FILE) has sections [NAME], ~/.aws/config
 * (AWS_CONFIG_FILE) [default] and [profile NAME]; the first file's values take
 * precedence. Lines indented more than the key before them belong to its value and are
 * skipped, except in [services NAME] of the second file, which a profile's `services`
 * names:
 *
 *     s3 =
 *       endpoint_url = https://s3.example.com
 *
 * Source: the SDKs' reference guide of AWS, "Shared config and credentials files" and
 * "Service-specific endpoints".
 */
#ifndef CLOUD_AWS_PROFILE_H
#define CLOUD_AWS_PROFILE_H

#include "cloud/aws_domain.h"
#include "cloud/cloud.h"

struct aws_profile { /* NULL: not set */
	const char *access, *secret, *token;
	const char *region, *endpoint, *ca_bundle, *fips, *dualstack;
	const char *services, *s3_endpoint,
		*sts_endpoint; /* the last two from `services` */
	const char *imds, *imds_mode, *imds_v1_disabled; /* EC2's metadata service */
	const char *role, *source_profile, *credential_source, *token_file;
	const char *session_name, *external_id;
	const char *process, *sso, *mfa; /* unsupported ways to get credentials */
};

/*
 * A setting without white space around it (a Secret made with echo ends in a newline).
 * NULL: unset.
 */
const char *aws_env(struct arena *arena, const struct cloud_conf *conf, const char *name);

struct aws_files {
	const char *credentials, *config; /* paths; NULL: none */
	const char *profile;              /* "default" */
	const char *setting;              /* the variable that set `profile`; or NULL */
};
struct aws_files aws_files_of(struct arena *arena, const struct cloud_conf *conf);

/*
 * Read a profile from both files. *ret_found: one of them has it. Missing files are not
 * an error. Strings are in the arena.
 */
MUST_CHECK int aws_profile_load(struct aws_profile *ret, bool *ret_found,
				struct arena *arena, const struct aws_files *files,
				const char *name, struct error *err);

/*
 * The CA file of AWS_CA_BUNDLE or of the profile's ca_bundle, and the name of that
 * setting. NULL: neither is set.
 */
const char *aws_ca_bundle(struct arena *arena, const struct cloud_conf *conf,
			  const char **ret_setting);

/*
 * AWS_USE_FIPS_ENDPOINT and AWS_USE_DUALSTACK_ENDPOINT, or the profile's use_fips_endpoint
 * and use_dualstack_endpoint.
 */
struct aws_variant aws_variant_of(const struct cloud_conf *conf,
				  const struct aws_profile *profile);

/*
 * Read a profile from a file's text; `config`: it has the form of ~/.aws/config. False:
 * not in it.
 */
bool aws_profile_read(struct aws_profile *ret, struct arena *arena, const char *text,
		      bool config, const char *name);
/* Read the endpoints of [services NAME]. False: no such section. */
bool aws_services_read(struct aws_profile *ret, struct arena *arena, const char *text,
		       const char *name);

#endif
