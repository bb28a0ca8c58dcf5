/*
 * A refusal of the API server, parsed and worded for users.
 */

#include "base/cleanup.h"
#include "kube/permission.h"
#include "tests/unit/unit.h"

static const struct {
	const char *text, *what, *check;
} refusals[] = {
	{ "GET /api/v1/namespaces/x/pods/p/log: pods \"p\" is forbidden: User \"jane\" "
	  "cannot get resource \"pods/log\" in API group \"\" in the namespace \"x\"",
	  "get pods/log in namespace x",
	  "kubectl auth can-i get pods --subresource=log -n x" },
	{ "list trainjobs.trainer.kubeflow.org: trainjobs.trainer.kubeflow.org is "
	  "forbidden: User \"system:serviceaccount:a:b\" cannot list resource "
	  "\"trainjobs\" in API group \"trainer.kubeflow.org\" at the cluster scope",
	  "list trainjobs.trainer.kubeflow.org",
	  "kubectl auth can-i list trainjobs.trainer.kubeflow.org -A" },
	{ "User \"u\" cannot patch resource \"trainjobs\" in API group \"g\" in the "
	  "namespace \"n\": RBAC: role.rbac.authorization.k8s.io \"r\" not found",
	  "patch trainjobs.g in namespace n",
	  "kubectl auth can-i patch trainjobs.g -n n" },
};

static const char *const others[] = {
	"",
	"pods \"x\" not found",
	"User \"u\"",
	"User \"u\" cannot get path \"/version\"",
	"User \"u\" cannot get resource \"pods",
	"User \"u cannot get resource \"pods\"",
};

TEST(refusals_are_explained)
{
	for (size_t i = 0; i < N_ELEMENTS(refusals); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct permission p;

		assert_true(permission_read(&arena, refusals[i].text, &p));
		assert_string_equal(permission_what(&arena, &p), refusals[i].what);
		assert_string_equal(permission_check(&arena, &p), refusals[i].check);
		error_set(&err, ERR_DENIED, "%s", refusals[i].text);
		err.code = 403;
		assert_int_equal(permission_explain(&err), -1);
		assert_non_null(strstr(err.msg, refusals[i].what));
		assert_non_null(strstr(err.msg, refusals[i].check));
		assert_int_equal(err.code, 403);
	}
}

TEST(other_messages_are_unchanged)
{
	for (size_t i = 0; i < N_ELEMENTS(others); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct permission p;

		assert_false(permission_read(&arena, others[i], &p));
		error_set(&err, ERR_DENIED, "%s", others[i]);
		err.code = 403;
		assert_int_equal(permission_explain(&err), -1);
		assert_string_equal(err.msg, others[i]);
	}
}

RUN_TESTS(NULL, NULL)
