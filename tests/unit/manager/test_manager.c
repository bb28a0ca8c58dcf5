/* The controller's process from start to end, as a child, beside tests/unit/kube/apiserver.py. */
#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/stop.h"
#include "base/str.h"
#include "crypto/x509.h"
#include "manager/certset.h"
#include "manager/manager.h"
#include "manager/names.h"
#include "net/http.h"
#include "tests/unit/kube/account.h"
#include "tests/unit/kube/apiserver.h"
#include "trainer/api.h"

#define DNS    "kubeflow-trainer-controller-manager." MANAGER_NAMESPACE ".svc"
#define SECRET "kubeflow-trainer-webhook-cert"

enum { FAILED = 100 }; /* and the kind of the error */

static struct x509_pair ca; /* of the Secret, with a key that takes no time */

struct stage {
	struct apiserver api;
	struct manager_config config;
	struct arena arena;
	const char *host; /* an address of loopback, which no other process uses */
	struct http_client *client;
	pid_t pid;
};

/* ---- objects ----------------------------------------------------------------------- */

static void create(struct stage *s, const cJSON *obj)
{
	const struct kube_write plain = { 0 };
	struct error err = { 0 };

	if (kube_create(s->api.kube, obj, &plain, NULL, &err))
		fail_msg("%s", err.msg);
}

static void create_text(struct stage *s, const char *json)
{
	cleanup_json cJSON *obj = doc_of(json);

	create(s, obj);
}

static void create_secret(struct stage *s)
{
	cleanup_json cJSON *secret = doc_of(
		"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"" SECRET
		"\",\"namespace\":\"" MANAGER_NAMESPACE "\"}}");
	struct cert_set set = { .ca = ca };
	struct error err = { 0 };
	int64_t now = clock_now();

	if (x509_new_server(&set.server, &ca, DNS, now, now + 300 * 24 * 3600, &err))
		fail_msg("%s", err.msg);
	cert_set_write(&set, secret);
	create(s, secret);
	x509_pair_release(&set.server);
}

static cJSON *get(struct stage *s, const char *version, const char *kind, const char *ns,
		  const char *name)
{
	const struct kube_ref ref = { version, kind, ns, name };
	struct error err = { 0 };
	cJSON *ret = NULL;

	if (kube_find(s->api.kube, &ref, &ret, &err))
		fail_msg("%s", err.msg);
	return ret;
}

static cJSON *lease(struct stage *s)
{
	return get(s, "coordination.k8s.io/v1", "Lease", MANAGER_NAMESPACE,
		   TRAINER_GROUP);
}

/* Is the Lease held by a process of this host: "HOST_" and 32 digits? */
static bool is_held(struct stage *s)
{
	cleanup_json cJSON *doc = lease(s);
	const char *holder = json_str(doc, "spec", "holderIdentity");
	const char *id = holder ? strrchr(holder, '_') : NULL;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	return id && strlen(id) == 33 && str_starts(holder, host) &&
	       strspn(id + 1, "0123456789abcdef") == 32;
}

static const char *holder(struct stage *s)
{
	cleanup_json cJSON *doc = lease(s);
	const char *who = json_str(doc, "spec", "holderIdentity");

	return arena_strdup(&s->arena, who ? who : "");
}

#define LEASE_OF_ANOTHER                                                               \
	"{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{" \
	"\"name\":\"" TRAINER_GROUP "\",\"namespace\":\"" MANAGER_NAMESPACE            \
	"\"},\"spec\":{\"holderIdentity\":\"another\",\"leaseDurationSeconds\":1000,"  \
	"\"acquireTime\":\"2026-01-01T00:00:00.000000Z\","                             \
	"\"renewTime\":\"2026-01-01T00:00:00.000000Z\",\"leaseTransitions\":1}}"

/* ---- the process ------------------------------------------------------------------- */

static int free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (void *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (void *)&at, &len), 0);
	close(fd);
	return ntohs(at.sin_port);
}

/* The API server, a Secret and the settings: all listeners, none in clear but metrics. */
static void begin(struct stage *s)
{
	const struct http_conf http = { .ca_pem = ca.cert_pem,
					.server_name = DNS,
					.proxy = "" };
	struct error err = { 0 };
	char **errors;

	*s = (struct stage){ 0 };
	apiserver_start(&s->api);
	create_secret(s);
	assert_int_equal(manager_config_load(&s->config, NULL, "TrainJobStatus=true",
					     &errors, &err),
			 0);
	s->host = arena_printf(&s->arena, "127.%d.%d.%d", 1 + (getpid() >> 16 & 63),
			       getpid() >> 8 & 255, getpid() & 254);
	s->config.webhook.host = s->host;
	s->config.metrics.bind = arena_printf(&s->arena, "%s:8443", s->host);
	s->config.metrics.secure = false;
	s->config.health.bind = arena_printf(&s->arena, "%s:8081", s->host);
	s->config.status_server.port = free_port();
	s->config.election.enabled = true;
	assert_int_equal(http_client_new(&s->client, &http, &err), 0);
}

static void run(struct stage *s)
{
	struct error err = { 0 };

	fflush(NULL);
	s->pid = fork();
	if (s->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!stop_setup(&err) && !manager_run(&s->config, &s->api.config, &err))
		exit(0);
	fprintf(stderr, "%s\n", err.msg);
	_exit(FAILED + (int)err.kind);
}

/* Its exit status. */
static int ended(struct stage *s)
{
	int status;

	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void end(struct stage *s)
{
	http_client_free(s->client);
	manager_config_release(&s->config);
	arena_clear(&s->arena);
	apiserver_stop(&s->api);
}

/* The answer's status and body; 0: none. */
static int call(struct stage *s, const char *url, const char *body, const char **ret)
{
	static const char *const headers[] = { "Content-Type: application/json", NULL };
	const struct http_request req = { .method = body ? "POST" : "GET",
					  .url = url,
					  .headers = headers,
					  .body = body,
					  .body_len = body ? strlen(body) : 0 };
	cleanup_http_response struct http_response resp = { 0 };
	struct error err = { 0 };

	*ret = "";
	if (http_do(s->client, &req, &resp, &err))
		return 0;
	*ret = arena_strdup(&s->arena, resp.body.data ? (char *)resp.body.data : "");
	return resp.status;
}

static int health(struct stage *s, const char *path, const char **ret)
{
	return call(s, arena_printf(&s->arena, "http://%s:8081%s", s->host, path), NULL,
		    ret);
}

static bool is_ready(struct stage *s)
{
	const char *unused;

	return health(s, "/readyz", &unused) == 200;
}

/* Is the line among the metrics? */
static bool measures(struct stage *s, const char *line)
{
	const char *text;

	return call(s, arena_printf(&s->arena, "http://%s:8443/metrics", s->host), NULL,
		    &text) == 200 &&
	       strstr(text, arena_printf(&s->arena, "\n%s\n", line));
}

static void check_metrics(struct stage *s)
{
	static const char *const lines[] = {
		"leader_election_master_status{name=\"trainer.kubeflow.org\"} 1",
		"certwatcher_read_certificate_total 1",
		"certwatcher_read_certificate_errors_total 0",
		"controller_runtime_max_concurrent_reconciles{"
		"controller=\"trainjob_controller\"} 5",
		"controller_runtime_max_concurrent_reconciles{"
		"controller=\"clustertrainingruntime_controller\"} 1",
		"controller_runtime_reconcile_total{controller=\"trainjob_controller\","
		"result=\"requeue\"} 0",
		"controller_runtime_reconcile_errors_total{"
		"controller=\"trainjob_controller\"} 1",
		"controller_runtime_reconcile_total{controller=\"trainjob_controller\","
		"result=\"error\"} 1",
		"controller_runtime_reconcile_errors_total{"
		"controller=\"trainingruntime_controller\"} 0",
		"controller_runtime_active_workers{"
		"controller=\"trainingruntime_controller\"} 0",
	};

	for (size_t i = 0; i < N_ELEMENTS(lines); i++)
		if (!measures(s, lines[i]))
			fail_msg("not among the metrics: %s", lines[i]);
}

#define REVIEW                                                                         \
	"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","        \
	"\"request\":{\"uid\":\"u-1\",\"operation\":\"CREATE\",\"namespace\":\"n\","   \
	"\"name\":\"j\",\"object\":{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\"," \
	"\"kind\":\"TrainJob\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},"     \
	"\"spec\":{\"runtimeRef\":{\"name\":\"absent\"}}}}}"

static void check_servers(struct stage *s)
{
	const char *text, *base = arena_printf(&s->arena, "https://%s:9443", s->host);

	assert_int_equal(health(s, "/healthz?verbose", &text), 200);
	assert_string_equal(text, "[+]healthz ok\n[+]status-server-healthz ok\n"
				  "healthz check passed\n");
	assert_int_equal(health(s, "/readyz?verbose", &text), 200);
	assert_string_equal(text,
			    "[+]readyz ok\n[+]status-server-readyz ok\n[+]jobset ok\n"
			    "readyz check passed\n");
	assert_int_equal(
		call(s,
		     arena_printf(&s->arena,
				  "%s/validate-trainer-kubeflow-org-v1alpha1-trainjob",
				  base),
		     REVIEW, &text),
		200);
	assert_non_null(strstr(text, "\"uid\":\"u-1\",\"allowed\":false"));
	assert_int_equal(call(s,
			      arena_printf(&s->arena, "https://127.0.0.1:%d/apis/x",
					   (int)s->config.status_server.port),
			      "{}", &text),
			 404);
}

/* Of a release of upstream that has not removed it. */
#define OLD_RUNTIME(kind, meta)                                              \
	"{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"" kind \
	"\",\"metadata\":{\"name\":\"old\"" meta ",\"finalizers\":["         \
	"\"trainer.kubeflow.org/resource-in-use\"]}}"

static bool has_finalizers(struct stage *s, const char *kind, const char *ns)
{
	cleanup_json cJSON *runtime = get(s, TRAINER_API_VERSION, kind, ns, "old");
	const cJSON *finalizers = json_get(runtime, "metadata", "finalizers");

	return finalizers && finalizers->child;
}

/* ---- scenes ------------------------------------------------------------------------ */

TEST(test_leader)
{
	struct stage s;

	begin(&s);
	create_text(&s, OLD_RUNTIME("TrainingRuntime", ",\"namespace\":\"n\""));
	create_text(&s, OLD_RUNTIME("ClusterTrainingRuntime", ""));
	run(&s);
	EVENTUALLY(is_ready(&s) && is_held(&s));
	apiserver_do(&s.api,
		     "{'op':'fail','status':403,'n':1,'of':'PATCH trainjobs/status'}");
	create_text(&s, "{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":"
			"\"TrainJob\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},"
			"\"spec\":{\"runtimeRef\":{\"name\":\"r\",\"kind\":\"Other\"}}}");
	EVENTUALLY(({
		cleanup_json cJSON *tj =
			get(&s, TRAINER_API_VERSION, TRAINJOB_KIND, "n", "j");

		json_get(tj, "status", "conditions");
	}));
	EVENTUALLY(apiserver_seen(&s.api, "POST events"));
	EVENTUALLY(!has_finalizers(&s, "TrainingRuntime", "n"));
	EVENTUALLY(!has_finalizers(&s, "ClusterTrainingRuntime", NULL));
	EVENTUALLY(!measures(&s, "controller_runtime_reconcile_total{controller="
				 "\"trainjob_controller\",result=\"success\"} 0"));
	EVENTUALLY(measures(&s, "controller_runtime_active_workers{controller="
				"\"trainjob_controller\"} 0"));
	assert_false(measures(&s, "controller_runtime_reconcile_time_seconds_count{"
				  "controller=\"trainjob_controller\"} 0"));
	check_metrics(&s);
	check_servers(&s);
	kill(s.pid, SIGTERM);
	assert_int_equal(ended(&s), 0);
	assert_string_equal(holder(&s), ""); /* given back */
	end(&s);
}

/* It serves, and reconciles nothing. */
TEST(test_standby)
{
	struct stage s;
	const char *text;

	begin(&s);
	s.config.gate_trainjob_status = false;
	s.config.health.bind = arena_printf(&s.arena, "[%s]:8081", s.host);
	create_text(&s, LEASE_OF_ANOTHER);
	run(&s);
	EVENTUALLY(is_ready(&s));
	assert_int_equal(health(&s, "/readyz?verbose", &text), 200);
	assert_string_equal(text, "[+]readyz ok\n[+]jobset ok\nreadyz check passed\n");
	EVENTUALLY(measures(
		&s, "leader_election_master_status{name=\"trainer.kubeflow.org\"} 0"));
	assert_int_equal(apiserver_seen(&s.api, "GET trainjobs"), 0);
	kill(s.pid, SIGTERM);
	assert_int_equal(ended(&s), 0);
	assert_string_equal(holder(&s), "another");
	end(&s);
}

static void create_cluster_runtime(struct stage *s)
{
	create_text(s,
		    "{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":"
		    "\"ClusterTrainingRuntime\",\"metadata\":{\"name\":\"r\"},\"spec\":{"
		    "\"mlPolicy\":{\"torch\":{}},\"template\":{\"spec\":{"
		    "\"replicatedJobs\":[{\"name\":\"node\",\"template\":{\"metadata\":{"
		    "\"labels\":{\"trainer.kubeflow.org/trainjob-ancestor-step\":"
		    "\"trainer\"}},\"spec\":{\"template\":{\"spec\":{\"containers\":[{"
		    "\"name\":\"node\",\"image\":\"i\"}]}}}}}]}}}}");
}

static void create_job(struct stage *s, const char *name)
{
	create_text(
		s,
		arena_printf(
			&s->arena,
			"{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":"
			"\"TrainJob\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\","
			"\"annotations\":{\"kftrainer.io/preflight\":\"warn\"}},"
			"\"spec\":{\"trainer\":{},\"runtimeRef\":{\"name\":\"r\",\"kind\":"
			"\"ClusterTrainingRuntime\",\"apiGroup\":\"trainer.kubeflow.org\"}}}",
			name));
}

static bool has_jobset(struct stage *s, const char *name)
{
	cleanup_json cJSON *jobset = get(s, JOBSET_API_VERSION, JOBSET_KIND, "n", name);

	return jobset != NULL;
}

/* The image of the init containers that the job's pods get from this program. */
static void check_image(struct stage *s, const char *want)
{
	cleanup_json cJSON *jobset = get(s, JOBSET_API_VERSION, JOBSET_KIND, "n", "j");
	const cJSON *c =
		json_get(json_get(jobset, "spec", "replicatedJobs")->child, "template",
			 "spec", "template", "spec", "initContainers");

	assert_non_null(c);
	check_text("image", json_str(c->child, "image"), want);
}

/* Without a Lease, and before JobSet is installed. */
TEST(test_alone)
{
	static const char *const ciphers[] = { "no such cipher", NULL };
	static const char *const protocols[] = { "h2", "http/1.1", NULL };
	struct stage s;
	const char *text;

	begin(&s);
	s.config.election.enabled = false;
	s.config.tls.min_version = "1.3";
	s.config.tls.ciphers = ciphers;
	s.config.tls.alpn = protocols;
	apiserver_do(&s.api, "{'op':'unserved','plural':'jobsets','on':true}");
	create_cluster_runtime(&s);
	create_job(&s, "j");
	create_job(&s, "k");
	run(&s);
	EVENTUALLY(health(&s, "/readyz", &text) == 200 && strstr(text, "[-]jobset"));
	EVENTUALLY(apiserver_seen(&s.api, "POST events") >= 2);
	apiserver_do(&s.api, "{'op':'unserved','plural':'jobsets','on':false}");
	EVENTUALLY(has_jobset(&s, "j") && has_jobset(&s, "k"));
	check_image(&s, "kftrainer:" VERSION);
	kill(s.pid, SIGTERM);
	assert_int_equal(ended(&s), 0);
	assert_int_equal(apiserver_seen(&s.api, "POST leases"), 0);
	end(&s);
}

/* Another holds the Lease now: the process ends, and touches nothing. */
TEST(test_lost_lease)
{
	const struct kube_write plain = { 0 };
	cleanup_json cJSON *other = doc_of(LEASE_OF_ANOTHER);
	struct error err = { 0 };
	struct stage s;

	begin(&s);
	s.config.election.lease_ms = 3000;
	s.config.election.renew_ms = 2000;
	s.config.election.retry_ms = 100;
	run(&s);
	EVENTUALLY(is_held(&s));
	assert_int_equal(kube_update(s.api.kube, other, &plain, NULL, &err), 0);
	assert_int_equal(ended(&s), FAILED + ERR_TIMEOUT);
	assert_string_equal(holder(&s), "another");
	end(&s);
}

TEST(test_bad_settings)
{
	struct manager_config good;
	struct stage s;

	begin(&s);
	good = s.config;
	for (int i = 0; i < 3; i++) {
		s.config = good;
		if (i == 0)
			s.config.health.bind = s.config.metrics.bind;
		else if (i == 1)
			s.config.webhook_client_ca = "/nonexistent";
		else
			s.config.status_server.port = s.config.webhook.port = free_port();
		run(&s);
		assert_int_equal(ended(&s), FAILED + (i == 1 ? ERR_NOT_FOUND : ERR_IO));
		assert_string_equal(holder(&s), "");
	}
	end(&s);
}

/* Its own image is that of its pod's container; in namespaces of its own, hence the last. */
TEST(test_in_a_pod)
{
	static const char of_manager[] = "[{\"name\":\"a\",\"image\":\"x\"},"
					 "{\"name\":\"manager\",\"image\":\"y\"}]";
	static const char of_others[] = "[{\"name\":\"a\",\"image\":\"x\"},"
					"{\"name\":\"b\",\"image\":\"y\"}]";
	static const struct {
		const char *set, *pod, *want;
	} rows[] = {
		{ NULL, of_manager, "y" },
		{ NULL, of_others, "x" },
		{ "set", of_manager, "set" },
	};
	char host[256] = "";
	struct error err = { 0 };

	gethostname(host, sizeof(host) - 1);
	if (account_make() || file_write(ACCOUNT "namespace", MANAGER_NAMESPACE,
					 strlen(MANAGER_NAMESPACE), 0600, &err))
		skip(); /* no user namespaces here */
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct stage s;

		begin(&s);
		s.config.election.enabled = false;
		s.config.image = rows[i].set;
		create_cluster_runtime(&s);
		create_job(&s, "j");
		create_text(
			&s,
			arena_printf(
				&s.arena,
				"{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
				"\"metadata\":{\"name\":\"%s\",\"namespace\":\"" MANAGER_NAMESPACE
				"\"},\"spec\":{\"containers\":%s}}",
				host, rows[i].pod));
		run(&s);
		EVENTUALLY(has_jobset(&s, "j"));
		check_image(&s, rows[i].want);
		kill(s.pid, SIGTERM);
		assert_int_equal(ended(&s), 0);
		end(&s);
	}
}

static int make_ca(void **state)
{
	struct error err = { 0 };
	int64_t now = clock_now();

	return x509_new_p256_ca(&ca, "c", "o", now, now + 3650LL * 24 * 3600, &err);
}

static int drop_ca(void **state)
{
	x509_pair_release(&ca);
	return 0;
}

RUN_TESTS(make_ca, drop_ca)
