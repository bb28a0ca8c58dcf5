/* permission.c - the message of a 403, parsed and explained (kube/permission.h). */
#include "kube/permission.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { FORBIDDEN = 403 };

/* The quoted string after `words`, which moves *text behind it; NULL: none. */
static const char *quoted(struct arena *arena, const char **text, const char *words)
{
	const char *begin = strstr(*text, words), *end;

	if (!begin)
		return NULL;
	begin += strlen(words);
	end = *begin == '"' ? strchr(begin + 1, '"') : NULL;
	if (!end)
		return NULL;
	*text = end + 1;
	return str_slice(arena, begin + 1, (size_t)(end - begin - 1));
}

bool permission_read(struct arena *arena, const char *text, struct permission *ret)
{
	struct permission p = { 0 };
	char *slash;

	p.user = quoted(arena, &text, "User ");
	if (!p.user || !str_starts(text, " cannot "))
		return false;
	text += strlen(" cannot ");
	p.verb = str_slice(arena, text, strcspn(text, " "));
	p.resource = quoted(arena, &text, "resource ");
	p.group = p.resource ? quoted(arena, &text, "in API group ") : NULL;
	if (!p.group)
		return false;
	p.ns = quoted(arena, &text, "in the namespace ");
	slash = strchr(p.resource, '/');
	if (slash) {
		*slash = 0;
		p.subresource = slash + 1;
	}
	*ret = p;
	return true;
}

static const char *in_group(struct arena *arena, const struct permission *p)
{
	return *p->group ? arena_printf(arena, "%s.%s", p->resource, p->group)
			 : p->resource;
}

const char *permission_what(struct arena *arena, const struct permission *p)
{
	return arena_printf(arena, "%s %s%s%s%s%s", p->verb, in_group(arena, p),
			    p->subresource ? "/" : "",
			    p->subresource ? p->subresource : "",
			    p->ns ? " in namespace " : "", p->ns ? p->ns : "");
}

const char *permission_check(struct arena *arena, const struct permission *p)
{
	return arena_printf(arena, "kubectl auth can-i %s %s%s%s%s%s", p->verb,
			    in_group(arena, p), p->subresource ? " --subresource=" : "",
			    p->subresource ? p->subresource : "", p->ns ? " -n " : " -A",
			    p->ns ? p->ns : "");
}

int permission_explain(struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct permission p;
	int code = err->code;

	if (err->kind != ERR_DENIED || code != FORBIDDEN ||
	    !permission_read(&arena, err->msg, &p))
		return -1;
	error_set(err, ERR_DENIED,
		  "user %s may not %s; check with '%s'; a cluster administrator can "
		  "grant it with a Role",
		  p.user, permission_what(&arena, &p), permission_check(&arena, &p));
	err->code = code;
	return -1;
}
