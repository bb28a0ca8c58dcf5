/* Rules: cert-controller's pkg/rotator, upstream's pkg/util/cert. */
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/cert.h"
#include "manager/certset.h"
#include "manager/names.h"
#include "tests/unit/kube/apiserver.h"

#define DNS       "kubeflow-trainer-controller-manager.sys.svc"
#define ADMISSION "admissionregistration.k8s.io/v1"

/* 64 bytes */
#define LONG "abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.0123456789"

enum { NOW = 1800000000, DAY = 24 * 3600, LOOK_MS = 50 };

/* ---- the set ---- */

static struct cert_set good; /* made at NOW; RSA keys take their time */

static struct x509_pair copy_pair(const struct x509_pair *p)
{
	return (struct x509_pair){ xstrdup(p->cert_pem), xstrdup(p->key_pem) };
}

static struct cert_set copy_set(const struct cert_set *s)
{
	return (struct cert_set){ .ca = copy_pair(&s->ca),
				  .server = copy_pair(&s->server) };
}

static enum cert_change renew(struct cert_set *s, const char *dns, int64_t now,
			      struct error *why)
{
	struct error err = { 0 };
	enum cert_change ret;

	if (cert_set_renew(s, dns, now, &ret, why, &err))
		fail_msg("%s", err.msg);
	if (x509_check_server(&s->server, s->ca.cert_pem, dns, now, &err) ||
	    x509_check_server(&s->server, s->ca.cert_pem, dns, now + CERT_LOOKAHEAD,
			      &err))
		fail_msg("%s", err.msg);
	return ret;
}

static int make_good(void **state)
{
	struct error why = { 0 }, err = { 0 };
	int64_t ends;

	assert_int_equal(renew(&good, DNS, NOW, &why), CERT_NEW_CA);
	check_text("why", why.msg, "no CA");
	assert_int_equal(x509_check_ca(&good.ca, NOW, &err), 0);
	assert_int_equal(x509_expiry(&ends, good.server.cert_pem, &err), 0);
	check_int("server's days", (ends - NOW) / DAY, 365);
	assert_int_equal(x509_expiry(&ends, good.ca.cert_pem, &err), 0);
	check_int("CA's days", (ends - NOW) / DAY, 3650);
	return 0;
}

static int drop_good(void **state)
{
	cert_set_release(&good);
	return 0;
}

static const struct {
	const char *what, *dns;
	int64_t days; /* from NOW */
	enum cert_change want;
} renew_rows[] = {
	{ "good", DNS, 0, CERT_KEPT },
	{ "still good", DNS, 270, CERT_KEPT },
	{ "ends within 90 days", DNS, 280, CERT_NEW_SERVER },
	{ "has ended", DNS, 800, CERT_NEW_SERVER },
	{ "for another name", "other.sys.svc", 0, CERT_NEW_SERVER },
};

TEST(test_renewal)
{
	for (size_t i = 0; i < N_ELEMENTS(renew_rows); i++) {
		struct cert_set set = copy_set(&good);
		struct error why = { 0 };

		check_int(renew_rows[i].what,
			  renew(&set, renew_rows[i].dns, NOW + renew_rows[i].days * DAY,
				&why),
			  renew_rows[i].want);
		check_text(renew_rows[i].what, set.ca.cert_pem, good.ca.cert_pem);
		check_text(renew_rows[i].what, set.ca.key_pem, good.ca.key_pem);
		assert_int_equal(!strcmp(set.server.cert_pem, good.server.cert_pem),
				 renew_rows[i].want == CERT_KEPT);
		assert_int_equal(*why.msg == '\0', renew_rows[i].want == CERT_KEPT);
		cert_set_release(&set);
	}
}

/* Whoever has the certificate of the old CA is trusted until that ends. */
TEST(test_new_ca)
{
	static const struct {
		const char *what;
		int64_t days;
		bool keeps_old;
	} rows[] = {
		{ "ends within 90 days", 3600, true },
		{ "has ended", 3700, false },
		{ "the clock went back", -700, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct cert_set set = copy_set(&good);
		struct error why = { 0 }, err = { 0 };

		check_int(rows[i].what, renew(&set, DNS, NOW + rows[i].days * DAY, &why),
			  CERT_NEW_CA);
		assert_string_not_equal(set.ca.key_pem, good.ca.key_pem);
		check_int(rows[i].what,
			  !x509_check_server(&good.server, set.ca.cert_pem, DNS,
					     NOW + 100 * DAY, &err),
			  rows[i].keeps_old);
		cert_set_release(&set);
	}
}

TEST(test_broken)
{
	struct cert_set set = copy_set(&good);
	struct error why = { 0 };

	free(STEAL(set.ca.key_pem)); /* kept elsewhere: fine while it is not needed */
	assert_int_equal(renew(&set, DNS, NOW, &why), CERT_KEPT);
	free(set.server.key_pem);
	set.server.key_pem = xstrdup(good.ca.key_pem);
	assert_int_equal(renew(&set, DNS, NOW, &why), CERT_NEW_CA);
	free(set.server.cert_pem);
	set.server.cert_pem = xstrdup("-----BEGIN CERTIFICATE-----\nnonsense\n");
	assert_int_equal(renew(&set, DNS, NOW, &why), CERT_NEW_SERVER);
	cert_set_release(&set);
}

/* A pair that is served was checked: a wrong key shows that only its times are looked at. */
TEST(test_served)
{
	static const struct {
		const char *what;
		int64_t days;
		bool is_served;
		enum cert_change want;
	} rows[] = {
		{ "served", 0, true, CERT_KEPT },
		{ "another one is served", 0, false, CERT_NEW_SERVER },
		{ "still good", 270, true, CERT_KEPT },
		{ "ends within 90 days", 280, true, CERT_NEW_SERVER },
		{ "the clock went back", -700, true, CERT_NEW_CA },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct cert_set served = copy_set(&good), set = copy_set(&good);
		struct error why = { 0 }, err = { 0 };
		enum cert_change ret;

		free(set.server.key_pem);
		set.server.key_pem = xstrdup(good.ca.key_pem);
		set.served = &served;
		if (rows[i].is_served) {
			free(served.server.key_pem);
			served.server.key_pem = xstrdup(set.server.key_pem);
		}
		assert_int_equal(cert_set_renew(&set, DNS, NOW + rows[i].days * DAY, &ret,
						&why, &err),
				 0);
		check_int(rows[i].what, ret, rows[i].want);
		cert_set_release(&set);
		cert_set_release(&served);
	}
}

/* A name that no certificate can have is an error, and what was there stays. */
TEST(test_no_name)
{
	static const char *const names[] = { "", LONG LONG LONG LONG };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		struct cert_set set = copy_set(&good);
		struct error why = { 0 }, err = { 0 };
		enum cert_change unused;

		assert_int_equal(cert_set_renew(&set, names[i], NOW, &unused, &why, &err),
				 -1);
		check_int(names[i], err.kind, ERR_INVALID);
		check_text(names[i], set.server.cert_pem, good.server.cert_pem);
		cert_set_release(&set);
	}
}

TEST(test_secret)
{
	cleanup_json cJSON *secret = doc_of("{\"data\": {\"other\": \"eA==\"}}");
	cleanup_json cJSON *bad = doc_of("{\"data\": {\"ca.crt\": \"?\", \"ca.key\": 5, "
					 "\"tls.crt\": \"\", \"tls.key\": \"YQBi\"}}");
	cleanup_json cJSON *none = doc_of("{}");
	cleanup_cert_set struct cert_set set = { 0 };

	cert_set_write(&good, secret);
	check_text("other", json_str(secret, "data", "other"), "eA==");
	cert_set_read(&set, secret);
	check_text("ca.crt", set.ca.cert_pem, good.ca.cert_pem);
	check_text("ca.key", set.ca.key_pem, good.ca.key_pem);
	check_text("tls.crt", set.server.cert_pem, good.server.cert_pem);
	check_text("tls.key", set.server.key_pem, good.server.key_pem);
	cert_set_release(&set);
	cert_set_read(&set, bad);
	assert_true(!set.ca.cert_pem && !set.ca.key_pem && !set.server.cert_pem &&
		    !set.server.key_pem);
	cert_set_read(&set, none);
	assert_true(!set.ca.cert_pem && !set.server.key_pem);
}

/* ---- the thread ---- */

static struct tls_server *new_tls(void)
{
	const struct tls_conf conf = { 0 };
	struct error err = { 0 };
	struct tls_server *ret = NULL;

	if (tls_server_new(&ret, &conf, &err))
		fail_msg("%s", err.msg);
	return ret;
}

struct replica {
	struct manager_config config;
	struct tls_server *tls;
	struct cert_manager *certs;
};

static void start_looking(struct replica *r, struct kube *k, const char *dir,
			  int64_t resync_ms)
{
	struct error err = { 0 };
	struct cert_conf conf;
	char **errors;

	assert_int_equal(manager_config_load(&r->config, NULL, NULL, &errors, &err), 0);
	r->config.certs.enable = dir == NULL;
	r->tls = new_tls();
	conf = (struct cert_conf){ .kube = k,
				   .config = &r->config,
				   .ns = "sys",
				   .dir = dir,
				   .server = r->tls,
				   .resync_ms = resync_ms };
	if (cert_manager_start(&r->certs, &conf, &err))
		fail_msg("%s", err.msg);
}

static void start(struct replica *r, struct kube *k, const char *dir)
{
	start_looking(r, k, dir, LOOK_MS);
}

static void stop(struct replica *r)
{
	cert_manager_stop(r->certs);
	tls_server_free(r->tls);
	manager_config_release(&r->config);
}

static cJSON *get(struct apiserver *s, const char *api_version, const char *kind,
		  const char *ns, const char *name)
{
	const struct kube_ref ref = { api_version, kind, ns, name };
	struct error err = { 0 };
	cJSON *ret = NULL;

	if (kube_get(s->kube, &ref, &ret, &err) && err.kind != ERR_NOT_FOUND)
		fail_msg("%s", err.msg);
	return ret;
}

static cJSON *get_secret(struct apiserver *s)
{
	return get(s, "v1", "Secret", "sys", "kubeflow-trainer-webhook-cert");
}

static void create(struct apiserver *s, const char *json)
{
	const struct kube_write plain = { 0 };
	cleanup_json cJSON *obj = doc_of(json);
	struct error err = { 0 };

	if (kube_create(s->kube, obj, &plain, NULL, &err))
		fail_msg("%s", err.msg);
}

static void create_hooks(struct apiserver *s, const char *kind, const char *name)
{
	char json[1000];

	snprintf(json, sizeof(json),
		 "{\"apiVersion\": \"" ADMISSION "\", \"kind\": \"%s\", \"metadata\": "
		 "{\"name\": \"%s\"}, \"webhooks\": [{\"name\": \"a\", \"clientConfig\": "
		 "{\"service\": {\"path\": \"/a\"}}}, {\"name\": \"b\", "
		 "\"clientConfig\": {\"caBundle\": \"b2xk\"}}, {\"name\": \"c\"}]}",
		 kind, name);
	create(s, json);
}

/* Has each hook the CA of the Secret? */
static bool is_injected(struct apiserver *s, const char *kind, const char *name)
{
	cleanup_json cJSON *config = get(s, ADMISSION, kind, NULL, name);
	cleanup_json cJSON *secret = get_secret(s);
	const cJSON *hook;

	json_each(hook, json_get(config, "webhooks"))
		if (!str_eq(json_str(hook, "clientConfig", "caBundle"),
			    json_str(secret, "data", "ca.crt")))
			return false;
	return json_get(secret, "data", "ca.crt") != NULL;
}

TEST(test_first_start)
{
	struct apiserver s;
	struct replica one, two;
	cleanup_json cJSON *made = NULL, *later = NULL;
	cleanup_free char *ca = NULL;
	cleanup_cert_set struct cert_set set = { 0 };
	struct error err = { 0 };

	apiserver_start(&s);
	create_hooks(&s, "MutatingWebhookConfiguration", MANAGER_MUTATING);
	create_hooks(&s, "ValidatingWebhookConfiguration", MANAGER_VALIDATING);
	start(&one, s.kube, NULL);
	start(&two, s.kube, NULL); /* one of them is too late, and takes what is there */
	EVENTUALLY(cert_manager_ready(one.certs) && cert_manager_ready(two.certs));
	assert_true(is_injected(&s, "MutatingWebhookConfiguration", MANAGER_MUTATING));
	assert_true(
		is_injected(&s, "ValidatingWebhookConfiguration", MANAGER_VALIDATING));
	made = get_secret(&s);
	cert_set_read(&set, made);
	if (x509_check_server(&set.server, set.ca.cert_pem, DNS, clock_now(), &err))
		fail_msg("%s", err.msg);
	ca = cert_manager_ca(two.certs);
	check_text("CA", ca, set.ca.cert_pem);
	/* A bundle that somebody lost is put back; the Secret is not touched again. */
	apiserver_do(&s, "{'op':'forget','path':'/apis/" ADMISSION
			 "/mutatingwebhookconfigurations/" MANAGER_MUTATING "'}");
	create_hooks(&s, "MutatingWebhookConfiguration", MANAGER_MUTATING);
	EVENTUALLY(is_injected(&s, "MutatingWebhookConfiguration", MANAGER_MUTATING));
	later = get_secret(&s);
	assert_true(json_equal(made, later));
	stop(&one);
	stop(&two);
	apiserver_stop(&s);
}

/* Not at the next look: until then TrainJobs would be refused. */
TEST(test_a_touched_bundle_is_put_back_at_once)
{
	static const char *const rows[][2] = {
		{ "MutatingWebhookConfiguration", MANAGER_MUTATING },
		{ "ValidatingWebhookConfiguration", MANAGER_VALIDATING },
	};
	static const char *const bundles[] = { NULL, "d3Jvbmc=", "" };
	const struct kube_write plain = { 0 };
	struct apiserver s;
	struct replica one;
	struct error err = { 0 };

	apiserver_start(&s);
	start_looking(&one, s.kube, NULL, 60 * 60 * 1000);
	EVENTUALLY(cert_manager_ready(one.certs));
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *kind = rows[i][0], *name = rows[i][1];
		const struct kube_ref ref = { ADMISSION, kind, NULL, name };

		create_hooks(&s, kind, name);
		EVENTUALLY(is_injected(&s, kind, name));
		for (size_t n = 0; n < N_ELEMENTS(bundles); n++) {
			cleanup_json cJSON *config = get(&s, ADMISSION, kind, NULL, name);
			cJSON *hook = json_get(config, "webhooks")->child;

			json_del(hook, JSON_PATH("clientConfig", "caBundle"));
			if (bundles[n])
				json_put_str(hook, bundles[n], "clientConfig",
					     "caBundle");
			if (kube_update(s.kube, config, &plain, NULL, &err))
				fail_msg("%s", err.msg);
			EVENTUALLY(is_injected(&s, kind, name));
		}
		assert_int_equal(kube_delete(s.kube, &ref, NULL, NULL, &err), 0);
		create_hooks(&s, kind, name);
		EVENTUALLY(is_injected(&s, kind, name));
	}
	stop(&one);
	apiserver_stop(&s);
}

/* An empty Secret, as upstream's manifests bring; no webhooks; an API server that fails. */
TEST(test_slow_cluster)
{
	struct apiserver s;
	struct replica one;
	cleanup_json cJSON *secret = NULL;

	apiserver_start(&s);
	create(&s,
	       "{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": "
	       "{\"name\": \"kubeflow-trainer-webhook-cert\", \"namespace\": \"sys\", "
	       "\"labels\": {\"a\": \"b\"}}}");
	apiserver_do(&s, "{'op':'fail','status':403,'n':3}");
	start(&one, s.kube, NULL);
	assert_false(cert_manager_ready(one.certs));
	assert_null(cert_manager_ca(one.certs));
	EVENTUALLY(cert_manager_ready(one.certs));
	secret = get_secret(&s);
	check_text("label", json_str(secret, "metadata", "labels", "a"), "b");
	create_hooks(&s, "ValidatingWebhookConfiguration", MANAGER_VALIDATING);
	EVENTUALLY(is_injected(&s, "ValidatingWebhookConfiguration", MANAGER_VALIDATING));
	stop(&one);
	apiserver_stop(&s);
}

/* What upstream's manager or a replica wrote is shown as it is, and a change is noticed. */
TEST(test_changed_secret)
{
	struct apiserver s;
	struct replica one;
	cleanup_json cJSON *secret = doc_of(
		"{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": "
		"\"kubeflow-trainer-webhook-cert\", \"namespace\": \"sys\"}}");
	const struct kube_write plain = { 0 };
	struct cert_set set = { 0 };
	struct error err = { 0 };
	cleanup_free char *before = NULL;

	renew(&set, DNS, clock_now(), &err);
	cert_set_write(&set, secret);
	apiserver_start(&s);
	assert_int_equal(kube_create(s.kube, secret, &plain, NULL, &err), 0);
	start(&one, s.kube, NULL);
	EVENTUALLY(cert_manager_ready(one.certs));
	before = cert_manager_ca(one.certs);
	check_text("as it is", before, set.ca.cert_pem);
	json_del(secret, JSON_PATH("data", "ca.crt"));
	assert_int_equal(kube_update(s.kube, secret, &plain, NULL, &err), 0);
	EVENTUALLY(({
		cleanup_free char *ca = cert_manager_ca(one.certs);

		!str_eq(ca, before);
	}));
	assert_int_equal(apiserver_seen(&s, "PUT secrets"), 2); /* ours, and its own */
	stop(&one);
	apiserver_stop(&s);
	cert_set_release(&set);
}

/* With the Secret the CA is gone; who still shows its certificate is trusted. */
TEST(test_deleted_secret)
{
	const struct kube_ref ref = { "v1", "Secret", "sys",
				      "kubeflow-trainer-webhook-cert" };
	struct apiserver s;
	struct replica one;
	cleanup_json cJSON *secret = NULL;
	cleanup_cert_set struct cert_set before = { 0 };
	cleanup_free char *ca = NULL;
	struct error err = { 0 };

	apiserver_start(&s);
	start(&one, s.kube, NULL);
	EVENTUALLY(cert_manager_ready(one.certs));
	secret = get_secret(&s);
	cert_set_read(&before, secret);
	assert_int_equal(kube_delete(s.kube, &ref, NULL, NULL, &err), 0);
	EVENTUALLY((free(ca), ca = cert_manager_ca(one.certs),
		    !str_eq(ca, before.ca.cert_pem)));
	if (x509_check_server(&before.server, ca, DNS, clock_now(), &err))
		fail_msg("%s", err.msg);
	assert_true(str_starts(ca, "-----BEGIN CERTIFICATE-----\n"));
	assert_false(str_starts(ca, before.ca.cert_pem)); /* the new one first */
	stop(&one);
	apiserver_stop(&s);
}

static void write_text(const char *path, const char *text)
{
	struct error err = { 0 };

	if (file_write(path, text, strlen(text), 0600, &err))
		fail_msg("%s", err.msg);
}

TEST(test_folder)
{
	char dir[] = "/tmp/test_cert.XXXXXX", path[100];
	struct error err = { 0 };
	struct replica one;

	assert_non_null(mkdtemp(dir));
	start(&one, NULL, dir);
	clock_sleep_ms(3 * LOOK_MS);
	assert_false(cert_manager_ready(one.certs));
	snprintf(path, sizeof(path), "%s/tls.crt", dir);
	write_text(path, good.server.cert_pem);
	snprintf(path, sizeof(path), "%s/tls.key", dir);
	write_text(path, good.server.key_pem);
	EVENTUALLY(cert_manager_ready(one.certs));
	assert_null(cert_manager_ca(one.certs));
	snprintf(path, sizeof(path), "%s/ca.crt", dir);
	write_text(path, good.ca.cert_pem);
	EVENTUALLY(({
		cleanup_free char *ca = cert_manager_ca(one.certs);

		str_eq(ca, good.ca.cert_pem);
	}));
	stop(&one);
	assert_int_equal(dir_remove(dir, &err), 0);
}

RUN_TESTS(make_good, drop_good)
