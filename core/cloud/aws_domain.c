/* The domains of AWS's partitions, as its SDKs have them; see aws_domain.h. */
#include "cloud/aws_domain.h"

#include "base/str.h"

static const struct {
	const char *region, *domain;
} partitions[] = {
	{ "cn-", "amazonaws.com.cn" },    { "eusc-", "amazonaws.eu" },
	{ "us-iso-", "c2s.ic.gov" },      { "us-isob-", "sc2s.sgov.gov" },
	{ "us-isof-", "csp.hci.ic.gov" }, { "eu-isoe-", "cloud.adc-e.uk" },
};

const char *aws_domain(const char *region)
{
	for (size_t i = 0; i < N_ELEMENTS(partitions); i++)
		if (str_starts(region, partitions[i].region))
			return partitions[i].domain;
	return "amazonaws.com";
}
