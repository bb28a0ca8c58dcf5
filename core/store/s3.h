/*
 * s3.h - open s3:// at a given endpoint; for gs:// with HMAC keys.
 */
#ifndef STORE_S3_H
#define STORE_S3_H

#include "store/scheme.h"

/* scheme_s3.open at this endpoint, ignoring the environment's. */
MUST_CHECK int s3_open_at(struct store **ret, const struct store_conf *conf,
			  const char *endpoint, struct error *err);

#endif
