/* The data cache of cache://: its objects byte for byte, and making them, against an API server. */
#include "client/cache_start.h"

#include "base/xmalloc.h"
#include "tests/unit/client/outcome_test.h"
#include "trainer/api.h"

/* As upstream's pkg/initializers/dataset/cache.py makes them of the variables below. */
/* clang-format off */
#define OWNER "'ownerReferences':[{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':"  \
	"'TrainJob','name':'tj','uid':'u1','controller':true,'blockOwnerDeletion':true}]"
#define CONTAINER(name, cpu, memory, more)                                                \
	"{'name':'" name "','image':'cache:1','command':['" name "'],'args':['0.0.0.0',"  \
	"'50051'],'resources':{'limits':{'cpu':'" cpu "','memory':'" memory "'},"         \
	"'requests':{'cpu':'" cpu "','memory':'" memory "'}},'env':[{'name':"             \
	"'METADATA_LOC','value':'s3://b/m.json'},{'name':'TABLE_NAME','value':'t'},"      \
	"{'name':'SCHEMA_NAME','value':'s'}]," more "'ports':[{'containerPort':50051,"    \
	"'name':'grpc'},{'containerPort':8080,'name':'health'}],'readinessProbe':{"       \
	"'httpGet':{'path':'/ready','port':8080},'initialDelaySeconds':5,"                \
	"'periodSeconds':10,'timeoutSeconds':5,'failureThreshold':3}}"
#define OBJECTS(size, more)                                                               \
	"[{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'tj-cache',"      \
	"'namespace':'a'," OWNER ",'annotations':{"                                       \
	"'eks.amazonaws.com/sts-regional-endpoints':'true',"                              \
	"'eks.amazonaws.com/role-arn':'arn:role'}}},"                                     \
	"{'apiVersion':'leaderworkerset.x-k8s.io/v1','kind':'LeaderWorkerSet',"           \
	"'metadata':{'name':'tj-cache','namespace':'a'," OWNER "},'spec':{'replicas':1,"  \
	"'leaderWorkerTemplate':{'size':" size ",'leaderTemplate':{'metadata':{'labels':" \
	"{'app':'tj-cache-head'}},'spec':{'serviceAccountName':'tj-cache','containers':[" \
	CONTAINER("head", "1", "1Gi", more) "]}},'workerTemplate':{'spec':{"              \
	"'serviceAccountName':'tj-cache','containers':["                                  \
	CONTAINER("worker", "2", "8Gi", more) "]}}}}},"                                   \
	"{'apiVersion':'v1','kind':'Service','metadata':{'name':'tj-cache-service',"      \
	"'namespace':'a'," OWNER "},'spec':{'selector':{'app':'tj-cache-head'},'ports':[" \
	"{'protocol':'TCP','port':50051,'targetPort':50051}],"                            \
	"'publishNotReadyAddresses':true}}]"
/* clang-format on */

struct setting {
	const char *name, *value;
};

static const struct setting usual[] = {
	{ "TRAIN_JOB_NAME", "tj" },
	{ "CACHE_IMAGE", "cache:1" },
	{ "METADATA_LOC", "s3://b/m.json" },
	{ "IAM_ROLE", "arn:role" },
	{ "WORKER_MEM", "8Gi" },
	{ NULL, NULL },
};

/* The context is what stands in place of one of them, or beside them. */
static const char *variable_of(void *ctx, const char *name)
{
	const struct setting *other = ctx;

	if (other && str_eq(other->name, name))
		return other->value;
	for (const struct setting *s = usual; s->name; s++)
		if (str_eq(s->name, name))
			return s->value;
	return NULL;
}

static cJSON *quoted(const char *text)
{
	cleanup_free char *copy = xstrdup(text);

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	return doc_of(copy);
}

static cJSON *job_of(const char *secret)
{
	cJSON *job = quoted(
		"{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','metadata':{'name':'tj','namespace':'a','uid':'u1'}}");

	if (secret)
		json_put_str(job, secret, "spec", "initializer", "dataset", "secretRef",
			     "name");
	return job;
}

TEST(test_objects)
{
	static struct setting role = { "IAM_ROLE", NULL }, size = { "CLUSTER_SIZE", "6" };
	static const struct {
		struct setting *other;
		const char *secret, *want;
	} rows[] = {
		{ NULL, NULL, OBJECTS("3", "") },
		{ &size, NULL, OBJECTS("6", "") },
		{ NULL, "s3", OBJECTS("3", "'envFrom':[{'secretRef':{'name':'s3'}}],") },
		{ &role, NULL, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *job = job_of(rows[i].secret);
		cleanup_json cJSON *want = rows[i].want ? quoted(rows[i].want) : NULL;
		cleanup_json cJSON *made = NULL;
		struct cache_settings settings;
		struct error err = { 0 };

		if (cache_settings_read(&settings, &arena, "cache://s/t", variable_of,
					rows[i].other, &err))
			fail_msg("%s", err.msg);
		made = cache_objects(&settings, job);
		if (want && !json_equal(made, want))
			fail_msg("row %zu: %s", i, json_text(made));
		if (!want)
			assert_null(meta_annotations(made->child));
	}
}

TEST(test_settings_that_are_wrong)
{
	static const struct {
		const char *uri;
		struct setting other;
		const char *says;
	} rows[] = {
		{ "cache://s", { "", "" }, "cache://SCHEMA/TABLE" },
		{ "cache://s/t/u", { "", "" }, "cache://SCHEMA/TABLE" },
		{ "cache:///t", { "", "" }, "cache://SCHEMA/TABLE" },
		{ "cache://s/t", { "TRAIN_JOB_NAME", NULL }, "TRAIN_JOB_NAME" },
		{ "cache://s/t", { "CACHE_IMAGE", NULL }, "CACHE_IMAGE" },
		{ "cache://s/t", { "METADATA_LOC", NULL }, "METADATA_LOC" },
		{ "cache://s/t", { "CLUSTER_SIZE", "1" }, "CLUSTER_SIZE" },
		{ "cache://s/t", { "CLUSTER_SIZE", "3x" }, "CLUSTER_SIZE" },
		{ "cache://s/t", { "HEAD_CPU", "one" }, "HEAD_CPU" },
		{ "cache://s/t",
		  { "READINESS_PERIOD_SECONDS", "0" },
		  "READINESS_PERIOD" },
		{ "cache://s/t", { "CACHE_TIMEOUT", "soon" }, "CACHE_TIMEOUT" },
		{ "cache://s/t", { "CACHE_TIMEOUT", "0s" }, "CACHE_TIMEOUT" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct setting other = rows[i].other;
		struct cache_settings settings;
		struct error err = { 0 };

		assert_int_equal(cache_settings_read(&settings, &arena, rows[i].uri,
						     variable_of, &other, &err),
				 -1);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.msg, rows[i].says));
	}
}

/* ---- against an API server ---- */

struct world {
	struct apiserver server;
	struct told told;
	struct arena arena;
	struct cache_settings settings;
	struct error err;
};

static void put(struct world *w, cJSON *take_obj)
{
	cleanup_json cJSON *obj = take_obj;

	if (kube_create(w->server.kube, obj, &kube_plain, NULL, &w->err))
		fail_msg("%s", w->err.msg);
}

static void begin(struct world *w)
{
	*w = (struct world){ 0 };
	apiserver_start(&w->server);
	put(w, job_of(NULL));
	if (cache_settings_read(&w->settings, &w->arena, "cache://s/t", variable_of, NULL,
				&w->err))
		fail_msg("%s", w->err.msg);
}

static void end(struct world *w)
{
	apiserver_stop(&w->server);
	arena_clear(&w->arena);
}

static void told_line(void *ctx, const char *line)
{
	told_add(ctx, "", line);
}

/* Deadline 0: the default. */
static int start(struct world *w, int64_t deadline_ms)
{
	const struct cache_start conf = { .kube = w->server.kube,
					  .ns = "a",
					  .settings = &w->settings,
					  .say = told_line,
					  .ctx = &w->told };

	w->told.text[0] = 0;
	w->err = (struct error){ 0 };
	if (deadline_ms)
		w->settings.deadline_ms = deadline_ms;
	return cache_start(&conf, &w->err);
}

static void set_condition(struct world *w, const char *type, const char *value,
			  const char *message)
{
	const struct kube_ref ref = { LWS_API_VERSION, LWS_KIND, "a", "tj-cache" };
	cleanup_json cJSON *patch = quoted("{'status':{'conditions':[{}]}}");
	cJSON *c = json_get(patch, "status", "conditions");

	json_put_str(c->child, type, "type");
	json_put_str(c->child, value, "status");
	json_put_str(c->child, message, "message");
	if (kube_merge_patch(w->server.kube, &ref, patch, &kube_plain, NULL, &w->err))
		fail_msg("%s", w->err.msg);
}

/* Too late, then late enough: the second finds what the first made. */
TEST(test_twice)
{
	struct world w;

	begin(&w);
	assert_int_equal(start(&w, 200), -1);
	assert_int_equal(w.err.kind, ERR_TIMEOUT);
	assert_non_null(strstr(w.err.msg, "200ms"));
	assert_non_null(strstr(w.err.msg, "controller"));
	assert_string_equal(w.told.text, ": ServiceAccount a/tj-cache: created\n"
					 ": LeaderWorkerSet a/tj-cache: created\n"
					 ": Service a/tj-cache-service: created\n");
	set_condition(&w, "Progressing", "True", "Replicas are progressing");
	assert_int_equal(start(&w, 200), -1);
	assert_non_null(strstr(w.err.msg, "Replicas are progressing"));
	set_condition(&w, "Available", "True", "All replicas are ready");
	assert_int_equal(start(&w, 60000), 0);
	assert_string_equal(w.told.text, ": ServiceAccount a/tj-cache: unchanged\n"
					 ": LeaderWorkerSet a/tj-cache: unchanged\n"
					 ": Service a/tj-cache-service: unchanged\n"
					 ": LeaderWorkerSet a/tj-cache: available\n");
	assert_int_equal(objects_of(&w.server, "serviceaccounts"), 1);
	end(&w);
}

TEST(test_a_foreign_object)
{
	struct world w;

	begin(&w);
	put(&w, meta_new("v1", "Service", "a", "tj-cache-service"));
	assert_int_equal(start(&w, 60000), -1);
	assert_int_equal(w.err.kind, ERR_EXISTS);
	assert_non_null(strstr(w.err.msg, "Service a/tj-cache-service"));
	end(&w);
}

/* Of an earlier TrainJob of the name: waited for, for the garbage collector takes it. */
TEST(test_a_left_over)
{
	cleanup_json cJSON *earlier = job_of(NULL);
	cJSON *old = meta_new(LWS_API_VERSION, LWS_KIND, "a", "tj-cache");
	struct world w;

	json_put_str(earlier, "u0", "metadata", "uid");
	meta_set_owner(old, earlier);
	begin(&w);
	put(&w, old);
	assert_int_equal(start(&w, 200), -1);
	assert_int_equal(w.err.kind, ERR_TIMEOUT);
	assert_non_null(strstr(w.told.text, "earlier TrainJob"));
	end(&w);
}

TEST(test_what_is_missing)
{
	struct world w;

	begin(&w);
	apiserver_do(&w.server,
		     "{'op':'unserved','on':true,'plural':'leaderworkersets'}");
	assert_int_equal(start(&w, 60000), -1);
	assert_int_equal(w.err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(w.err.msg, "torch-distributed-with-cache-jobs"));
	apiserver_do(&w.server,
		     "{'op':'fail','status':403,'n':1,'of':'POST serviceaccounts'}");
	assert_int_equal(start(&w, 60000), -1);
	assert_int_equal(w.err.kind, ERR_DENIED);
	w.settings.job = "other";
	assert_int_equal(start(&w, 60000), -1);
	assert_int_equal(w.err.kind, ERR_NOT_FOUND);
	assert_string_equal(w.told.text, "");
	end(&w);
}

/* An API server, or what stands before it, that has an object and has it not. */
static void contradict(void *ctx, const struct httpd_request *req,
		       struct httpd_response *resp)
{
	cleanup_json cJSON *job = job_of(NULL);
	bool post = str_eq(req->method, "POST");

	++*(int *)ctx;
	resp->content_type = "application/json";
	resp->body.max = 4096;
	resp->status = 200;
	if (strstr(req->path, "/trainjobs/")) {
		json_print(&resp->body, job);
		return;
	}
	resp->status = post ? 409 : 404;
	buf_printf(&resp->body,
		   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"%s\","
		   "\"message\":\"no\",\"code\":%d}",
		   post ? "AlreadyExists" : "NotFound", resp->status);
}

TEST(test_a_contradiction)
{
	int calls = 0;
	const struct kube_opts opts = { .inside = { .handle = contradict,
						    .ctx = &calls } };
	struct kube_config config = { .server = "http://inside" };
	struct world w = { 0 };

	if (cache_settings_read(&w.settings, &w.arena, "cache://s/t", variable_of, NULL,
				&w.err))
		fail_msg("%s", w.err.msg);
	assert_int_equal(kube_new(&w.server.kube, &config, &opts, &w.err), 0);
	assert_int_equal(start(&w, 500), -1);
	assert_int_equal(w.err.kind, ERR_TIMEOUT);
	assert_non_null(strstr(w.err.msg, "ServiceAccount a/tj-cache"));
	assert_in_range(calls, 3, 30);
	kube_free(w.server.kube);
	arena_clear(&w.arena);
}

RUN_TESTS(NULL, NULL)
