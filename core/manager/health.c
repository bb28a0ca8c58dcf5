#include "manager/health.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { N_GROUPS = 2, MAX_TEXT = 65536, MAX_ARGS = 100 };

/* "a=b&c" as Go reads a query; no escapes, which no check's name needs. */
static bool has_arg(const char *query, const char *arg)
{
	cleanup_arena struct arena a = { 0 };
	size_t n = 0;

	for (char **p = str_split(&a, query, '&', NULL); *p && n < MAX_ARGS; p++, n++)
		if (str_eq(*p, arg) || (str_starts(*p, arg) && (*p)[strlen(arg)] == '=' &&
					!strchr(arg, '=')))
			return true;
	return false;
}

static bool is_excluded(const char *query, const char *check)
{
	cleanup_arena struct arena a = { 0 };

	return has_arg(query, arena_printf(&a, "exclude=%s", check));
}

static bool is_ok(const struct health *h, const struct health_check *c)
{
	return !c->ok || c->ok(h->ctx);
}

static void answer_all(const struct health *h, const struct health_group *g,
		       const char *query, struct httpd_response *resp)
{
	bool all = true;

	for (const struct health_check *c = g->checks; c->name; c++) {
		if (is_excluded(query, c->name)) {
			buf_printf(&resp->body, "[+]%s excluded: ok\n", c->name);
			continue;
		}
		if (is_ok(h, c)) {
			buf_printf(&resp->body, "[+]%s ok\n", c->name);
			continue;
		}
		all = false;
		buf_printf(&resp->body, "[-]%s failed: reason withheld\n", c->name);
	}
	resp->status = all ? 200 : 500;
	if (!all) {
		buf_printf(&resp->body, "%s check failed\n", g->path);
	} else if (has_arg(query, "verbose")) {
		buf_printf(&resp->body, "%s check passed\n", g->path);
	} else {
		buf_clear(&resp->body);
		buf_adds(&resp->body, "ok");
	}
}

static void answer_one(const struct health *h, const struct health_group *g,
		       const char *name, struct httpd_response *resp)
{
	for (const struct health_check *c = g->checks; c->name; c++) {
		if (!str_eq(c->name, name))
			continue;
		resp->status = is_ok(h, c) ? 200 : 500;
		buf_adds(&resp->body, resp->status == 200 ? "ok" : "not ok\n");
		return;
	}
}

void health_handle(void *health, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	const struct health *h = health;

	resp->body.max = MAX_TEXT;
	for (int i = 0; i < N_GROUPS; i++) {
		const struct health_group *g = &h->groups[i];
		const char *rest = str_after(req->path, "/");

		rest = rest ? str_after(rest, g->path) : NULL;
		if (!rest || (*rest && *rest != '/'))
			continue;
		if (!*rest || !rest[1])
			answer_all(h, g, req->query, resp);
		else
			answer_one(h, g, rest + 1, resp);
		return;
	}
}
