/* Rules: upstream pkg/config, pkg/apis/config/v1alpha1 (its tests' cases are rows here). */
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "manager/config.h"
#include "tests/unit/base/base_test.h"

#define HEAD "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"

/* A file with that text, in the current folder; removed by the caller. */
static const char *file_of(const char *text)
{
	struct error err = { 0 };

	if (file_write("test_config.yaml", text, strlen(text), 0600, &err))
		fail_msg("%s", err.msg);
	return "test_config.yaml";
}

static int load(struct manager_config *c, const char *text, const char *gates,
		char ***ret_errors, struct error *err)
{
	int ret = manager_config_load(c, text ? file_of(text) : NULL, gates, ret_errors,
				      err);

	unlink("test_config.yaml");
	return ret;
}

static void load_well(struct manager_config *c, const char *text, const char *gates)
{
	struct error err = { 0 };
	char **errors;

	if (load(c, text, gates, &errors, &err))
		fail_msg("%s: %s", text ? text : "no file", err.msg);
}

static void check_defaults(const struct manager_config *c)
{
	check_int("webhook.port", c->webhook.port, 9443);
	check_text("webhook.host", c->webhook.host, "");
	check_text("metrics.bind", c->metrics.bind, ":8443");
	assert_true(c->metrics.secure);
	assert_false(c->metrics.auth);
	check_text("health.bind", c->health.bind, ":8081");
	check_text("readiness", c->health.readiness, "readyz");
	check_text("liveness", c->health.liveness, "healthz");
	assert_true(c->certs.enable);
	check_text("service", c->certs.service, "kubeflow-trainer-controller-manager");
	check_text("secret", c->certs.secret, "kubeflow-trainer-webhook-cert");
	assert_true(c->client.qps == 50);
	assert_true(manager_config_qps(c) == 0);
	check_int("burst", c->client.burst, 100);
	check_int("statusServer.port", c->status_server.port, 10443);
	assert_true(c->status_server.qps == 5);
	check_int("statusServer.burst", c->status_server.burst, 10);
	check_text("minVersion", c->tls.min_version, "");
	assert_null(c->tls.ciphers);
	assert_null(c->tls.alpn);
	assert_false(c->gate_trainjob_status);
	assert_false(c->gate_resource_claims);
}

TEST(test_defaults)
{
	static const char *const texts[] = {
		NULL,
		HEAD,
		HEAD
		"webhook:\nmetrics: {}\nhealth: {readinessEndpointName: ''}\ntls: ~\n",
		HEAD "metrics: {bindAddress: '', auth: {enabled: null}}\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		struct manager_config c;

		load_well(&c, texts[i], NULL);
		check_defaults(&c);
		assert_false(c.election.enabled);
		check_int("lease", c.election.lease_ms, 9000);
		check_int("workers", c.trainjob_workers, 5);
		manager_config_release(&c);
	}
}

/* The values of upstream's ConfigMap kubeflow-trainer-config. */
TEST(test_shipped)
{
	struct manager_config c;

	load_well(&c,
		  HEAD "health:\n"
		       "  healthProbeBindAddress: :8081\n"
		       "  readinessEndpointName: readyz\n"
		       "  livenessEndpointName: healthz\n"
		       "metrics:\n"
		       "  bindAddress: :8443\n"
		       "  secureServing: true\n"
		       "webhook:\n"
		       "  port: 9443\n"
		       "  host: \"\"\n"
		       "leaderElection:\n"
		       "  leaderElect: true\n"
		       "  resourceName: trainer.kubeflow.org\n"
		       "  resourceNamespace: \"\"\n"
		       "  leaseDuration: 15s\n"
		       "  renewDeadline: 10s\n"
		       "  retryPeriod: 2s\n"
		       "controller:\n"
		       "  groupKindConcurrency:\n"
		       "    TrainJob.trainer.kubeflow.org: 5\n"
		       "    TrainingRuntime.trainer.kubeflow.org: 1\n"
		       "    ClusterTrainingRuntime.trainer.kubeflow.org: 1\n"
		       "certManagement:\n"
		       "  enable: true\n"
		       "  webhookServiceName: kubeflow-trainer-controller-manager\n"
		       "  webhookSecretName: kubeflow-trainer-webhook-cert\n"
		       "clientConnection:\n"
		       "  qps: 50\n"
		       "  burst: 100\n"
		       "statusServer:\n"
		       "  port: 10443\n"
		       "  qps: 5\n"
		       "  burst: 10\n",
		  NULL);
	check_defaults(&c);
	assert_true(c.election.enabled);
	check_text("name", c.election.name, "trainer.kubeflow.org");
	check_text("ns", c.election.ns, "");
	check_int("lease", c.election.lease_ms, 15000);
	check_int("renew", c.election.renew_ms, 10000);
	check_int("retry", c.election.retry_ms, 2000);
	manager_config_release(&c);
}

TEST(test_everything)
{
	struct manager_config c;

	load_well(
		&c,
		HEAD
		"webhook: {port: 9444, host: localhost}\n"
		"metrics: {bindAddress: '[::1]:9090', secureServing: false,\n"
		"  auth: {enabled: true}}\n"
		"health: {healthProbeBindAddress: '0', readinessEndpointName: ready,\n"
		"  livenessEndpointName: alive}\n"
		"leaderElection: {leaderElect: true, resourceLock: leases,\n"
		"  resourceName: l, resourceNamespace: ns1, leaseDuration: 1m30s,\n"
		"  renewDeadline: 1m, retryPeriod: 500ms}\n"
		"controller: {groupKindConcurrency: {\n"
		"  TrainJob.trainer.kubeflow.org: 10, Other.example.org: 3,\n"
		"  TrainingRuntime.trainer.kubeflow.org: 2000000000,\n"
		"  ClusterTrainingRuntime.trainer.kubeflow.org: 3}}\n"
		"certManagement: {enable: false, webhookServiceName: s,\n"
		"  webhookSecretName: t}\n"
		"clientConnection: {qps: 0.5, burst: 0}\n"
		"statusServer: {port: 1, qps: 0, burst: 7}\n"
		"featureGates: {TrainJobStatus: true}\n"
		"tls: {minVersion: '1.3', cipherSuites: [A, B], nextProtos: [h2, http/1.1]}\n",
		NULL);
	check_int("webhook.port", c.webhook.port, 9444);
	check_text("webhook.host", c.webhook.host, "localhost");
	check_text("metrics.bind", c.metrics.bind, "[::1]:9090");
	assert_false(c.metrics.secure);
	assert_true(c.metrics.auth);
	check_text("health.bind", c.health.bind, "0");
	check_text("readiness", c.health.readiness, "ready");
	check_text("liveness", c.health.liveness, "alive");
	assert_true(c.election.enabled);
	check_text("name", c.election.name, "l");
	check_text("ns", c.election.ns, "ns1");
	check_int("lease", c.election.lease_ms, 90000);
	check_int("renew", c.election.renew_ms, 60000);
	check_int("retry", c.election.retry_ms, 500);
	check_int("workers", c.trainjob_workers, 10);
	check_int("runtime workers", c.runtime_workers, MANAGER_MAX_WORKERS);
	check_int("cluster runtime workers", c.cluster_runtime_workers, 3);
	assert_false(c.certs.enable);
	check_text("service", c.certs.service, "s");
	check_text("secret", c.certs.secret, "t");
	assert_true(c.client.qps == 0.5);
	assert_true(manager_config_qps(&c) == 0.5);
	check_int("burst", c.client.burst, 0);
	check_int("statusServer.port", c.status_server.port, 1);
	assert_true(c.status_server.qps == 0);
	check_int("statusServer.burst", c.status_server.burst, 7);
	assert_true(c.gate_trainjob_status);
	check_text("minVersion", c.tls.min_version, "1.3");
	check_text("cipher", c.tls.ciphers[1], "B");
	assert_null(c.tls.ciphers[2]);
	check_text("alpn", c.tls.alpn[0], "h2");
	manager_config_release(&c);
}

static const struct {
	const char *text, *want; /* the first error, without the file's name */
	int n;                   /* errors in all */
} bad_rows[] = {
	{ "", " expected 1 document, found 0", 1 },
	{ HEAD "---\n" HEAD, " expected 1 document, found 2", 1 },
	{ "- a\n", "1:1: apiVersion: Required value", 3 },
	{ "this is not: valid: yaml: content\n", "1:", 1 },
	{ "apiVersion: config.wrong.group/v1\nkind: Configuration\n",
	  "1:1: apiVersion: Unsupported value: \"config.wrong.group/v1\": supported "
	  "values: \"config.trainer.kubeflow.org/v1alpha1\"",
	  1 },
	{ "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Other\n",
	  "2:1: kind: Unsupported value", 1 },
	{ "kind: Configuration\n", "1:1: apiVersion: Required value", 1 },
	{ HEAD "unknownField: value\nwebhook:\n  port: 9443\n  other: value\n",
	  "3:1: unknownField: Unknown field", 2 },
	{ HEAD "webhook:\n  prot: 9443\n",
	  "4:3: webhook.prot: Unknown field: did you mean 'port'?", 1 },
	{ HEAD "Webhook: {}\n", "3:1: Webhook: Unknown field: did you mean 'webhook'?",
	  1 },
	{ HEAD "webhook:\n  port: 99999\n",
	  "4:3: webhook.port: Invalid value: 99999: must be between 1 and 65535", 1 },
	{ HEAD "webhook: {port: 0}\n", "3:11: webhook.port: Invalid value: 0", 1 },
	{ HEAD "webhook: {port: '9443'}\n",
	  "3:11: webhook.port: Invalid value: \"9443\": must be an integer", 1 },
	{ HEAD "webhook: 9443\n", "3:1: webhook: Invalid value: 9443: must be a map", 1 },
	{ HEAD "webhook: {host: 5}\n",
	  "3:11: webhook.host: Invalid value: 5: must be a string", 1 },
	{ HEAD "metrics: {bindAddress: nowhere}\n",
	  "3:11: metrics.bindAddress: Invalid value: \"nowhere\"", 1 },
	{ HEAD "metrics: {bindAddress: ':123456'}\n", "3:11: metrics.bindAddress", 1 },
	{ HEAD "metrics: {bindAddress: 'fd00::1'}\n",
	  "3:11: metrics.bindAddress: Invalid value: \"fd00::1\": must be \"host:port\", "
	  "\"[IPv6 address]:port\"",
	  1 },
	{ HEAD "metrics: {bindAddress: '[::1'}\n", "3:11: metrics.bindAddress", 1 },
	{ HEAD "metrics: {bindAddress: '[a:b]:1'}\n", "3:11: metrics.bindAddress", 1 },
	{ HEAD "metrics: {secureServing: 'true'}\n", "3:11: metrics.secureServing", 1 },
	{ HEAD "clientConnection: {qps: -10, burst: -1}\n",
	  "3:20: clientConnection.qps: Invalid value: -10: must be "
	  "greater than or equal to 0",
	  2 },
	{ HEAD "statusServer: {port: 0, qps: -1, burst: 1.5}\n",
	  "3:16: statusServer.port: Invalid value: 0", 3 },
	{ HEAD "controller:\n  groupKindConcurrency:\n"
	       "    TrainJob.trainer.kubeflow.org: 0\n",
	  "5:5: controller.groupKindConcurrency[TrainJob.trainer.kubeflow.org]: "
	  "Invalid value: 0: must be greater than or equal to 1",
	  1 },
	{ HEAD "leaderElection: {leaseDuration: 15}\n",
	  "3:18: leaderElection.leaseDuration: Invalid value: 15: must be a string", 1 },
	{ HEAD "leaderElection: {leaseDuration: '15'}\n",
	  "3:18: leaderElection.leaseDuration: Invalid value", 1 },
	{ HEAD "leaderElection: {retryPeriod: -2s}\n",
	  "3:18: leaderElection.retryPeriod: Invalid value", 1 },
	{ HEAD "leaderElection: {leaderElect: true, leaseDuration: 5s}\n",
	  "3:37: leaderElection.leaseDuration: Invalid value: must be greater than "
	  "renewDeadline",
	  1 },
	{ HEAD "leaderElection: {leaderElect: true, leaseDuration: 20s, renewDeadline: "
	       "12s, retryPeriod: 10s}\n",
	  "3:57: leaderElection.renewDeadline: Invalid value: must be greater than 1.2 "
	  "times retryPeriod",
	  1 },
	{ HEAD "clientConnection: {qps: x}\n",
	  "3:20: clientConnection.qps: Invalid value: \"x\": must be a number", 1 },
	{ HEAD "leaderElection: {resourceLock: endpoints}\n",
	  "3:18: leaderElection.resourceLock: Unsupported value: \"endpoints\"", 1 },
	{ HEAD "featureGates: {TrainJobStatus: 1, Other: true}\n",
	  "3:16: featureGates[TrainJobStatus]: Invalid value: 1", 2 },
	{ HEAD "featureGates: [TrainJobStatus]\n", "3:1: featureGates: Invalid value",
	  1 },
	{ HEAD "tls: {cipherSuites: [A, 5], nextProtos: h2}\n",
	  "3:25: tls.cipherSuites[1]: Invalid value: 5: must be a string", 2 },
	{ HEAD "kind: Configuration\n", "3:", 1 }, /* twice */
};

TEST(errors_have_line_and_column)
{
	for (size_t i = 0; i < N_ELEMENTS(bad_rows); i++) {
		struct manager_config c;
		struct error err = { 0 };
		char **errors, want[500];
		int n = 0;

		snprintf(want, sizeof(want), "test_config.yaml:%s%s",
			 bad_rows[i].want[1] == ' ' ? " " : "", bad_rows[i].want);
		if (!load(&c, bad_rows[i].text, NULL, &errors, &err))
			fail_msg("%s: no error", bad_rows[i].text);
		check_int(bad_rows[i].text, err.kind, ERR_INVALID);
		if (!str_starts(err.msg, want))
			fail_msg("%s: got %s, want %s", bad_rows[i].text, err.msg, want);
		while (errors && errors[n])
			n++;
		check_int(bad_rows[i].text, errors ? n : 1, bad_rows[i].n);
		if (errors)
			check_text(bad_rows[i].text, errors[0], err.msg);
		manager_config_release(&c);
	}
}

/* Upstream's ConfigMap says 50 and 100, which its manager never applies. */
TEST(test_which_client_limit_is_applied)
{
	static const struct {
		double qps;
		int64_t burst;
		double want;
	} rows[] = {
		{ 50, 100, 0 }, { 50, 99, 50 },    { 49, 100, 49 },
		{ 0, 100, 0 },  { 1000, 1, 1000 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct manager_config c = { .client = { rows[i].qps,
							      rows[i].burst } };

		assert_true(manager_config_qps(&c) == rows[i].want);
	}
}

TEST(test_no_file)
{
	static const char *const paths[] = { "/nonexistent/file.yaml", "." };

	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		struct manager_config c;
		struct error err = { 0 };
		char **errors;

		assert_int_equal(manager_config_load(&c, paths[i], NULL, &errors, &err),
				 -1);
		check_int(paths[i], err.kind, ERR_INVALID);
		assert_true(str_starts(err.msg, paths[i]));
		manager_config_release(&c);
	}
}

static const struct gate_row {
	const char *text, *gates;
	bool want;
} gate_rows[] = {
	{ HEAD "featureGates: {TrainJobStatus: true}\n", NULL, true },
	{ HEAD "featureGates: {TrainJobStatus: true}\n", "TrainJobStatus=false", false },
	{ HEAD "featureGates: {AllAlpha: true}\n", NULL, true },
	{ HEAD "featureGates: {TrainJobStatus: false, AllAlpha: true}\n", NULL, false },
	{ HEAD "featureGates: {AllAlpha: true, TrainJobStatus: false}\n", NULL, false },
	{ NULL, "TrainJobStatus=true", true },
	{ NULL, " TrainJobStatus = T ,", true },
	{ NULL, "AllAlpha=true,AllBeta=false", true },
	{ NULL, "", false },
};

/* Upstream's gate is off, and alpha (KEP-3015). */
TEST(test_gate_of_scheduling)
{
	static const struct gate_row rows[] = {
		{ NULL, "TrainJobWorkloadAwareScheduling=true", true },
		{ NULL, "AllAlpha=true", true },
		{ NULL, "AllAlpha=true,TrainJobWorkloadAwareScheduling=false", false },
		{ NULL, "DynamicResourceAllocation=true", false },
		{ NULL, "", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct manager_config c;

		load_well(&c, rows[i].text, rows[i].gates);
		check_int(rows[i].gates, c.gate_scheduling, rows[i].want);
		manager_config_release(&c);
	}
}

/* Upstream's gate is off, and alpha. Our name of it still works. */
TEST(test_gate_of_claims)
{
	static const struct gate_row of_claims[] = {
		{ NULL, "DynamicResourceAllocation=true", true },
		{ NULL, "TrainJobResourceClaims=true", true },
		{ NULL, "TrainJobResourceClaims=true,AllAlpha=false", true },
		{ NULL, "AllAlpha=true", true },
		{ NULL, "AllAlpha=true,TrainJobResourceClaims=false", false },
		{ NULL, "AllBeta=true", false },
		{ NULL, "TrainJobStatus=true", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(of_claims); i++) {
		struct manager_config c;

		load_well(&c, of_claims[i].text, of_claims[i].gates);
		check_int(of_claims[i].gates, c.gate_resource_claims, of_claims[i].want);
		manager_config_release(&c);
	}
}

TEST(test_gates)
{
	static const char *const bad[] = { "TrainJobStatus", "TrainJobStatus=yes",
					   "TrainJobState=true", "=true" };

	for (size_t i = 0; i < N_ELEMENTS(gate_rows); i++) {
		struct manager_config c;

		load_well(&c, gate_rows[i].text, gate_rows[i].gates);
		check_int(gate_rows[i].gates ? gate_rows[i].gates : gate_rows[i].text,
			  c.gate_trainjob_status, gate_rows[i].want);
		manager_config_release(&c);
	}
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		struct manager_config c;
		struct error err = { 0 };
		char **errors;

		assert_int_equal(load(&c, NULL, bad[i], &errors, &err), -1);
		check_int(bad[i], err.kind, ERR_USAGE);
		manager_config_release(&c);
	}
}

RUN_TESTS(NULL, NULL)
