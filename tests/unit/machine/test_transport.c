/*
 * `struct kube` reaches an API over HTTP or in its own process (net/inside.h): the same requests
 * give the same results, to two servers that have seen the same before.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/kubelet/quoted.h"

#include "api/meta.h"
#include "apiserver/apiserver.h"
#include "base/clock.h"
#include "base/str.h"
#include "kube/kube.h"

#define TJ     "trainer.kubeflow.org/v1alpha1", "TrainJob"
#define MAP    "v1", "ConfigMap"
#define TJ_DOC "'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob',"
#define M_DOC  "'apiVersion':'v1','kind':'ConfigMap',"

static const struct row {
	const char *verb;
	struct kube_ref ref;
	const char *doc, *selector;
	struct kube_write how;
} rows[] = {
	{ "get", { MAP, "default", "a" }, NULL, NULL, { 0 } },
	{ "list", { MAP, "default", NULL }, NULL, NULL, { 0 } },
	{ "create",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'a','namespace':'default',"
	  "'labels':{'x':'1'}},'data':{'k':'v'}}",
	  NULL,
	  { 0 } },
	{ "create",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'a','namespace':'default'}}",
	  NULL,
	  { 0 } },
	{ "create",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'b','namespace':'default'}}",
	  NULL,
	  { .dry_run = true } },
	{ "create",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'b','namespace':'none'}}",
	  NULL,
	  { 0 } },
	{ "create",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'B!','namespace':'default'}}",
	  NULL,
	  { 0 } },
	{ "create",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'c','namespace':'default'},'odd':1}",
	  NULL,
	  { .manager = "me" } },
	{ "create",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'d','namespace':'default'},'odd':1}",
	  NULL,
	  { .strict = true } },
	{ "create",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'e','namespace':'default'},"
	  "'data':{'text':'\\u00e4\\n'}}",
	  NULL,
	  { .meta_only = true } },
	{ "create",
	  { 0 },
	  "{" TJ_DOC "'metadata':{'name':'t','namespace':'default'},"
	  "'spec':{'runtimeRef':{'name':'torch-distributed'}}}",
	  NULL,
	  { 0 } },
	{ "create",
	  { 0 },
	  "{" TJ_DOC "'metadata':{'name':'u','namespace':'default'},'spec':{}}",
	  NULL,
	  { 0 } },
	{ "create",
	  { 0 },
	  "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p',"
	  "'namespace':'default'}}",
	  NULL,
	  { 0 } },
	{ "get", { MAP, "default", "a" }, NULL, NULL, { 0 } },
	{ "get", { MAP, "default", "../a b?" }, NULL, NULL, { 0 } },
	{ "get", { "nothing/v1", "Thing", "default", "a" }, NULL, NULL, { 0 } },
	{ "list", { MAP, NULL, NULL }, NULL, NULL, { 0 } },
	{ "list", { MAP, "default", NULL }, NULL, "x=1", { 0 } },
	{ "list", { MAP, "default", NULL }, NULL, "x in (", { 0 } },
	{ "list", { TJ, "default", NULL }, NULL, NULL, { 0 } },
	{ "update",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'a','namespace':'default'},"
	  "'data':{'k':'w'}}",
	  NULL,
	  { 0 } },
	{ "update",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'a','namespace':'default',"
	  "'resourceVersion':'1'}}",
	  NULL,
	  { 0 } },
	{ "update",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'nobody','namespace':'default'}}",
	  NULL,
	  { 0 } },
	{ "merge", { MAP, "default", "a" }, "{'data':{'k':null,'l':'x'}}", NULL, { 0 } },
	{ "merge", { MAP, "default", "a" }, "{'data':{'l':5}}", NULL, { 0 } },
	{ "merge",
	  { TJ, "default", "t" },
	  "{'status':{'jobsStatus':[]}}",
	  NULL,
	  { .subresource = "status" } },
	{ "apply",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'a','namespace':'default'},"
	  "'data':{'l':'y'}}",
	  NULL,
	  { .manager = "one" } },
	{ "apply",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'a','namespace':'default'},"
	  "'data':{'l':'y'}}",
	  NULL,
	  { .manager = "one", .force = true } },
	{ "apply",
	  { 0 },
	  "{" M_DOC "'metadata':{'name':'a','namespace':'default'},"
	  "'data':{'l':'z'}}",
	  NULL,
	  { .manager = "two" } },
	{ "call", { 0 }, "/version", NULL, { 0 } },
	{ "call", { 0 }, "/apis/nothing.example", NULL, { 0 } },
	{ "call",
	  { 0 },
	  "/api/v1/namespaces/default/pods/p/log?tailLines=-1",
	  NULL,
	  { 0 } },
	{ "watch", { MAP, "default", NULL }, NULL, NULL, { 0 } },
	{ "watch", { MAP, "default", NULL }, NULL, "x!=1", { 0 } },
	{ "watch", { TJ, NULL, NULL }, NULL, "=", { 0 } },
	{ "delete", { MAP, "default", "a" }, NULL, NULL, { 0 } },
	{ "delete", { MAP, "default", "a" }, NULL, NULL, { 0 } },
	{ "list", { MAP, "default", NULL }, NULL, NULL, { 0 } },
};

/* ---- two servers --------------------------------------------------------------------- */

struct side {
	struct apiserver *api;
	struct httpd *httpd; /* NULL: it is called inside */
	struct kube *kube;
};

static void side_start(struct side *s, bool http)
{
	const struct apiserver_conf conf = { 0 };
	struct httpd_conf listen = { .host = "127.0.0.1", .handle = apiserver_handle };
	struct kube_config config = { .ns = "default", .proxy_url = "" };
	struct kube_opts opts = { .user_agent = "test/1" };
	struct error err = { 0 };
	char url[64];

	*s = (struct side){ 0 };
	if (apiserver_new(&s->api, &conf, &err))
		fail_msg("%s", err.msg);
	listen.ctx = s->api;
	if (http) {
		if (httpd_start(&s->httpd, &listen, &err))
			fail_msg("%s", err.msg);
		snprintf(url, sizeof(url), "http://127.0.0.1:%d", httpd_port(s->httpd));
		config.server = url;
	} else {
		opts.inside.handle = apiserver_handle;
		opts.inside.ctx = s->api;
		opts.inside.documents = true;
	}
	if (kube_new(&s->kube, &config, &opts, &err))
		fail_msg("%s", err.msg);
}

static void side_end(struct side *s)
{
	kube_free(s->kube);
	apiserver_stop(s->api);
	if (s->httpd)
		httpd_stop(s->httpd, 1000);
	apiserver_free(s->api);
}

/* ---- one request --------------------------------------------------------------------- */

/* What each server makes up itself. */
static void put_doc(struct buf *out, cJSON *take_doc)
{
	static const char *const made[] = { "uid", "creationTimestamp" };

	for (size_t i = 0; i < 2; i++)
		json_del(take_doc, JSON_PATH("metadata", made[i]));
	json_del(take_doc, JSON_PATH("buildDate"));
	json_print(out, take_doc);
	buf_adds(out, "\n");
	cJSON_Delete(take_doc);
}

static int on_item(void *ctx, cJSON *take_obj, struct error *err)
{
	put_doc(ctx, take_obj);
	return 0;
}

struct watched {
	struct buf *out;
	bool answered, cancel;
};

static void on_answer(void *ctx)
{
	((struct watched *)ctx)->answered = true;
}

/* Two are enough: what there is comes first. */
static int on_event(void *ctx, const char *type, cJSON *take_obj, struct error *err)
{
	struct watched *w = ctx;

	buf_printf(w->out, "%s ", type);
	put_doc(w->out, take_obj);
	w->cancel = true;
	return error_set(err, ERR_LIMIT, "seen");
}

static int watch(struct kube *k, const struct row *row, struct buf *out,
		 struct error *err)
{
	struct watched w = { .out = out };
	const struct kube_watch_opts opts = { .select.label_selector = row->selector,
					      .version = "0",
					      .cancel = &w.cancel,
					      .on_event = on_event,
					      .on_answer = on_answer,
					      .ctx = &w };
	int rc = kube_watch(k, &row->ref, &opts, err);

	buf_printf(out, "answered: %d\n", w.answered);
	return rc;
}

static int send(struct kube *k, const struct row *row, struct buf *out, struct error *err)
{
	cleanup_json cJSON *doc = row->doc && *row->doc == '{' ? parse(row->doc) : NULL;
	cleanup_json cJSON *warnings = NULL, *refusal = NULL;
	const struct kube_select select = { .label_selector = row->selector, .page = 1 };
	const struct kube_sink sink = { .on_item = on_item, .ctx = out };
	cleanup_free char *version = NULL;
	struct kube_write how = row->how;
	cJSON *got = NULL;
	int rc;

	how.ret_warnings = &warnings;
	how.ret_refusal = &refusal;
	if (str_eq(row->verb, "get"))
		rc = kube_get(k, &row->ref, &got, err);
	else if (str_eq(row->verb, "create"))
		rc = kube_create(k, doc, &how, &got, err);
	else if (str_eq(row->verb, "update"))
		rc = kube_update(k, doc, &how, &got, err);
	else if (str_eq(row->verb, "apply"))
		rc = kube_apply(k, doc, &how, &got, err);
	else if (str_eq(row->verb, "merge"))
		rc = kube_merge_patch(k, &row->ref, doc, &how, &got, err);
	else if (str_eq(row->verb, "delete"))
		rc = kube_delete(k, &row->ref, "Background", NULL, err);
	else if (str_eq(row->verb, "call"))
		rc = kube_call(k, "GET", row->doc, NULL, &got, err);
	else if (str_eq(row->verb, "watch"))
		rc = watch(k, row, out, err);
	else
		rc = kube_list(k, &row->ref, &select, &sink, &version, err);
	if (got)
		put_doc(out, got);
	if (warnings)
		put_doc(out, STEAL(warnings));
	if (refusal)
		put_doc(out, STEAL(refusal));
	buf_printf(out, "version %s\n", version ? version : "none");
	return rc;
}

static void ask(struct side *s, const struct row *row, struct buf *out)
{
	struct error err = { 0 };
	int rc = send(s->kube, row, out, &err);

	buf_printf(out, "rc %d kind %d code %d: %s\n", rc, (int)err.kind, err.code,
		   err.msg);
}

TEST(same_answers_as_over_http)
{
	struct side http, inside;
	size_t failed = 0;

	side_start(&http, true);
	side_start(&inside, false);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf a = { .max = 1 << 20 };
		cleanup_buf struct buf b = { .max = 1 << 20 };

		ask(&http, &rows[i], &a);
		ask(&inside, &rows[i], &b);
		if (str_eq((char *)a.data, (char *)b.data))
			continue;
		print_error("row %zu, %s:\n--- http\n%s--- inside\n%s", i, rows[i].verb,
			    (char *)a.data, (char *)b.data);
		failed++;
	}
	side_end(&http);
	side_end(&inside);
	assert_int_equal(failed, 0);
}

/* ---- a watch that waits -------------------------------------------------------------- */

struct waiting {
	struct side side;
	bool cancel, failed;
	struct error err;
};

static int on_bookmark(void *ctx, const char *type, cJSON *take_obj, struct error *err)
{
	cJSON_Delete(take_obj);
	return 0;
}

static void *wait_for(void *ctx)
{
	struct waiting *w = ctx;
	const struct kube_ref maps = { MAP, "default", NULL };
	const struct kube_watch_opts opts = {
		.version = "0", .cancel = &w->cancel, .on_event = on_bookmark, .ctx = w
	};

	w->failed = kube_watch(w->side.kube, &maps, &opts, &w->err);
	return NULL;
}

TEST(test_cancel)
{
	struct waiting w = { 0 };
	pthread_t thread;

	side_start(&w.side, false);
	assert_int_equal(pthread_create(&thread, NULL, wait_for, &w), 0);
	__atomic_store_n(&w.cancel, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_true(w.failed);
	assert_int_equal(w.err.kind, ERR_STOPPED);
	side_end(&w.side);
}

RUN_TESTS(NULL, NULL)
