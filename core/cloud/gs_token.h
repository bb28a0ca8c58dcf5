/*
 * gs_token.h - OAuth access tokens for Google Cloud Storage, renewed.
 *
 * In this order: the file GOOGLE_APPLICATION_CREDENTIALS (a service account's key: a JWT
 * signed with it is exchanged for a token, RFC 7523; or the file of `gcloud auth
 * application-default login`, also at its default path); the metadata server (workload
 * identity; GCE_METADATA_HOST, unless NO_GCE_CHECK=true). None found: anonymous requests,
 * for public buckets.
 */
#ifndef CLOUD_GS_TOKEN_H
#define CLOUD_GS_TOKEN_H

#include "cloud/cloud.h"

struct gs_token; /* thread-safe */

struct gs_token *gs_token_new(const struct cloud_conf *conf);
void gs_token_free(struct gs_token *t);

/*
 * *ret: the token, in the arena; NULL: anonymous. `refused`: the server refused the last
 * one.
 */
MUST_CHECK int gs_token_get(struct gs_token *t, bool refused, struct arena *arena,
			    const char **ret, struct error *err);

/* The source, for messages. */
const char *gs_token_source(struct gs_token *t);

#endif
