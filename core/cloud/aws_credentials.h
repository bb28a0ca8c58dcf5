/*
 * aws_credentials.h - find AWS credentials as AWS's own programs do, and renew them.
 *
 * In this order: ACCESS_KEY_ID and SECRET_ACCESS_KEY (SESSION_TOKEN), the initializers'
 * own; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN); a web identity
 * token (IRSA: AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN or ROLE_ARN); the profile
 * AWS_PROFILE or AWS_DEFAULT_PROFILE (aws_profile.h): its role, by source_profile,
 * credential_source or web_identity_token_file, or its keys; the container's (EKS Pod
 * Identity, ECS: AWS_CONTAINER_CREDENTIALS_*); the instance's (IMDSv2, unless
 * AWS_EC2_METADATA_DISABLED). Then ROLE_ARN is assumed with them, unless they are already
 * of that role. None found: anonymous requests, for public buckets; but ERR_UNSUPPORTED
 * for a profile with credential_process, SSO or MFA.
 *
 * Source: the SDKs' reference guide of AWS, "Standardized credential providers".
 */
#ifndef CLOUD_AWS_CREDENTIALS_H
#define CLOUD_AWS_CREDENTIALS_H

#include "cloud/cloud.h"
#include "cloud/sigv4.h"

struct aws_credentials; /* thread-safe */

/* Reads the environment and the profile's files; no requests. */
struct aws_credentials *aws_credentials_new(const struct cloud_conf *conf,
					    const char *region);
void aws_credentials_free(struct aws_credentials *c);

/*
 * The key for a request now, in the arena; *ret NULL: anonymous. It is renewed 5 minutes
 * before it expires, and if the server `refused` the last one. ERR_DENIED: a source
 * refused; the message says what to check.
 */
MUST_CHECK int aws_credentials_get(struct aws_credentials *c, bool refused,
				   struct arena *arena, const struct sigv4_key **ret,
				   struct error *err);

/* The source, for messages, in the arena: "ACCESS_KEY_ID". Never NULL. */
const char *aws_credentials_source(struct aws_credentials *c, struct arena *arena);

#endif
