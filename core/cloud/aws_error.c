/* Reads the XML errors of AWS; see aws_error.h. */
#include "cloud/aws_error.h"

#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cloud/xml.h"

enum { SHOWN_CODE = 80, SHOWN_MESSAGE = 300 };

struct reading {
	struct arena *arena;
	struct aws_error error;
};

static const char *shown(struct arena *arena, const char *text, size_t most)
{
	size_t len = strlen(text);

	return str_visible(arena, str_slice(arena, text, len < most ? len : most), false);
}

static int on_end(void *ctx, const char *path, const char *text, struct error *err)
{
	struct reading *r = ctx;
	const char *name = str_after(path, "Error/");

	name = name ? name : path;
	if (!strcmp(name, "Code"))
		r->error.code = shown(r->arena, text, SHOWN_CODE);
	else if (!strcmp(name, "Message"))
		r->error.message = shown(r->arena, text, SHOWN_MESSAGE);
	else if (!strcmp(name, "Region") && *text)
		r->error.region = shown(r->arena, text, SHOWN_CODE);
	else if (!strcmp(name, "Endpoint") && *text)
		r->error.endpoint = shown(r->arena, text, SHOWN_MESSAGE);
	else if (!strcmp(name, "ServerTime") &&
		 time_parse(&r->error.server_time, text, IGNORED))
		r->error.server_time = 0;
	return 0;
}

struct aws_error aws_error_read(struct arena *arena, const struct buf *body)
{
	struct reading r = { .arena = arena, .error = { .code = "", .message = "" } };
	const struct xml_reader reader = { on_end, &r };

	if (body->len && xml_read(body->data, body->len, &reader, IGNORED))
		return (struct aws_error){ .code = "", .message = "" };
	return r.error;
}

const char *aws_error_passes(struct arena *arena, const struct http_response *r)
{
	static const char *const codes[] = { "RequestTimeout",
					     "RequestTimeoutException",
					     "Throttling",
					     "ThrottlingException",
					     "ThrottledException",
					     "RequestThrottled",
					     "RequestThrottledException",
					     "RequestLimitExceeded",
					     "TooManyRequestsException",
					     "BandwidthLimitExceeded",
					     "PriorRequestNotComplete",
					     "SlowDown",
					     "IDPCommunicationError",
					     NULL };
	struct aws_error e;

	if (r->status / 100 != 4)
		return NULL;
	e = aws_error_read(arena, &r->body);
	/* InvalidIdentityToken, if STS did not reach the cluster's OIDC provider */
	if (!str_in(e.code, codes) && !strstr(e.message, "retrieve verification key"))
		return NULL;
	return arena_printf(arena, "%s: %s", e.code, e.message);
}
