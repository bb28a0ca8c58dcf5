/* Install and uninstall against an API server: outcomes, what is kept, what is left. */
#include "client/install_apply.h"
#include "client/install_remove.h"
#include "tests/unit/client/outcome_test.h"

static const char objects[] =
	"[{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'" INSTALL_CONFIG
	"','namespace':'" INSTALL_NAMESPACE "'},'data':{'a':'1'}},"
	"{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d',"
	"'namespace':'" INSTALL_NAMESPACE
	"'},'spec':{'selector':{'matchLabels':{'new':'1'}}}}]";

struct world {
	struct apiserver server;
	struct told told;
	struct error err;
	cJSON *list;
	int64_t timeout_ms; /* 0: a minute */
	bool wait;
};

static cJSON *quoted(const char *text)
{
	char json[2048];
	size_t i = 0;

	for (; text[i] && i + 1 < sizeof(json); i++)
		json[i] = (char)(text[i] == '\'' ? '"' : text[i]);
	json[i] = 0;
	return doc_of(json);
}

static void begin(struct world *w, const char *list)
{
	*w = (struct world){ .list = quoted(list) };
	apiserver_start(&w->server);
}

static void end(struct world *w)
{
	apiserver_stop(&w->server);
	cJSON_Delete(w->list);
}

static void put(struct world *w, const char *text)
{
	const struct kube_write plain = { 0 };
	cleanup_json cJSON *obj = quoted(text);

	if (kube_create(w->server.kube, obj, &plain, NULL, &w->err))
		fail_msg("%s", w->err.msg);
}

static int apply(struct world *w)
{
	const struct apply_opts how = { .timeout_ms =
						w->timeout_ms ? w->timeout_ms : 60000,
					.out = told_outcomes(&w->told),
					.wait = w->wait };

	return install_apply(w->server.kube, w->list, &how, &w->err);
}

TEST(test_created)
{
	struct world w;

	begin(&w, objects);
	assert_int_equal(apply(&w), 0);
	assert_true(str_starts(w.told.text,
			       "ConfigMap kubeflow-system/kubeflow-trainer-config: "
			       "created\nDeployment kubeflow-system/d: created\n"));
	end(&w);
}

/* What takes long says what it waits for. */
TEST(test_a_kind_that_is_not_served)
{
	struct world w;

	begin(&w, "[{'apiVersion':'apiextensions.k8s.io/v1','kind':"
		  "'CustomResourceDefinition','metadata':{'name':'c'}}]");
	w.timeout_ms = 7000;
	assert_int_equal(apply(&w), -1);
	check_text("error", w.err.msg,
		   "CustomResourceDefinition c: not established within 7 s");
	check_text("told", w.told.text,
		   "CustomResourceDefinition c: created\n"
		   "note: CustomResourceDefinition c: not established yet; waiting\n");
	end(&w);
}

/* A controller without pods: what refuses them. */
TEST(test_pods_that_are_refused)
{
	struct world w;

	begin(&w, objects);
	put(&w, "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d',"
		"'namespace':'kubeflow-system'},'spec':{'selector':{'matchLabels':{"
		"'new':'1'}}},'status':{'conditions':[{'type':'ReplicaFailure','status':"
		"'True','message':'failed quota: q: must specify limits.cpu'}]}}");
	w.timeout_ms = 1000;
	w.wait = true;
	assert_int_equal(apply(&w), -1);
	check_text(
		"error", w.err.msg,
		"Deployment kubeflow-system/d: not available within 1 s: failed quota: "
		"q: must specify limits.cpu");
	end(&w);
}

/* A selector is immutable: the Deployment goes and comes. */
TEST(test_another_selector)
{
	struct world w;

	begin(&w, objects);
	put(&w, "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d',"
		"'namespace':'kubeflow-system'},'spec':{'selector':{'matchLabels':{"
		"'old':'1'}}}}");
	assert_int_equal(apply(&w), 0);
	assert_non_null(strstr(w.told.text, "Deployment kubeflow-system/d: deleted: "));
	assert_non_null(strstr(w.told.text, "Deployment kubeflow-system/d: created\n"));
	assert_int_equal(objects_of(&w.server, "deployments"), 1);
	end(&w);
}

/* Somebody else's settings stay, and the rest goes on. */
TEST(test_settings_of_another_writer)
{
	struct world w;

	begin(&w, objects);
	apiserver_do(&w.server,
		     "{'op':'fail','status':409,'n':1,'of':'PATCH configmaps'}");
	assert_int_equal(apply(&w), 0);
	assert_int_equal(objects_of(&w.server, "configmaps"), 0);
	assert_int_equal(objects_of(&w.server, "deployments"), 1);
	assert_false(str_starts(w.told.text, "ConfigMap kubeflow-system/"
					     "kubeflow-trainer-config: created"));
	end(&w);
}

#define MAP(name, labels)                                                 \
	"{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'" name \
	"','namespace':'n','labels':{" labels "}}}"
#define RUNTIME(name, labels)                                       \
	"{'apiVersion':'trainer.kubeflow.org/v1alpha1',"            \
	"'kind':'ClusterTrainingRuntime','metadata':{'name':'" name \
	"','labels':{" labels "}}}"

static const char ours[] =
	"[" MAP("ours", "") "," MAP("helm", "") "," MAP("theirs", "") "," MAP(
		"gone", "") "," RUNTIME("builtin", "") "," RUNTIME("own", "") "]";

static void put_all(struct world *w)
{
	begin(w, ours);
	put(w, MAP("ours", ""));
	put(w, MAP("helm", "'app.kubernetes.io/managed-by':'Helm'"));
	put(w, MAP("theirs", "'app.kubernetes.io/part-of':'another'"));
	put(w, RUNTIME("builtin", "'trainer.kubeflow.org/framework':'torch'"));
	put(w, RUNTIME("own", ""));
	put(w, "{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob',"
	       "'metadata':{'name':'j','namespace':'n'},'spec':{'runtimeRef':{"
	       "'apiGroup':'trainer.kubeflow.org','kind':'ClusterTrainingRuntime',"
	       "'name':'builtin'}}}");
}

static void remove_all(struct world *w, bool dry_run)
{
	const struct remove_opts how = { dry_run, told_outcomes(&w->told) };

	if (install_remove(w->server.kube, w->list, &how, &w->err))
		fail_msg("%s", w->err.msg);
}

TEST(test_remove)
{
	struct world w;

	put_all(&w);
	remove_all(&w, true);
	assert_non_null(strstr(w.told.text, "ConfigMap n/ours: would be removed\n"));
	assert_int_equal(objects_of(&w.server, "configmaps"), 3);
	w.told = (struct told){ 0 };
	remove_all(&w, false);
	assert_int_equal(objects_of(&w.server, "configmaps"), 2);
	assert_int_equal(objects_of(&w.server, "clustertrainingruntimes"), 1);
	assert_non_null(strstr(w.told.text, "ConfigMap n/ours: removed\n"));
	assert_non_null(strstr(w.told.text, "ConfigMap n/helm: kept: "));
	assert_non_null(strstr(w.told.text, "ConfigMap n/theirs: kept: "));
	assert_non_null(strstr(w.told.text, "ClusterTrainingRuntime builtin: removed\n"));
	assert_non_null(strstr(w.told.text, "ClusterTrainingRuntime own: kept: "));
	assert_null(strstr(w.told.text, "gone"));
	assert_non_null(strstr(w.told.text, "note: warning: 1 TrainJob "));
	assert_non_null(strstr(w.told.text, "n/j"));
	end(&w);
}

#define BINDING                                                              \
	"{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'RoleBinding'," \
	"'metadata':{'name':'b','namespace':'n'}}"
#define SECRET \
	"{'apiVersion':'v1','kind':'Secret','metadata':{'name':'c','namespace':'n'}}"
#define LEASE                                                    \
	"{'apiVersion':'coordination.k8s.io/v1','kind':'Lease'," \
	"'metadata':{'name':'d','namespace':'n'}}"

/* A controller that still runs would create both again, while it has the right to. */
TEST(test_secret_after_rights)
{
	struct world w;

	begin(&w, "[" MAP("a", "") "," BINDING "," SECRET "," LEASE "]");
	put(&w, MAP("a", ""));
	put(&w, BINDING);
	put(&w, SECRET);
	put(&w, LEASE);
	remove_all(&w, false);
	assert_string_equal(w.told.text, "RoleBinding n/b: removed\n"
					 "ConfigMap n/a: removed\n"
					 "Lease n/d: removed\n"
					 "Secret n/c: removed\n");
	end(&w);
}

RUN_TESTS(NULL, NULL)
