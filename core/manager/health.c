/* health.c - answer liveness and readiness probes (manager/health.h). */
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

static const char *problem_of(const struct health *h, const struct health_check *c)
{
	return c->problem ? c->problem(h->ctx) : NULL;
}

static void answer_all(const struct health *h, const struct health_group *g,
		       const char *query, struct httpd_response *resp)
{
	bool all = true, verbose = has_arg(query, "verbose");

	for (const struct health_check *c = g->checks; c->name; c++) {
		bool excluded = is_excluded(query, c->name);
		const char *problem = excluded ? NULL : problem_of(h, c);

		if (!problem) {
			buf_printf(&resp->body, "[+]%s %sok\n", c->name,
				   excluded ? "excluded: " : "");
			continue;
		}
		verbose = true;
		all = all && c->informational;
		buf_printf(&resp->body, "[-]%s failed: %s\n", c->name, problem);
	}
	resp->status = all ? 200 : 500;
	if (verbose) {
		buf_printf(&resp->body, "%s check %s\n", g->path,
			   all ? "passed" : "failed");
	} else {
		buf_clear(&resp->body);
		buf_adds(&resp->body, "ok");
	}
}

static void answer_one(const struct health *h, const struct health_group *g,
		       const char *name, struct httpd_response *resp)
{
	const char *problem;

	for (const struct health_check *c = g->checks; c->name; c++) {
		if (!str_eq(c->name, name))
			continue;
		problem = problem_of(h, c);
		resp->status = problem ? 500 : 200;
		buf_printf(&resp->body, problem ? "not ok: %s\n" : "ok", problem);
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
