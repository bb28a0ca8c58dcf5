/*
 * aws_domain.h - the names of AWS's servers, which differ between its partitions.
 */
#ifndef CLOUD_AWS_DOMAIN_H
#define CLOUD_AWS_DOMAIN_H

#include <stdbool.h>

#include "base/arena.h"

/* Which servers of a service: FIPS 140's; those that have IPv6 addresses, too. */
struct aws_variant {
	bool fips, dualstack;
};

/*
 * The host of a service, "s3" or "sts", as its SDKs have it: "s3.us-east-1.amazonaws.com",
 * "s3-fips.dualstack.us-east-1.amazonaws.com", "sts.us-east-1.api.aws", ...
 */
const char *aws_host(struct arena *arena, const char *service, const char *region,
		     struct aws_variant v);

#endif
