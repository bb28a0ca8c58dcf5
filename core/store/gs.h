/*
 * gs.h - the address and the refusals of Google Cloud Storage, for both of its APIs.
 */
#ifndef STORE_GS_H
#define STORE_GS_H

#include "store/store.h"

/* A URL: STORAGE_EMULATOR_HOST, ENDPOINT (https unless given), else Google's. */
const char *gs_endpoint(struct arena *arena, const struct store_conf *conf);

/* The error for 401 and 403, with what to do. `source`: gs_token_source(). Returns -1. */
int gs_refused_access(const char *what, const char *source, const char *why,
		      struct error *err);

#endif
