/* retry.c - failures that are retried, and the pauses (net/retry.h). */
#include "net/retry.h"
#include "base/random.h"

bool retry_status(int status)
{
	return status == 408 || status == 425 || status == 429 ||
	       (status >= 500 && status != 501 && status != 505);
}

bool retry_error(const struct error *err)
{
	return err->kind == ERR_IO || err->kind == ERR_TIMEOUT || err->kind == ERR_FORMAT;
}

int64_t retry_pause(int tried, int64_t retry_after_ms)
{
	int64_t ms = (int64_t)500 << (tried < 5 ? tried : 5);
	uint16_t chance = 0;

	if (random_bytes(&chance, sizeof(chance), IGNORED))
		chance = 0;
	ms += ms / 4 * chance / 65536;
	if (ms < retry_after_ms)
		ms = retry_after_ms;
	return ms < RETRY_LONGEST_MS ? ms : RETRY_LONGEST_MS;
}

int retry_fail(struct error *err, int status)
{
	static const struct {
		int status;
		enum error_kind kind;
		const char *meaning;
	} rows[] = {
		{ 400, ERR_INVALID, "the server rejected the request as malformed" },
		{ 401, ERR_DENIED, "authentication required; check the credentials" },
		{ 403, ERR_DENIED, "access denied to these credentials" },
		{ 404, ERR_NOT_FOUND, "not found; check the URI" },
		{ 407, ERR_DENIED, "the proxy requires authentication" },
		{ 410, ERR_NOT_FOUND, "no longer available" },
		{ 412, ERR_CONFLICT, "it changed in the meantime" },
		{ 429, ERR_BUSY, "too many requests; try again later" },
		{ 451, ERR_DENIED, "unavailable for legal reasons" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (rows[i].status == status) {
			error_set(err, rows[i].kind, "HTTP %d: %s", status,
				  rows[i].meaning);
			err->code = status;
			return -1;
		}
	error_set(err, status >= 500 ? ERR_BUSY : ERR_IO, "HTTP %d%s", status,
		  status >= 500 ? ": server error; try again later" : "");
	err->code = status;
	return -1;
}
