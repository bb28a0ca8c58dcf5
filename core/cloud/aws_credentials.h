/*
 * aws_credentials.h - who asks AWS: found as AWS's own programs find it, and renewed.
 *
 * In this order: ACCESS_KEY_ID and SECRET_ACCESS_KEY (SESSION_TOKEN), the initializers'
 * own; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN); a web identity
 * token (IRSA: AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN or ROLE_ARN); the profile
 * AWS_PROFILE or AWS_DEFAULT_PROFILE (aws_profile.h): its role, by source_profile,
 * credential_source or web_identity_token_file, or its keys; a container's
 * (EKS Pod Identity, ECS: AWS_CONTAINER_CREDENTIALS_*); the machine's (IMDSv2, unless
 * AWS_EC2_METADATA_DISABLED). Then the role ROLE_ARN is assumed with them, unless they
 * are that role's already. Nothing found: nobody, as public buckets allow; but a
 * profile of credential_process, SSO or MFA is ERR_UNSUPPORTED then.
 *
 * Source: the SDKs' reference guide of AWS, "Standardized credential providers".
 */
#ifndef CLOUD_AWS_CREDENTIALS_H
#define CLOUD_AWS_CREDENTIALS_H

#include "cloud/cloud.h"
#include "cloud/sigv4.h"

struct aws_credentials; /* for many threads */

/* The environment and the profile's files are read here; nothing is asked. */
struct aws_credentials *aws_credentials_new(const struct cloud_conf *conf,
					    const char *region);
void aws_credentials_free(struct aws_credentials *c);

/*
 * The key for a request now, in the arena; *ret NULL: nobody. What ends within 5
 * minutes is renewed before. `refused`: the server refused the last one.
 * ERR_DENIED: a source is there and refuses, with what to look at.
 */
MUST_CHECK int aws_credentials_get(struct aws_credentials *c, bool refused,
				   struct arena *arena, const struct sigv4_key **ret,
				   struct error *err);

/* Where they come from, for messages: "ACCESS_KEY_ID". Never NULL. */
const char *aws_credentials_source(struct aws_credentials *c);

#endif
