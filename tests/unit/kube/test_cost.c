/* The work of reading a kubeconfig grows as the file does (tests/unit/cost.h). */
#include "base/file.h"
#include "kube/kubeconfig.h"
#include "tests/unit/base/base_test.h"
#include "tests/unit/cost.h"

#define CHOSEN                                                                   \
	"'current-context':'c','contexts':[{'name':'c','context':{'cluster':'c'" \
	",'user':'u'}}],'clusters':[{'name':'c','cluster':{'server':'https://a'}}]"

static const struct row {
	const char *what, *config;
	bool good;
} rows[] = {
	{ "contexts",
	  "{'current-context':'c1','clusters':[{'name':'a','cluster':{'server':'b'}}],"
	  "'contexts':[<{'name':'c#','context':{'cluster':'a'}}>]}",
	  true },
	{ "users", "{" CHOSEN ",'users':[{'name':'u'},<{'name':'u#'}>]}", true },
	{ "entries without names", "{" CHOSEN ",'users':[<{'a':#}>]}", false },
	{ "equal names", "{" CHOSEN ",'users':[<{'name':'u'}>]}", false },
	{ "groups",
	  "{" CHOSEN ",'users':[{'name':'u','user':{'as':'a','as-groups':[<'g#'>]}}]}",
	  true },
	{ "groups that are no strings",
	  "{" CHOSEN ",'users':[{'name':'u','user':{'as':'a','as-groups':[<#>]}}]}",
	  false },
	{ "extra",
	  "{" CHOSEN
	  ",'users':[{'name':'u','user':{'as':'a','as-user-extra':{<'e#':['v']>}}}]}",
	  true },
};

static uint64_t cost(const void *ctx, size_t n)
{
	const struct row *row = ctx;
	cleanup_json cJSON *doc = cost_doc(row->config, n);
	char *text = cJSON_PrintUnformatted(doc), dir[] = "/tmp/kubeconfig-XXXXXX";
	char path[sizeof(dir) + 2];
	struct kube_config_flags flags = { .kubeconfig = path };
	struct kube_config c = { 0 };
	struct error err = { 0 };
	uint64_t start, ret;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/c", dir);
	assert_int_equal(file_write(path, text, strlen(text), 0600, &err), 0);
	start = cost_now();
	assert_int_equal(kube_config_load(&c, &flags, &err), row->good ? 0 : -1);
	ret = cost_now() - start;
	kube_config_release(&c);
	unlink(path);
	rmdir(dir);
	cJSON_free(text);
	return ret;
}

TEST(test_cost)
{
	bool linear = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		linear &= cost_is_linear(rows[i].what, cost, &rows[i], 100);
	assert_true(linear);
}

RUN_TESTS(NULL, NULL)
