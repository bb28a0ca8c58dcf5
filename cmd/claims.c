/* claims.c - list and delete the volume claims of this machine (cmd/claims.h). */
#include "cmd/claims.h"

#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "local/state.h"

/* The NAME in "claim/NAME" or "claims/NAME", or NULL. */
static const char *name_of(const char *word)
{
	const char *rest = str_after(word, "claim/");

	return rest ? rest : str_after(word, "claims/");
}

bool claims_are_named(char **names)
{
	return *names && (str_eq(*names, "claims") || name_of(*names));
}

static int check(const struct where_opts *where, const char *verb, struct error *err)
{
	if (!where->cluster.kubeconfig && !where->cluster.context)
		return 0;
	return error_set(err, ERR_USAGE,
			 "claims are local only; for a cluster's use 'kubectl %s "
			 "persistentvolumeclaims'",
			 verb);
}

/* Missing claims, if several are named, are reported; *ret_code is then EXIT_FAILED. */
static int find(cJSON **ret, int *ret_code, const char *ns, char **names,
		struct error *err)
{
	cleanup_json cJSON *list = NULL;

	if (str_eq(*names, "claims") && !names[1])
		return state_claims(ret, ns, err);
	list = cJSON_CreateArray();
	names += str_eq(*names, "claims");
	for (bool single = !names[1]; *names; names++) {
		const char *name = name_of(*names);
		cJSON *claim = NULL;

		if (!state_claim(&claim, ns, name ? name : *names, err)) {
			cJSON_AddItemToArray(list, claim);
			continue;
		}
		if (single || err->kind != ERR_NOT_FOUND)
			return -1;
		cmd_complain("get", "%s", err->msg);
		*ret_code = EXIT_FAILED;
		*err = (struct error){ 0 };
	}
	*ret = STEAL(list);
	return 0;
}

static int64_t size_of(const cJSON *claim)
{
	int64_t bytes;

	return str_int(&bytes, meta_annotation(claim, CLAIM_SIZE_ANNOTATION), 0,
		       INT64_MAX, IGNORED)
		       ? 0
		       : bytes;
}

static void print_table(const cJSON *claims)
{
	cleanup_out_table struct out_table t = { .columns = 6 };
	const cJSON *c;

	OUT_ROW(&t, "NAMESPACE", "NAME", "SIZE", "CHANGED", "USED BY", "PATH");
	json_each(c, claims) {
		const char *changed = meta_annotation(c, CLAIM_CHANGED_ANNOTATION);
		const char *users = meta_annotation(c, CLAIM_USERS_ANNOTATION);
		cleanup_arena struct arena arena = { 0 };
		char age[DURATION_TEXT_SIZE] = "";
		int64_t at;

		if (changed && !time_parse(&at, changed, IGNORED))
			duration_age(clock_now() - at, age);
		OUT_ROW(&t, meta_namespace(c), meta_name(c), str_size(&arena, size_of(c)),
			age, users ? users : "",
			meta_annotation(c, CLAIM_PATH_ANNOTATION));
	}
	out_table(&t);
}

int claims_show(const struct where_opts *where, bool all, enum out_format format,
		char **names, struct error *err)
{
	cleanup_json cJSON *claims = NULL;
	const char *ns = where->ns ? where->ns : "default";
	bool single = !str_eq(*names, "claims") && !names[1];
	int code = EXIT_OK;
	const cJSON *c;

	if (check(where, "get", err) || find(&claims, &code, all ? NULL : ns, names, err))
		return -1;
	if (format == OUT_NAME)
		json_each(c, claims)
			printf("claim/%s\n", meta_name(c));
	else if (format != OUT_TABLE)
		return out_doc(format,
			       single ? claims->child : (claims = out_list(claims)), err)
			       ? -1
			       : code;
	else if (claims->child)
		print_table(claims);
	else if (code == EXIT_OK)
		fprintf(stderr, "No claims%s%s on this machine.\n",
			all ? "" : " in namespace ", all ? "" : ns);
	return code;
}

static void print_deleted(const cJSON *claim)
{
	cleanup_arena struct arena arena = { 0 };

	printf("claim %s deleted, %s freed\n", meta_name(claim),
	       str_size(&arena, size_of(claim)));
}

static int delete_one(const char *ns, const char *name, struct error *err)
{
	cleanup_json cJSON *claim = NULL;

	if (state_claim(&claim, ns, name, err) || state_claim_remove(ns, name, err))
		return -1;
	print_deleted(claim);
	return 0;
}

int claims_delete(const struct where_opts *where, bool missing_ok, char **names,
		  struct error *err)
{
	const char *ns = where->ns ? where->ns : "default";
	int code = EXIT_OK;

	if (check(where, "delete", err))
		return -1;
	for (; *names; names++) {
		const char *name = name_of(*names);
		struct error why = { 0 };

		if (!name)
			return error_set(err, ERR_USAGE,
					 "invalid claim name '%s': want claim/NAME",
					 *names);
		if (delete_one(ns, name, &why) &&
		    (why.kind != ERR_NOT_FOUND || !missing_ok)) {
			cmd_complain("delete", "%s", why.msg);
			code = EXIT_FAILED;
		}
	}
	return code;
}

struct unused {
	int64_t freed, n, used;
	int code;
};

static void on_claim(void *ctx, const cJSON *claim, const struct error *failure)
{
	struct unused *u = ctx;

	if (failure && failure->kind != ERR_NOT_FOUND) {
		cmd_complain("delete", "%s", failure->msg);
		u->code = EXIT_FAILED;
	} else if (meta_annotation(claim, CLAIM_USERS_ANNOTATION)) {
		u->used++;
	} else if (!failure) {
		print_deleted(claim);
		u->freed += size_of(claim);
		u->n++;
	}
}

int claims_delete_unused(const struct where_opts *where, struct error *err)
{
	const char *ns = where->ns ? where->ns : "default";
	cleanup_arena struct arena arena = { 0 };
	struct unused u = { .code = EXIT_OK };

	if (check(where, "delete", err) ||
	    state_claims_remove_unused(ns, on_claim, &u, err))
		return -1;
	printf("%lld unused claim%s deleted in namespace %s, %s freed; %lld in use\n",
	       (long long)u.n, u.n == 1 ? "" : "s", ns, str_size(&arena, u.freed),
	       (long long)u.used);
	return u.code;
}
