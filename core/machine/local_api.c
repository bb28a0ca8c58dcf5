/*
 * local_api.c - serves this machine's API over HTTPS and runs the manager against it
 * (machine/local_api.h).
 */
#include "machine/local_api.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/jsonpatch.h"
#include "api/meta.h"
#include "apiserver/apiserver.h"
#include "apiserver/journal.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "crypto/bearer.h"
#include "crypto/tls.h"
#include "crypto/x509.h"
#include "kube/kube.h"
#include "kubelet/podlog.h"
#include "kubelet/sandbox.h"
#include "local/state.h"
#include "local/state_owned.h"
#include "machine/backend.h"
#include "machine/mirror.h"
#include "manager/manager.h"
#include "manager/names.h"
#include "manager/progress_server.h"
#include "manager/webhook.h"
#include "trainer/api.h"
#include "trainer/workspace_spec.h"

#define HOOKS "-trainer-kubeflow-org-v1alpha1-"

enum {
	YEAR = 365 * 24 * 3600,
	CONNECTIONS = 512,
	GRACE_MS = 2000,
};

struct local_api {
	const struct local_api_opts *opts;
	struct arena arena;
	const char *dir, *host, *server; /* "https://127.0.0.1:40123" */
	const char *root;                /* dir, absolute */
	int64_t port;
	char token[RANDOM_KEY_SIZE], pod_key[RANDOM_KEY_SIZE];
	char store_key[RANDOM_KEY_SIZE]; /* of WORKSPACE_STORE_ANNOTATION */
	struct x509_pair ca;
	struct tls_server *tls;
	struct apiserver *api;
	struct backend *backend;
	_Atomic(struct mirror *) mirror; /* NULL: not started */
	struct httpd *httpd;
	struct kube_config config;
	struct inside_server inside;
	struct kube *kube;
	_Atomic(struct webhook *) webhook;          /* NULL: not yet */
	_Atomic(struct progress_server *) progress; /* likewise */
	atomic_int requests;        /* with the server's token, in progress */
	_Atomic int64_t idle_since; /* clock_ms() */
	pthread_t idle_thread;
	bool has_idle_thread;
};

/* ---- where ------------------------------------------------------------------------- */

static int choose_dir(struct local_api *l, struct error *err)
{
	const char *jobs;

	l->dir = l->opts->data;
	if (state_root(&l->arena, &jobs,
		       err)) /* of the runs; without HOME there is none */
		return l->dir ? error_clear_if(err, ERR_INVALID) : -1;
	if (!l->dir)
		l->dir = path_join(&l->arena, path_dir(&l->arena, jobs), "server");
	return 0;
}

/* Create the directory of the stored keys, 0700. */
static int make_dir(const struct local_api *l, struct error *err)
{
	struct stat st;

	if (dir_make(l->dir, 0700, err))
		return error_wrap(err, "cannot store objects; set --data to a directory "
				       "that you can write");
	if (stat(l->dir, &st))
		return error_errno(err, errno, "%s", l->dir);
	if (st.st_uid != geteuid())
		return error_set(err, ERR_DENIED,
				 "%s belongs to another user (uid %u); set --data to a "
				 "directory of yours",
				 l->dir, st.st_uid);
	if ((st.st_mode & 077) && chmod(l->dir, 0700))
		return error_errno(err, errno, "cannot restrict access to %s", l->dir);
	return 0;
}

/* "ADDRESS:PORT", "ADDRESS", ":PORT", "[::1]:PORT" */
static int choose_address(struct local_api *l, struct error *err)
{
	char *text = arena_strdup(&l->arena, l->opts->listen ? l->opts->listen : "");
	char *colon = strrchr(text, ':'), *end = strchr(text, ']');

	if (*text == '[' && !end)
		return error_set(err, ERR_USAGE, "--listen %s: want ADDRESS:PORT",
				 l->opts->listen);
	if (*text != '[' && colon && strchr(text, ':') != colon)
		colon = NULL; /* an IPv6 address alone */
	if (colon && (!end || colon > end)) {
		*colon = 0;
		if (str_int(&l->port, colon + 1, 0, 65535, err)) {
			err->kind = ERR_USAGE;
			return error_wrap(err, "--listen %s: port", l->opts->listen);
		}
	}
	if (end) {
		*end = 0;
		text++;
	}
	l->host = *text ? text : "127.0.0.1";
	return 0;
}

/* ---- webhooks in process ----------------------------------------------------------- */

/* The webhooks of assets/manifests/webhooks.yaml. */
static const struct hook {
	const char *kind, *path, *name;
	bool selective; /* objects with this label are not sent to it */
} validators[] = {
	{ TRAINJOB_KIND, "/validate" HOOKS "trainjob",
	  "validator.trainjob.trainer.kubeflow.org", false },
	{ RUNTIME_KIND, "/validate" HOOKS "trainingruntime",
	  "validator.trainingruntime.trainer.kubeflow.org", true },
	{ CLUSTER_RUNTIME_KIND, "/validate" HOOKS "clustertrainingruntime",
	  "validator.clustertrainingruntime.trainer.kubeflow.org", true },
};
static const struct hook defaulter = { TRAINJOB_KIND, "/mutate" HOOKS "trainjob",
				       "defaulter.trainjob.trainer.kubeflow.org", false };

static bool opts_out(const cJSON *obj)
{
	return str_eq(meta_label(obj, "trainer.kubeflow.org/webhook-validation"),
		      "disabled");
}

/* As an objectSelector: an update is excluded only if both old and new object are. */
static bool is_excluded(const struct hook *hook, const struct admission *a)
{
	return hook->selective && opts_out(a->obj) && (!a->old || opts_out(a->old));
}

static int ask(struct local_api *l, const struct hook *hook, struct admission *a,
	       struct error *err)
{
	const struct admission_request req = { .api_version = "admission.k8s.io/v1",
					       .uid = "",
					       .operation = str_eq(a->operation, "CREATE")
								    ? ADMISSION_CREATE
								    : ADMISSION_UPDATE,
					       .ns = a->ns,
					       .name = a->name,
					       .subresource = "",
					       .object = a->obj,
					       .old = a->old };
	cleanup_admission_answer struct admission_answer answer = {
		.warnings = cJSON_CreateArray(),
	};
	const cJSON *w;

	if (is_excluded(hook, a))
		return 0;
	if (!l->webhook)
		return error_set(err, ERR_BUSY, "the server is starting; try again");
	webhook_review(l->webhook, hook->path, &req, &answer);
	json_each(w, answer.warnings)
		cJSON_AddItemToArray(a->warnings, json_dup(w));
	if (answer.code) {
		error_set(err, ERR_DENIED,
			  "admission webhook \"%s\" denied the request: %s", hook->name,
			  answer.message.data ? (const char *)answer.message.data : "");
		err->code = answer.code;
		return -1;
	}
	return answer.patch ? jsonpatch_apply(&a->obj, answer.patch, err) : 0;
}

/* A new object may be a copy of a run's: remove LOCAL_RUN_ANNOTATION. */
static void drop_mark(const struct admission *a)
{
	if (!a->old)
		json_del(a->obj,
			 JSON_PATH("metadata", "annotations", LOCAL_RUN_ANNOTATION));
}

static bool is_of_run(const struct admission *a)
{
	return a->old && mirror_has(a->old);
}

static int mutate(void *ctx, struct admission *a, struct error *err)
{
	const struct local_api *l = ctx;

	drop_mark(a);
	if (is_of_run(a))
		return mirror_check(a->old, a->obj, err);
	if (!meta_is(a->obj, TRAINER_GROUP, TRAINJOB_KIND))
		return 0;
	if (!a->old)
		workspace_announce_store(a->obj, l->store_key, l->root);
	return ask(ctx, &defaulter, a, err);
}

static int validate(void *ctx, struct admission *a, struct error *err)
{
	if (is_of_run(a))
		return 0;
	for (size_t i = 0; i < N_ELEMENTS(validators); i++)
		if (meta_is(a->obj, TRAINER_GROUP, validators[i].kind))
			return ask(ctx, &validators[i], a, err);
	return 0;
}

static int read_log(void *ctx, const cJSON *pod, const struct log_options *o,
		    struct httpd_response *resp, struct error *err)
{
	struct local_api *l = ctx;

	return podlog_open(l->api, pod, o, resp, err);
}

static int write_run(void *ctx, const cJSON *old, const cJSON *obj, struct error *err)
{
	const struct local_api *l = ctx;

	if (mirror_write(old, obj, err))
		return -1;
	if (str_eq(meta_kind(obj), JOBSET_KIND) && !mirror_has(obj) &&
	    !json_equal(json_get(old, "spec"), json_get(obj, "spec")))
		state_claims_wait(l->root, obj);
	return 0;
}

static int remove_run(void *ctx, const cJSON *obj, struct error *err)
{
	return mirror_remove(obj, err);
}

/* ---- keys -------------------------------------------------------------------------- */

static int read_text(struct local_api *l, const char *name, char **ret)
{
	cleanup_buf struct buf text = { .max = 65536 };

	if (file_read(&text, path_join(&l->arena, l->dir, name), IGNORED) || !text.len)
		return -1;
	*ret = xstrdup((const char *)text.data);
	return 0;
}

static int write_text(struct local_api *l, const char *name, const char *text,
		      struct error *err)
{
	return file_write(path_join(&l->arena, l->dir, name), text, strlen(text), 0600,
			  err);
}

/* Reuse a stored CA, so that copied kubeconfigs remain valid. */
static int make_ca(struct local_api *l, struct error *err)
{
	int64_t now = clock_now();

	if (!read_text(l, "ca.crt", &l->ca.cert_pem) &&
	    !read_text(l, "ca.key", &l->ca.key_pem) &&
	    !x509_check_ca(&l->ca, now + YEAR, IGNORED))
		return 0;
	x509_pair_release(&l->ca);
	if (x509_new_p256_ca(&l->ca, "kftrainer", "kftrainer", now,
			     now + 10 * (int64_t)YEAR, err) ||
	    write_text(l, "ca.key", l->ca.key_pem, err))
		return -1;
	return write_text(l, "ca.crt", l->ca.cert_pem, err);
}

static int find_root(struct local_api *l, struct error *err)
{
	cleanup_free char *path = realpath(l->dir, NULL);

	if (!path)
		return error_errno(err, errno, "%s", l->dir);
	l->root = arena_strdup(&l->arena, path);
	return 0;
}

/* Load the stored key of that name, or make and store it. */
static int make_secret(struct local_api *l, const char *name, char ret[RANDOM_KEY_SIZE],
		       struct error *err)
{
	cleanup_free char *stored = NULL;

	if (!read_text(l, name, &stored) && strlen(stored) == RANDOM_KEY_SIZE - 1) {
		memcpy(ret, stored, RANDOM_KEY_SIZE);
		str_wipe(stored);
		return 0;
	}
	return random_key(ret, err) ? -1 : write_text(l, name, ret, err);
}

static int make_tls(struct local_api *l, struct error *err)
{
	const struct tls_conf conf = { 0 };
	cleanup_x509_pair struct x509_pair pair = { 0 };
	int64_t now = clock_now();

	if (make_ca(l, err) ||
	    x509_new_server(&pair, &l->ca, l->host, now, now + YEAR, err) ||
	    tls_server_new(&l->tls, &conf, err))
		return -1;
	return tls_server_identity(l->tls, pair.cert_pem, pair.key_pem, err);
}

/* ---- clients ----------------------------------------------------------------------- */

static cJSON *named_entry(const char *name, const char *key, cJSON *take_value)
{
	cJSON *doc = cJSON_CreateObject(), *list = cJSON_CreateArray();

	json_put_str(doc, name, "name");
	json_put(doc, take_value, key);
	cJSON_AddItemToArray(list, doc);
	return list;
}

static int write_kubeconfig(struct local_api *l, struct error *err)
{
	cleanup_buf struct buf ca = { .max = 65536 };
	cleanup_json cJSON *doc = cJSON_CreateObject();
	cleanup_free char *text = NULL;
	cJSON *cluster = cJSON_CreateObject(), *user = cJSON_CreateObject();
	cJSON *context = cJSON_CreateObject();

	base64_encode(&ca, l->ca.cert_pem, strlen(l->ca.cert_pem));
	buf_adds(&ca, "");
	json_put_str(cluster, l->server, "server");
	json_put_str(cluster, (const char *)ca.data, "certificate-authority-data");
	json_put_str(user, l->token, "token");
	json_put_str(context, "kftrainer", "cluster");
	json_put_str(context, "kftrainer", "user");
	json_put_str(doc, "v1", "apiVersion");
	json_put_str(doc, "Config", "kind");
	json_put(doc, named_entry("kftrainer", "cluster", cluster), "clusters");
	json_put(doc, named_entry("kftrainer", "user", user), "users");
	json_put(doc, named_entry("kftrainer", "context", context), "contexts");
	json_put_str(doc, "kftrainer", "current-context");
	text = json_text(doc);
	return write_text(l, "kubeconfig", text, err);
}

static int start_client(struct local_api *l, struct error *err)
{
	l->inside = (struct inside_server){ .handle = apiserver_handle_inside,
					    .ctx = l->api,
					    .documents = true };
	const struct kube_config_flags flags = {
		.kubeconfig = path_join(&l->arena, l->dir, "kubeconfig"),
	};
	struct kube_opts opts = { .user_agent = "kftrainer" };

	opts.inside = l->inside;
	if (kube_config_load(&l->config, &flags, err))
		return -1;
	return kube_new(&l->kube, &l->config, &opts, err);
}

/* ---- initial objects ------------------------------------------------------------- */

static int apply(struct local_api *l, const cJSON *obj, struct error *err)
{
	static const struct kube_write how = { .manager = "kftrainer", .force = true };

	return kube_apply(l->kube, obj, &how, NULL, err);
}

/* The SDK reads the controller's version. */
static int apply_version(struct local_api *l, struct error *err)
{
	cleanup_json cJSON *map =
		meta_new("v1", "ConfigMap", MANAGER_NAMESPACE, "kubeflow-trainer-public");

	json_put_str(map, VERSION, "data", "kubeflow_trainer_version");
	return apply(l, map, err);
}

static int apply_runtimes(struct local_api *l, struct error *err)
{
	for (const struct asset *a = assets; a->name; a++) {
		cleanup_json cJSON *docs = NULL;
		const cJSON *doc;

		if (!str_starts(a->name, "runtimes/"))
			continue;
		if (yaml_parse(&docs, a->data, a->len, err))
			return error_wrap(err, "%s", a->name);
		json_each(doc, docs)
			if (apply(l, doc, err))
				return -1;
	}
	return 0;
}

/* ---- start and end ----------------------------------------------------------------- */

static int start_api(struct local_api *l, struct error *err)
{
	const struct apiserver_conf conf = { .dir = l->dir,
					     .token = l->token,
					     .pod_key = l->pod_key,
					     .mutate = mutate,
					     .validate = validate,
					     .log = read_log,
					     .write = write_run,
					     .remove = remove_run,
					     .ctx = l };

	if (apiserver_new(&l->api, &conf, err))
		return -1;
	if (apiserver_cut(l->api))
		log_warn("removed an incomplete record, which was never "
			 "acknowledged, from the log",
			 LOG_STR("directory", l->dir),
			 LOG_INT("bytes", apiserver_cut(l->api)));
	return 0;
}

/* Has the request the server's token, which other users of the machine cannot read? */
static bool is_ours(const struct local_api *l, const struct httpd_request *req)
{
	return bearer_is(httpd_header(req, "Authorization"), l->token);
}

/*
 * Is the request a pod's progress report? With the server's token it is not: the API
 * answers 405.
 */
static bool is_report(const struct local_api *l, const struct httpd_request *req)
{
	return str_eq(req->method, "POST") && strstr(req->path, "/trainjobs/") &&
	       str_ends(req->path, "/status") && !is_ours(l, req);
}

/* A streamed answer is in progress until it is released. */
struct streaming {
	struct local_api *l;
	struct httpd_response resp;
};

static void request_ends(struct local_api *l)
{
	l->idle_since = clock_ms();
	l->requests--;
}

static void stream(void *ctx, struct httpd_stream *out)
{
	struct streaming *s = ctx;

	s->resp.stream(s->resp.stream_ctx, out);
}

static void stream_ends(void *ctx)
{
	struct streaming *s = ctx;

	if (s->resp.release)
		s->resp.release(s->resp.stream_ctx);
	request_ends(s->l);
	free(s);
}

static void follow_stream(struct local_api *l, struct httpd_response *resp)
{
	struct streaming *s = xcalloc(1, sizeof(*s));

	s->l = l;
	s->resp.stream = resp->stream;
	s->resp.release = resp->release;
	s->resp.stream_ctx = resp->stream_ctx;
	resp->stream = stream;
	resp->release = stream_ends;
	resp->stream_ctx = s;
}

static void answer(struct local_api *l, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	if (is_ours(l, req))
		mirror_sync(l->mirror);
	if (!is_report(l, req))
		apiserver_handle(l->api, req, resp);
	else if (!l->progress)
		resp->status = 503;
	else if (req->body_len > PROGRESS_SERVER_MAX_BODY)
		progress_server_large(l->progress, req, resp);
	else
		progress_server_handle(l->progress, req, resp);
}

static void handle(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	struct local_api *l = ctx;
	bool counts = is_ours(l, req);

	l->requests += counts;
	answer(l, req, resp);
	if (counts && resp->stream)
		follow_stream(l, resp);
	else if (counts)
		request_ends(l);
}

static void handle_large(void *ctx, const struct httpd_request *req,
			 struct httpd_response *resp)
{
	struct local_api *l = ctx;

	if (is_report(l, req) && l->progress)
		progress_server_large(l->progress, req, resp);
	else
		apiserver_large(l->api, req, resp);
}

/* Listen on the previous port, unless one is given: kubeconfigs and pods contain it. */
static int listen_on(struct local_api *l, struct httpd_conf *conf, struct error *err)
{
	cleanup_free char *kept = NULL;
	int64_t port;

	conf->port = (int)l->port;
	if (!conf->port && !read_text(l, "port", &kept) &&
	    !str_int(&port, kept, 1, 65535, IGNORED)) {
		conf->port = (int)port;
		if (!httpd_start(&l->httpd, conf, IGNORED))
			return 0;
		log_warn("the previous port is in use: copies of the kubeconfig and "
			 "progress reports of running jobs do not reach this server",
			 LOG_INT("port", port));
		conf->port = 0;
	}
	return httpd_start(&l->httpd, conf, err);
}

static int start_https(struct local_api *l, struct error *err)
{
	struct httpd_conf conf = { .host = l->host,
				   .tls = l->tls,
				   .max_body = APISERVER_MAX_BODY,
				   .max_connections = CONNECTIONS,
				   .max_per_peer = CONNECTIONS,
				   .handle = handle,
				   .on_large = handle_large,
				   .ctx = l };
	bool v6 = strchr(l->host, ':');
	char port[16];

	if (listen_on(l, &conf, err))
		return error_wrap(err, "--listen");
	snprintf(port, sizeof(port), "%d", httpd_port(l->httpd));
	if (write_text(l, "port", port, err))
		return -1;
	l->server = arena_printf(&l->arena, "https://%s%s%s:%d", v6 ? "[" : "", l->host,
				 v6 ? "]" : "", httpd_port(l->httpd));
	return 0;
}

static int start_backend(struct local_api *l, struct error *err)
{
	struct mirror *mirror;
	const struct backend_conf conf = { .api = l->api,
					   .server = l->root,
					   .pod_key = l->pod_key,
					   .version = APISERVER_KUBERNETES
					   "+kftrainer-" VERSION };

	if (mirror_start(&mirror, l->api, err))
		return -1;
	l->mirror = mirror;
	return backend_start(&l->backend, &conf, err);
}

/* ---- idle --------------------------------------------------------------------------- */

/* Wait for a change of a job. False: no job runs. */
static bool wait_for_jobs(struct local_api *l)
{
	cleanup_free char *key = NULL;
	struct error err = { 0 };
	int64_t version = 0;

	if (apiserver_next(l->api, JOBSET_KIND, &version, clock_ms(), &key, &err))
		return true;
	if (!backend_runs(l->backend))
		return false;
	(void)!apiserver_next(l->api, JOBSET_KIND, &version, -1, &key, &err);
	l->idle_since = clock_ms();
	return true;
}

static void *end_when_idle(void *ctx)
{
	struct local_api *l = ctx;
	int64_t limit = l->opts->idle_ms, left;

	while (!stop_requested()) {
		left = l->requests ? limit : l->idle_since + limit - clock_ms();
		if (left > 0) {
			(void)stop_wait(left);
		} else if (!wait_for_jobs(l)) {
			log_info("exiting: idle, without requests and running jobs",
				 LOG_INT("ms", limit));
			stop_request();
		}
	}
	return NULL;
}

static int start_idle(struct local_api *l, struct error *err)
{
	l->idle_since = clock_ms();
	if (!l->opts->idle_ms)
		return 0;
	if (thread_start(&l->idle_thread, end_when_idle, l, err))
		return -1;
	l->has_idle_thread = true;
	return 0;
}

/* ---- run ------------------------------------------------------------------------- */

/* Start the manager's webhooks and progress server, and create the objects they need. */
static int start_manager(struct local_api *l, struct error *err)
{
	const struct webhook_conf hooks = { .status_server = true, .kube = l->kube };
	struct progress_server *progress;

	l->webhook = webhook_new(&hooks);
	if (progress_server_new(&progress, l->kube, l->kube, err))
		return -1;
	l->progress = progress;
	return apply_version(l, err) || apply_runtimes(l, err) ? -1 : 0;
}

static int make_secrets(struct local_api *l, struct error *err)
{
	return make_secret(l, "token", l->token, err) ||
	       make_secret(l, "pods.key", l->pod_key, err) ||
	       make_secret(l, WORKSPACE_STORE_KEY, l->store_key, err);
}

static int start(struct local_api *l, struct error *err)
{
	if (choose_dir(l, err) || choose_address(l, err) || journal_check(l->dir, err) ||
	    make_dir(l, err) || find_root(l, err) || make_secrets(l, err) ||
	    start_api(l, err) || make_tls(l, err))
		return -1;
	if (start_https(l, err) || write_kubeconfig(l, err) || start_client(l, err))
		return -1;
	return start_manager(l, err) || start_backend(l, err) || start_idle(l, err) ? -1
										    : 0;
}

static void end(struct local_api *l)
{
	if (l->api)
		apiserver_stop(l->api);
	stop_request();
	if (l->has_idle_thread)
		pthread_join(l->idle_thread, NULL);
	backend_stop(l->backend);
	httpd_stop(l->httpd, GRACE_MS);
	mirror_stop(l->mirror);
	webhook_free(l->webhook);
	progress_server_free(l->progress);
	if (l->kube)
		kube_free(l->kube);
	kube_config_release(&l->config);
	apiserver_free(l->api);
	if (l->tls)
		tls_server_free(l->tls);
	x509_pair_release(&l->ca);
	str_wipe(l->token);
	str_wipe(l->pod_key);
	str_wipe(l->store_key);
	arena_clear(&l->arena);
}

static int serve(struct local_api *l, struct manager_config *config, struct error *err)
{
	const char *path = path_join(&l->arena, l->dir, "kubeconfig");

	log_info("serving this machine's API", LOG_STR("server", l->server),
		 LOG_STR("kubeconfig", path));
	config->local_url = l->server;
	config->local_ca = l->ca.cert_pem;
	config->inside = &l->inside;
	l->opts->on_ready(path);
	return manager_run(config, &l->config, err);
}

int local_api_run(const struct local_api_opts *opts, struct manager_config *config,
		  struct error *err)
{
	struct local_api l = { .opts = opts };
	int rc;

	config->local = true;
	config->election.enabled = false;
	config->gate_trainjob_status = true;
	config->gate_resource_claims = true;
	if (sandbox_check_kernel(err) || stop_setup(err))
		return -1;
	rc = start(&l, err);
	if (!rc && serve(&l, config, err)) {
		log_error("exiting", LOG_ERR(err));
		_exit(EXIT_FAILURE);
	}
	end(&l);
	return rc ? -1 : 0;
}
