/* outage.c - log an unreachable API server once a minute (manager/outage.h). */
#include "manager/outage.h"

#include "base/log.h"

enum { AGAIN_MS = 60000 };

/* 502 to 504 come from load balancers, or from API servers that start or shut down. */
static bool is_outage(const struct error *err)
{
	return err->kind == ERR_IO || err->kind == ERR_TIMEOUT ||
	       (err->code >= 502 && err->code <= 504);
}

bool outage_logged(const struct error *err)
{
	static struct log_last last;

	if (!is_outage(err))
		return false;
	if (log_is_news(&last, "away", AGAIN_MS))
		log_warn("the API server does not respond", LOG_ERR(err));
	return true;
}
