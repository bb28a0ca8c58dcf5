/* The domains of AWS's partitions, as its SDKs have them; see aws_domain.h. */
#include "cloud/aws_domain.h"

#include "base/str.h"

static const struct partition {
	const char *region, *domain, *dualstack; /* dualstack: of all but S3 */
} partitions[] = {
	{ "cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn" },
	{ "eusc-", "amazonaws.eu", "api.amazonwebservices.eu" },
	{ "us-iso-", "c2s.ic.gov", "api.aws.ic.gov" },
	{ "us-isob-", "sc2s.sgov.gov", "api.aws.scloud" },
	{ "us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov" },
	{ "eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk" },
	{ "", "amazonaws.com", "api.aws" },
};

static const struct partition *partition_of(const char *region)
{
	const struct partition *p = partitions;

	while (!str_starts(region, p->region))
		p++;
	return p;
}

const char *aws_host(struct arena *arena, const char *service, const char *region,
		     struct aws_variant v)
{
	const struct partition *p = partition_of(region);
	bool s3 = str_eq(service, "s3");
	/* in GovCloud the usual server of STS is FIPS's */
	bool fips = v.fips && (s3 || v.dualstack || !str_starts(region, "us-gov-"));

	return arena_printf(arena, "%s%s%s.%s.%s", service, fips ? "-fips" : "",
			    s3 && v.dualstack ? ".dualstack" : "", region,
			    !s3 && v.dualstack ? p->dualstack : p->domain);
}
