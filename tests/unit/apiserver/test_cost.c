/* The work of requests with many values (tests/unit/cost.h). */
#include "api/meta.h"
#include "apiserver/apiserver.h"
#include "base/cleanup.h"
#include "tests/unit/cost.h"
#include "tests/unit/unit.h"

#define CORE    "/api/v1/namespaces/default"
#define TABLE   "application/json;as=Table;g=meta.k8s.io;v=v1"
#define MAP(of) "{'metadata':{'name':'a'" of "}"
#define SERVICE "{'metadata':{'name':'a'},'spec':{"

/* Objects of n elements, which are created and read as a table. */
static const struct row {
	const char *what, *path, *object;
} rows[] = {
	{ "keys", CORE "/configmaps", MAP("") ",'data':{<'a#':''>}}" },
	{ "keys of both kinds", CORE "/configmaps",
	  MAP("") ",'data':{<'a#':''>},'binaryData':{<'b#':''>}}" },
	{ "labels", CORE "/configmaps", MAP(",'labels':{<'a#':''>}") "}" },
	{ "owners", CORE "/configmaps",
	  MAP(",'finalizers':['a/b'],'ownerReferences':[<{'apiVersion':'a/v1','kind':'A',"
	      "'name':'a#','uid':'#'}>]") "}" },
	{ "keys of a Secret", CORE "/secrets",
	  MAP("") ",'data':{<'a#':''>},'stringData':{<'b#':'c'>}}" },
	{ "ports", CORE "/services", SERVICE "'ports':[<{'name':'p#','port':#}>]}}" },
	{ "addresses", CORE "/services", SERVICE "'externalIPs':[<'10.0.0.#'>]}}" },
	{ "selector", CORE "/services", SERVICE "'selector':{<'a#':'b'>}}}" },
};

static void ask(struct apiserver *s, const char *method, const char *path,
		const cJSON *doc, int status)
{
	static const struct httpd_header headers[] = { { "Content-Type",
							 "application/json" },
						       { "Accept", TABLE },
						       { NULL, NULL } };
	const struct httpd_request req = { .method = method,
					   .path = path,
					   .query = "",
					   .body = (const unsigned char *)"",
					   .doc = doc,
					   .peer = "",
					   .headers = headers };
	struct httpd_response resp = { .body.max = (size_t)64 * 1024 * 1024 };

	apiserver_handle(s, &req, &resp);
	if (resp.status != status)
		fail_msg("%s %s: %d: %.300s", method, path, resp.status,
			 (const char *)resp.body.data);
	buf_release(&resp.body);
	buf_release(&resp.headers);
}

static struct apiserver *server_with(const struct row *row, size_t n, uint64_t *ret_cost)
{
	const struct apiserver_conf conf = { 0 };
	cleanup_json cJSON *doc = cost_doc(row->object, n);
	struct apiserver *s;
	uint64_t start;

	if (apiserver_new(&s, &conf, IGNORED))
		fail();
	start = cost_now();
	ask(s, "POST", row->path, doc, 201);
	*ret_cost = cost_now() - start;
	return s;
}

static uint64_t cost_of_write(const void *ctx, size_t n)
{
	uint64_t cost;

	apiserver_free(server_with(ctx, n, &cost));
	return cost;
}

static uint64_t cost_of_table(const void *ctx, size_t n)
{
	const struct row *row = ctx;
	cleanup_arena struct arena arena = { 0 };
	uint64_t start, unused;
	struct apiserver *s = server_with(row, n, &unused);

	start = cost_now();
	ask(s, "GET", arena_printf(&arena, "%s/a", row->path), NULL, 200);
	start = cost_now() - start;
	apiserver_free(s);
	return start;
}

TEST(test_linear)
{
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		linear &= cost_is_linear(rows[i].what, cost_of_write, &rows[i], 200);
		linear &= cost_is_linear(rows[i].what, cost_of_table, &rows[i], 200);
	}
	assert_true(linear);
}

/* Create n dependents of the object "owner", then delete that path. */
static uint64_t cost_of_deletion(const void *path, size_t n)
{
	static const char format[] =
		"{'metadata':{'name':'a%zu','ownerReferences':[{'apiVersion':'v1',"
		"'kind':'ConfigMap','name':'owner','uid':'%s'}]}}";
	const struct row row = { .path = CORE "/configmaps",
				 .object = "{'metadata':{'name':'owner'}}" };
	uint64_t start;
	struct apiserver *s = server_with(&row, 0, &start);
	cleanup_json cJSON *owner =
		apiserver_get(s, "v1", "ConfigMap", "default", "owner");

	for (size_t i = 0; i < n; i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *doc =
			cost_doc(arena_printf(&arena, format, i, meta_uid(owner)), 0);

		ask(s, "POST", row.path, doc, 201);
	}
	start = cost_now();
	ask(s, "DELETE", path, NULL, 200);
	start = cost_now() - start;
	apiserver_free(s);
	return start;
}

TEST(test_deletions_are_linear)
{
	assert_true(
		cost_is_linear("a collection", cost_of_deletion, CORE "/configmaps", 50));
	assert_true(cost_is_linear("dependents", cost_of_deletion,
				   CORE "/configmaps/owner", 50));
}

RUN_TESTS(NULL, NULL)
