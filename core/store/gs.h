/*
 * gs.h - the address and the refusals of Google Cloud Storage, for both of its APIs.
 */
#ifndef STORE_GS_H
#define STORE_GS_H

#include "cloud/sigv4.h"
#include "store/store.h"

#define GS_NO_PAYER                                                                     \
	"the bucket has Requester Pays: set GOOGLE_CLOUD_QUOTA_PROJECT to the project " \
	"that pays (not with HMAC keys)"

/* A URL: STORAGE_EMULATOR_HOST, ENDPOINT (https unless given), else Google's. */
const char *gs_endpoint(struct arena *arena, const struct store_conf *conf);

/*
 * The header that names GOOGLE_CLOUD_QUOTA_PROJECT, beside a token; not set without it.
 * ERR_INVALID.
 */
MUST_CHECK int gs_find_payer(struct sigv4_pair *ret, struct arena *arena,
			     const struct store_conf *conf, struct error *err);

/* The error for 401 and 403, with what to do. `source`: gs_token_source(). Returns -1. */
int gs_refused_access(const char *what, const char *source, const char *why,
		      struct error *err);

#endif
