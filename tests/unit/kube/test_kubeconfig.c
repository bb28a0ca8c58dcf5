#include "kube/kubeconfig.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "crypto/x509.h"
#include "tests/unit/base/base_test.h"
#include "tests/unit/kube/account.h"

#define MOST_FILES 64 /* as many of $KUBECONFIG are read */

/* Written by put(): a certificate, its key and another key; _DATA: in base64. */
#define CERT       "@0"
#define CERT_DATA  "@1"
#define KEY        "@2"
#define KEY_DATA   "@3"
#define OTHER      "@4"
#define OTHER_DATA "@5"
#define CERT_JSON  "@6" /* with \\n for newlines, in a script's single quotes */
#define KEY_JSON   "@7"
#define OTHER_JSON "@8"
enum { N_TEXTS = 9 };

struct place {
	char dir[32];
	struct arena arena;
	struct x509_pair pair, other;
	const char *texts[N_TEXTS];
};

/* As it is, in base64, and in JSON. */
static void add_texts(struct place *p, int plain, int data, int json, const char *pem)
{
	cleanup_buf struct buf base64 = { .max = 10000 }, escaped = { .max = 10000 };

	base64_encode(&base64, pem, strlen(pem));
	for (const char *c = pem; *c; c++)
		buf_adds(&escaped, *c == '\n' ? "\\n" : (char[]){ *c, 0 });
	p->texts[plain] = pem;
	p->texts[data] = arena_strdup(&p->arena, (char *)base64.data);
	p->texts[json] = arena_strdup(&p->arena, (char *)escaped.data);
}

static void make_pairs(struct place *p)
{
	int64_t now = clock_now();
	struct error err = { 0 };

	if (x509_new_p256_ca(&p->pair, "c", "o", now, now + 3600, &err) ||
	    x509_new_p256_ca(&p->other, "c", "o", now, now + 3600, &err))
		fail_msg("%s", err.msg);
	add_texts(p, 0, 1, 6, p->pair.cert_pem);
	add_texts(p, 2, 3, 7, p->pair.key_pem);
	add_texts(p, 4, 5, 8, p->other.key_pem);
}

static int make_place(void **state)
{
	static struct place place;

	place = (struct place){ .dir = "/tmp/kubeconfig-XXXXXX" };
	assert_non_null(mkdtemp(place.dir));
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("KUBERNETES_SERVICE_PORT");
	unsetenv("KUBECONFIG");
	setenv("HOME", place.dir, 1);
	make_pairs(&place);
	*state = &place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;
	struct error err = { 0 };

	x509_pair_release(&p->pair);
	x509_pair_release(&p->other);
	arena_clear(&p->arena);
	return dir_remove(p->dir, &err);
}

/* A file in the place; its path. */
static const char *put(struct place *p, const char *name, const char *text)
{
	const char *path = path_join(&p->arena, p->dir, name);
	cleanup_buf struct buf out = { .max = 1000000 };
	struct error err = { 0 };

	for (; *text; text++)
		if (*text == '@' && text[1] >= '0' && text[1] < '0' + N_TEXTS)
			buf_adds(&out, p->texts[*++text - '0']);
		else
			buf_add(&out, text, 1);
	if (dir_make(path_dir(&p->arena, path), 0700, &err) ||
	    file_write(path, out.data, out.len, 0700, &err))
		fail_msg("%s", err.msg);
	return path;
}

static void load(struct kube_config *c, const struct kube_config_flags *flags)
{
	struct error err = { 0 };

	if (kube_config_load(c, flags, &err))
		fail_msg("%s", err.msg);
}

/* The message, without the path of the place. */
static const char *load_error(struct place *p, const struct kube_config_flags *flags,
			      enum error_kind kind)
{
	struct kube_config c = { .ns = "as it was" };
	struct error err = { 0 };
	cleanup_buf struct buf out = { .max = 10000 };

	if (!kube_config_load(&c, flags, &err))
		fail_msg("loaded: %s", c.server);
	check_text("untouched", c.ns, "as it was");
	check_int(err.msg, err.kind, kind);
	for (const char *m = err.msg; *m;) {
		const char *rest = str_after(m, p->dir);

		if (rest && *rest == '/')
			m = rest + 1;
		else
			buf_add(&out, m++, 1);
	}
	return arena_strdup(&p->arena, (char *)out.data);
}

static const char plain[] = "apiVersion: v1\n"
			    "kind: Config\n"
			    "current-context: dev\n"
			    "clusters:\n"
			    "- name: c1\n"
			    "  cluster:\n"
			    "    server: HTTPS://one.example:6443/prefix/\n"
			    "    certificate-authority: pki/ca.crt\n"
			    "    tls-server-name: kubernetes\n"
			    "    proxy-url: http://proxy:3128\n"
			    "- name: c2\n"
			    "  cluster: {server: 'http://two.example'}\n"
			    "contexts:\n"
			    "- name: dev\n"
			    "  context: {cluster: c1, user: jane, namespace: team-a}\n"
			    "- name: prod\n"
			    "  context: {cluster: c2, user: token}\n"
			    "- name: nobody\n"
			    "  context: {cluster: c2}\n"
			    "users:\n"
			    "- name: jane\n"
			    "  user:\n"
			    "    client-certificate-data: " CERT_DATA "\n"
			    "    client-certificate: is-not-read\n"
			    "    client-key: jane.key\n"
			    "    as: admin\n"
			    "    as-groups: [g1, g2]\n"
			    "    as-user-extra: {a.b/c%: [x, y z], d: []}\n"
			    "- name: token\n"
			    "  user: {token: abc, tokenFile: tokens/t}\n";

static void test_everything(void **state)
{
	struct place *p = *state;
	struct kube_config_flags flags = { .kubeconfig = put(p, "a/config", plain) };
	cleanup_kube_config struct kube_config c = { 0 };

	put(p, "a/pki/ca.crt", CERT);
	put(p, "a/jane.key", KEY);
	load(&c, &flags);
	check_text("server", c.server, "https://one.example:6443/prefix");
	check_text("ca", c.ca_pem, p->pair.cert_pem);
	check_text("name", c.tls_server_name, "kubernetes");
	check_text("proxy", c.proxy_url, "http://proxy:3128");
	check_text("ns", c.ns, "team-a");
	check_text("cert", c.cert_pem, p->pair.cert_pem);
	check_text("key", c.key_pem, p->pair.key_pem);
	check_text("as", c.impersonate, "admin");
	check_text("group", c.impersonate_groups[1], "g2");
	assert_null(c.impersonate_groups[2]);
	check_text("extra", c.impersonate_extra[0], "Impersonate-Extra-a.b%2Fc%25: x");
	check_text("extra", c.impersonate_extra[1], "Impersonate-Extra-a.b%2Fc%25: y z");
	assert_null(c.impersonate_extra[2]);
	check_text("context", c.context, "dev");
	assert_null(c.token);
	assert_false(c.insecure);
}

static void test_flags(void **state)
{
	struct place *p = *state;
	struct kube_config_flags flags = { .kubeconfig = put(p, "a/config", plain),
					   .context = "prod",
					   .ns = "mine",
					   .server = "https://other:1/" };
	cleanup_kube_config struct kube_config c = { 0 }, d = { 0 };

	load(&c, &flags);
	check_text("server", c.server, "https://other:1");
	check_text("ns", c.ns, "mine");
	check_text("context", c.context, "prod");
	check_text("token", c.token, "abc");
	check_text("file", c.token_file, path_join(&p->arena, p->dir, "a/tokens/t"));
	flags = (struct kube_config_flags){ .kubeconfig = flags.kubeconfig,
					    .context = "nobody" };
	load(&d, &flags);
	check_text("server", d.server, "http://two.example");
	check_text("ns", d.ns, "default");
	assert_null(d.token);
}

/* The first file to set a value wins; paths are relative to the file they are in. */
static void test_merging(void **state)
{
	struct place *p = *state;
	const char *one = put(p, "one/config",
			      "clusters:\n- name: c\n  cluster: {server: https://first}\n"
			      "contexts:\n- name: x\n  context: {cluster: c, user: u}\n");
	const char *two = put(
		p, "two/config",
		"current-context: x\n"
		"clusters:\n"
		"- name: c\n"
		"  cluster: {server: https://second, certificate-authority: nowhere}\n"
		"users:\n"
		"- name: u\n"
		"  user: {tokenFile: t}\n");
	const char *three = put(p, "three/config", "current-context: z\n");
	cleanup_kube_config struct kube_config c = { 0 };

	setenv("KUBECONFIG",
	       arena_printf(&p->arena, "%s:%s/missing::%s:%s", one, p->dir, two, three),
	       1);
	load(&c, NULL);
	check_text("server", c.server, "https://first");
	assert_null(c.ca_pem);
	check_text("context", c.context, "x");
	check_text("file", c.token_file, path_join(&p->arena, p->dir, "two/t"));
	unsetenv("KUBECONFIG");
}

/* One that is there must be good, whatever the others are. */
static void test_a_listed_file_that_is_wrong(void **state)
{
	struct place *p = *state;
	const char *wrong = put(p, "wrong", "- a");

	setenv("KUBECONFIG",
	       arena_printf(&p->arena, "%s:%s", wrong, put(p, "good", plain)), 1);
	check_text("error", load_error(p, NULL, ERR_FORMAT),
		   "wrong:1:1: not a kubeconfig");
	unsetenv("KUBECONFIG");
}

static void test_many_files(void **state)
{
	struct place *p = *state;
	cleanup_kube_config struct kube_config c = { 0 };
	cleanup_buf struct buf list = { .max = 100000 };

	put(p, "good", plain);
	put(p, "empty", "");
	buf_adds(&list, p->dir);
	buf_adds(&list, "/good");
	for (int i = 1; i < MOST_FILES; i++)
		buf_printf(&list, ":%s/missing:%s/empty", p->dir, p->dir);
	setenv("KUBECONFIG", (char *)list.data, 1);
	put(p, "a/pki/ca.crt", CERT);
	put(p, "pki/ca.crt", CERT);
	put(p, "jane.key", KEY);
	load(&c, NULL);
	buf_printf(&list, ":%s/empty", p->dir);
	setenv("KUBECONFIG", (char *)list.data, 1);
	check_text("error", load_error(p, NULL, ERR_LIMIT),
		   arena_printf(&p->arena, "more than %d kubeconfig files", MOST_FILES));
	unsetenv("KUBECONFIG");
}

static void test_server_without_context(void **state)
{
	struct place *p = *state;
	const struct kube_config_flags flags = { .kubeconfig =
							 put(p, "config", "clusters: []"),
						 .server = "h:1" };
	cleanup_kube_config struct kube_config c = { 0 };

	load(&c, &flags);
	check_text("server", c.server, "http://h:1");
	check_text("ns", c.ns, "default");
}

/* https where there is anything of TLS, as client-go has it. */
static void test_schemes(void **state)
{
	static const struct {
		const char *cluster, *user, *server;
	} rows[] = {
		{ "", "", "http://h:1" },
		{ ", certificate-authority-data: " CERT_DATA, "", "https://h:1" },
		{ ", insecure-skip-tls-verify: true", "", "https://h:1" },
		{ ", insecure-skip-tls-verify: false", "", "http://h:1" },
		{ "",
		  "client-certificate-data: " CERT_DATA ", client-key-data: " KEY_DATA,
		  "https://h:1" },
	};
	struct place *p = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct kube_config_flags flags = {
			.kubeconfig =
				put(p, "config",
				    arena_printf(&p->arena,
						 "current-context: x\n"
						 "contexts:\n"
						 "- name: x\n"
						 "  context: {cluster: c, user: u}\n"
						 "clusters:\n"
						 "- name: c\n"
						 "  cluster: {server: 'h:1'%s}\n"
						 "users:\n"
						 "- name: u\n"
						 "  user: {%s}\n",
						 rows[i].cluster, rows[i].user))
		};
		cleanup_kube_config struct kube_config c = { 0 };

		load(&c, &flags);
		check_text(rows[i].cluster, c.server, rows[i].server);
	}
}

static void test_home(void **state)
{
	struct place *p = *state;
	cleanup_kube_config struct kube_config c = { 0 };

	put(p, ".kube/config",
	    "current-context: x\n"
	    "clusters:\n"
	    "- name: c\n"
	    "  cluster: {server: 'h:1', insecure-skip-tls-verify: true}\n"
	    "contexts:\n"
	    "- name: x\n"
	    "  context: {cluster: c}\n");
	load(&c, NULL);
	check_text("server", c.server, "https://h:1"); /* there is something of TLS */
	assert_true(c.insecure);
}

static void test_nothing_there(void **state)
{
	struct place *p = *state;
	struct kube_config_flags flags = { .kubeconfig =
						   path_join(&p->arena, p->dir, "x") };
	struct kube_config_flags server = { .server = "127.0.0.1:8080" };
	cleanup_kube_config struct kube_config c = { 0 };
	struct error err = { 0 };

	check_text("flag", load_error(p, &flags, ERR_NOT_FOUND),
		   "x: No such file or directory");
	assert_non_null(strstr(load_error(p, NULL, ERR_NOT_FOUND), "no kubeconfig"));
	setenv("KUBECONFIG", path_join(&p->arena, p->dir, "y"), 1);
	assert_non_null(strstr(load_error(p, NULL, ERR_NOT_FOUND), "no kubeconfig"));
	unsetenv("KUBECONFIG");
	load(&c, &server);
	check_text("server", c.server, "http://127.0.0.1:8080");
	assert_int_equal(kube_config_in_cluster(&c, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "not in a pod"));
}

/* `with` stands in place of the user, the cluster or the top of a good file. */
/* What tools write when no cluster is left; clientcmd.IsConfigEmpty(). */
static void test_no_clusters(void **state)
{
	static const char *const empty[] = {
		"",
		"\n",
		"---\n",
		"{}",
		"null",
		"apiVersion: v1\nkind: Config\n",
		"preferences: {}",
		"clusters: null\ncontexts: null\ncurrent-context: ''\nusers: null\n",
		"clusters: []\ncontexts: []\nusers: []\ncurrent-context: null\n",
		"clusters: []\nusers: [{name: u, user: {token: abc}}]\n",
		"current-context: kind-kind\n",
		"contexts: [{name: x, context: {cluster: c}}]\n",
	};
	struct place *p = *state;
	struct kube_config_flags flags = { 0 };
	const char *want = "no kubeconfig: config has no clusters; pass --kubeconfig "
			   "FILE, or run jobs on this machine (submit --local)";

	for (size_t i = 0; i < N_ELEMENTS(empty); i++) {
		flags.kubeconfig = put(p, "config", empty[i]);
		check_text(empty[i], load_error(p, &flags, ERR_NOT_FOUND), want);
	}
	setenv("KUBECONFIG",
	       arena_printf(&p->arena, "%s/none:%s/config:", p->dir, p->dir), 1);
	check_text("a list", load_error(p, NULL, ERR_NOT_FOUND), want);
	unsetenv("KUBECONFIG");
	flags.context = "x";
	flags.kubeconfig = put(p, "config", "{}");
	check_text("a context", load_error(p, &flags, ERR_INVALID),
		   "config: no context 'x'; the file has no contexts");
}

static void test_errors(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "a: [", "config: " },
		{ "- a", "config:1:1: not a kubeconfig" },
		{ "clusters: 1\nusers: {}", "config:1:1: clusters: must be a list\n"
					    "config:2:1: users: must be a list" },
		{ "clusters:\n- cluster: {}",
		  "config:2:3: clusters[0]: must have a name" },
		{ "users:\n- name: a\n- name: a\n",
		  "config:3:3: users[1].name: 'a' is there twice" },
		{ "users:\n- name: a\n  user: x\n",
		  "config:3:3: users[0].user: must be a mapping" },
		{ "users: {}\n", "config:1:1: users: must be a list" },
		{ "clusters:\n- name: c\ncontexts:\n- name: dev\n- name: prod\n",
		  "config: current-context is not set; pass --context; "
		  "available: dev, prod" },
		{ "current-context: pord\ncontexts:\n- name: dev\n- name: prod\n",
		  "config: no context 'pord'; did you mean 'prod'?" },
		{ "current-context: x\ncontexts:\n- name: x\n",
		  "config:3:3: contexts[0].context.cluster: missing: name a cluster" },
		{ "current-context: x\ncontexts:\n- name: x\n"
		  "  context: {cluster: '', user: ''}\n",
		  "config:4:13: contexts[0].context.cluster: missing: name a cluster" },
		{ "current-context: x\n"
		  "contexts:\n"
		  "- name: x\n"
		  "  context: {cluster: c, user: u}\n",
		  "config:4:13: contexts[0].context.cluster: no cluster 'c'; the file has no clusters\n"
		  "config:4:25: contexts[0].context.user: no user 'u'; the file has no users" },
		{ "current-context: x\ncontexts:\n- name: x\n  context: {cluster: c}\n"
		  "clusters:\n- name: c\n  cluster: {}\n",
		  "config:7:3: clusters[0].cluster.server: the API server's "
		  "address is not set" },
		{ "current-context: x\ncontexts:\n- name: x\n  context: {cluster: c}\n"
		  "clusters:\n- name: c\n  cluster:\n    server: ftp://a\n"
		  "    certificate-authority-data: '%'\n    proxy-url: 7\n",
		  "config:9:5: clusters[0].cluster.certificate-authority-data: not base64\n"
		  "config:10:5: clusters[0].cluster.proxy-url: must be a string\n"
		  "config:8:5: clusters[0].cluster.server: not a URL with http:// or "
		  "https:// and a host" },
		{ "current-context: x\ncontexts:\n- name: x\n  context: {cluster: c}\n"
		  "clusters:\n- name: c\n  cluster:\n    server: https://a\n"
		  "    certificate-authority-data: " CERT_DATA "\n"
		  "    insecure-skip-tls-verify: true\n",
		  "config:10:5: clusters[0].cluster.insecure-skip-tls-verify: not together with a certificate-authority" },
		{ "current-context: x\ncontexts:\n- name: x\n  context: {cluster: c}\n"
		  "clusters:\n- name: c\n  cluster:\n    server: https://a\n"
		  "    tls-server-name: 'kubernetes:6443'\n",
		  "config:9:5: clusters[0].cluster.tls-server-name: must be a host name "
		  "or an IP address, without scheme and port" },
		{ "current-context: x\ncontexts:\n- name: x\n  context: {cluster: c}\n"
		  "clusters:\n- name: c\n  cluster:\n    server: https://a\n"
		  "    certificate-authority: missing\n",
		  "config:9:5: clusters[0].cluster.certificate-authority: "
		  "missing: No such file or directory" },
		{ "current-context: x\ncontexts:\n- name: x\n  context: {cluster: c}\n"
		  "clusters:\n- name: c\n  cluster:\n    server: https://a\n"
		  "    certificate-authority: config\n",
		  "config:9:5: clusters[0].cluster.certificate-authority: "
		  "config: contains no certificate in PEM" },
		{ "current-context: x\n"
		  "contexts:\n"
		  "- name: x\n"
		  "  context: {cluster: c}\n"
		  "clusters:\n"
		  "- name: c\n"
		  "  cluster:\n"
		  "    server: https://a\n"
		  "    insecure-skip-tls-verify: 'yes'\n"
		  "    certificate-authority-data: ' '\n",
		  "config:10:5: clusters[0].cluster.certificate-authority-data: contains "
		  "no certificate in PEM\n"
		  "config:9:5: clusters[0].cluster.insecure-skip-tls-verify: must be true or false" },
		{ "contexts:\n- name: dev\n- {}\n",
		  "config:3:3: contexts[1]: must have a name" },
		{ "users:\n- a\n- b\n- c\n- d\n- e\n- f\n- g\n",
		  "config:2:3: users[0]: must have a name\n"
		  "config:3:3: users[1]: must have a name\n"
		  "config:4:3: users[2]: must have a name\n"
		  "config:5:3: users[3]: must have a name\n"
		  "config:6:3: users[4]: must have a name\n"
		  "2 more errors" },
		{ "users: [a, b, c, d, e, f]\n",
		  "config:1:9: users[0]: must have a name\n"
		  "config:1:12: users[1]: must have a name\n"
		  "config:1:15: users[2]: must have a name\n"
		  "config:1:18: users[3]: must have a name\n"
		  "config:1:21: users[4]: must have a name\n"
		  "1 more error" },
		{ "apiVersion: v1\nkind: Secret\ndata: {value: aGk=}\n",
		  "config:2:1: kind: 'Secret'; in a kubeconfig it must be Config" },
		{ "apiVersion: v2\nkind: Config\n",
		  "config:1:1: apiVersion: 'v2'; in a kubeconfig it must be v1" },
		{ "current-context: y\ncontexts:\n- name: x\n",
		  "config:1:1: current-context: must be a string" },
		{ "current-context: x\ncontexts:\n- name: x\n  context: {cluster: c}\n"
		  "clusters:\n- name: c\n  cluster: {server: 'a b'}\n",
		  "config:7:13: clusters[0].cluster.server: not a URL with http:// or "
		  "https:// and a host" },
		{ "current-context: x\ncontexts:\n- name: x\n  context: {cluster: c}\n"
		  "clusters:\n- name: c\n  cluster:\n"
		  "    server: https://2a03:7900:6:0:a00:27ff:fefb:e20f:6443\n",
		  "config:8:5: clusters[0].cluster.server: an IPv6 address without "
		  "brackets; expected https://[ADDRESS]:PORT" },
	};
	struct place *p = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct kube_config_flags flags = { .kubeconfig = put(p, "config",
								     rows[i].text) };
		struct kube_config c = { 0 };
		struct error err = { 0 };
		const char *got;

		assert_int_equal(kube_config_load(&c, &flags, &err), -1);
		got = load_error(p, &flags, err.kind);
		if (i ? strcmp(got, rows[i].message) : !str_starts(got, rows[i].message))
			fail_msg("got %s, want %s", got, rows[i].message);
	}
}

/* Its errors are as long: none is lost. */
static void test_a_path_of_4000_bytes(void **state)
{
	struct place *p = *state;
	cleanup_buf struct buf name = { .max = 4000 };
	struct kube_config_flags flags = { 0 };
	struct kube_config c = { 0 };
	struct error err = { 0 };

	while (name.len < 3900)
		buf_printf(&name, "%0100d/", 0);
	buf_adds(&name, "config");
	flags.kubeconfig = put(p, (char *)name.data, "users: [a]\n");
	assert_int_equal(kube_config_load(&c, &flags, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_true(str_starts(err.msg, p->dir));
	flags.kubeconfig = put(p, (char *)name.data,
			       "current-context: x\ncontexts: [{name: x, context: "
			       "{cluster: c}}]\nclusters: [{name: c, cluster: {}}]\n");
	err = (struct error){ 0 };
	assert_int_equal(kube_config_load(&c, &flags, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

/* Whose server is not under TLS gets no credentials, as from clientcmd. */
static void test_credentials_without_tls(void **state)
{
	static const struct {
		const char *server, *url;
		bool kept;
	} rows[] = {
		{ "HTTPS://A:1", "https://A:1", true },
		{ "http://a", "http://a", false },
		{ "Http://a", "http://a", false },
		{ "a:1", "http://a:1", false },
	};
	struct place *p = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf text = { .max = 1000 };
		struct kube_config_flags flags = { 0 };
		struct kube_config c = { 0 };

		buf_printf(&text,
			   "current-context: x\n"
			   "contexts:\n"
			   "- name: x\n"
			   "  context: {cluster: c, user: u}\n"
			   "clusters:\n"
			   "- name: c\n"
			   "  cluster: {server: '%s'}\n"
			   "users:\n"
			   "- name: u\n"
			   "  user: {token: t, tokenFile: f, as: j}\n",
			   rows[i].server);
		flags.kubeconfig = put(p, "config", (char *)text.data);
		load(&c, &flags);
		check_text("server", c.server, rows[i].url);
		assert_int_equal(!!c.token, rows[i].kept);
		assert_int_equal(!!c.token_file, rows[i].kept);
		check_text("as", c.impersonate, "j");
		kube_config_release(&c);
	}
}

static void test_server_options(void **state)
{
	static const struct {
		const char *server, *message;
	} rows[] = {
		{ "fd00::1", "an IPv6 address without brackets; expected "
			     "https://[ADDRESS]:PORT" },
		{ "https://fd00::1:6443/k8s", "an IPv6 address without brackets; "
					      "expected https://[ADDRESS]:PORT" },
		{ "https://a:66000", "a URL whose port is not a number from 1 to 65535" },
		{ "https://a:b", "a URL whose port is not a number from 1 to 65535" },
		{ "https://[fd00::1", "not a URL with http:// or https:// and a host" },
		{ "https://u:p@a", "not a URL with http:// or https:// and a host" },
		{ "https://[fd00::1]:6443/a:b:c", NULL },
		{ "[::1]:8080", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct kube_config_flags flags = { .server = rows[i].server };
		cleanup_kube_config struct kube_config c = { 0 };
		struct error err = { 0 };
		int rc = kube_config_load(&c, &flags, &err);

		(void)state;
		assert_int_equal(rc, rows[i].message ? -1 : 0);
		if (rc)
			check_text(rows[i].server,
				   str_after(err.msg, "the API server's address is "),
				   rows[i].message);
	}
}

/* An empty --server is none. */
static void test_empty_server(void **state)
{
	const struct kube_config_flags flags = { .server = "" };

	if (strcmp(load_error(*state, &flags, ERR_NOT_FOUND),
		   "no kubeconfig: neither $KUBECONFIG nor ~/.kube/config exists; pass "
		   "--kubeconfig FILE, or run jobs on this machine (submit --local)"))
		fail_msg("another message");
}

#define JWT_HEAD    "eyJhbGciOiJSUzI1NiJ9."                     /* {"alg":"RS256"} */
#define JWT_OF_1970 JWT_HEAD "eyJleHAiOjF9.c2ln"                /* {"exp":1} */
#define JWT_OF_9999 JWT_HEAD "eyJleHAiOjI1MzM3MDc2NDgwMH0.c2ln" /* {"exp":253370764800} */

/* kube-rs#1223, kr8s#125: kubectl takes, and renews, tokens of OpenID Connect. */
static void test_id_token(void **state)
{
	static const struct {
		const char *user, *token;
	} rows[] = {
		{ "{auth-provider: {name: oidc, config: {id-token: " JWT_OF_9999
		  ", refresh-token: r, idp-issuer-url: 'https://i'}}}",
		  JWT_OF_9999 },
		{ "{token: t, auth-provider: {name: oidc, config: {id-token: " JWT_OF_1970
		  "}}}",
		  "t" },
	};
	struct place *p = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct kube_config_flags flags = { 0 };
		cleanup_kube_config struct kube_config c = { 0 };

		flags.kubeconfig =
			put(p, "config",
			    arena_printf(
				    &p->arena,
				    "{current-context: x, contexts: [{name: x, context: "
				    "{cluster: c, user: u}}], clusters: [{name: c, "
				    "cluster: {server: 'https://a'}}], users: [{name: u, "
				    "user: %s}]}",
				    rows[i].user));
		load(&c, &flags);
		check_text("token", c.token, rows[i].token);
	}
}

static void test_errors_of_users(void **state)
{
	static const struct {
		const char *user, *message; /* behind users[0].user */
	} rows[] = {
		{ "{token: \"a\\nb\"}", ".token: must be one line" },
		{ "{token: [x]}", ".token: must be a string" },
		{ "{token: a, username: b}",
		  ": both a token and a username: specify only one" },
		{ "{client-certificate-data: " CERT_DATA "}", ": client-key is missing" },
		{ "{client-certificate-data: " CERT_DATA ", client-key-data: " OTHER_DATA
		  "}",
		  ".client-key-data: the key does not belong to the certificate" },
		{ "{client-certificate: c.crt, client-key: o.key}",
		  ".client-key: o.key: the key does not belong to the certificate" },
		{ "{client-certificate: o.key, client-key: o.key}",
		  ".client-certificate: o.key: contains no certificate in PEM" },
		{ "{client-certificate: c.crt, client-key: c.crt}",
		  ".client-key: c.crt: contains no private key in PEM" },
		{ "{client-certificate: c.crt, client-key: encrypted.key}",
		  ".client-key: encrypted.key: the key is encrypted" },
		{ "{client-certificate: c.crt, client-key: old.key}",
		  ".client-key: old.key: the key is encrypted" },
		{ "{client-certificate: c.crt, client-key: bad.key}",
		  ".client-key: bad.key: the key cannot be read; supported: RSA" },
		{ "{auth-provider: {name: gcp}}",
		  ".auth-provider: gcp is no longer supported, by kubectl neither; "
		  "install gke-gcloud-auth-plugin" },
		{ "{auth-provider: {name: azure, config: {tenant-id: t}}}",
		  ".auth-provider: azure is no longer supported, by kubectl neither; "
		  "run kubelogin convert-kubeconfig" },
		{ "{auth-provider: {name: openstack}}",
		  ".auth-provider: is no longer supported, by kubectl neither; use an "
		  "exec plugin" },
		{ "{auth-provider: {name: oidc}}", ".auth-provider: has no id-token" },
		{ "{auth-provider: {name: oidc, config: {id-token: a.b.c}}}",
		  ".auth-provider: its id-token is no JSON Web Token" },
		{ "{auth-provider: {name: oidc, config: {id-token: " JWT_OF_1970 "}}}",
		  ".auth-provider: its id-token has expired; run kubectl once" },
		{ "{as: a, as-user-extra: {a: b}}",
		  ".as-user-extra: must be a mapping to lists of strings" },
		{ "{as: a, as-user-extra: {a: [\"b\\nc\"]}}",
		  ".as-user-extra: must be a mapping to lists of strings" },
		{ "{as-user-extra: {a: [b]}}",
		  ": as-uid, as-groups and as-user-extra need as" },
		{ "{as-groups: [b]}", ": as-uid, as-groups and as-user-extra need as" },
		{ "{as: b, as-groups: [1, 2]}", ".as-groups: must be a list of strings" },
		{ "{as: b, as-groups: c}", ".as-groups: must be a list of strings" },
		{ "{exec: 1}", ".exec: must be a mapping" },
		{ "{exec: {command: x}}", ".exec.apiVersion: must be " },
		{ "{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}}",
		  ".exec.apiVersion: client.authentication.k8s.io/v1alpha1 was removed" },
		{ "{exec: {apiVersion: client.authentication.k8s.io/v1, command: x}}",
		  ".exec.interactiveMode: must be Never, IfAvailable or Always" },
		{ "{exec: {apiVersion: client.authentication.k8s.io/v1}}",
		  ".exec.command: missing" },
		{ "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
		  "command: x, args: x}}",
		  ".exec.args: must be a list of strings" },
		{ "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x, "
		  "env: [{value: a}]}}",
		  ".exec.env: must be a list of name and value" },
		{ "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x, "
		  "env: [{name: a, value: 1}]}}",
		  ".exec.env: must be a list of name and value" },
		{ "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x, "
		  "provideClusterInfo: 1}}",
		  ".exec.provideClusterInfo: must be true or false" },
	};
	struct place *p = *state;

	put(p, "c.crt", CERT);
	put(p, "o.key", OTHER);
	put(p, "encrypted.key",
	    "-----BEGIN ENCRYPTED PRIVATE KEY-----\nQUJD\n"
	    "-----END ENCRYPTED PRIVATE KEY-----\n");
	put(p, "old.key",
	    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
	    "DEK-Info: AES-256-CBC,00\n\nQUJD\n"
	    "-----END RSA PRIVATE KEY-----\n");
	put(p, "bad.key",
	    "-----BEGIN PRIVATE KEY-----\nQUJD\n"
	    "-----END PRIVATE KEY-----\n");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct kube_config_flags flags = { 0 };
		const char *got;

		flags.kubeconfig = put(p, "config",
				       arena_printf(&p->arena,
						    "current-context: x\n"
						    "contexts:\n"
						    "- name: x\n"
						    "  context: {cluster: c, user: u}\n"
						    "clusters:\n"
						    "- name: c\n"
						    "  cluster: {server: https://a}\n"
						    "users:\n"
						    "- name: u\n"
						    "  user: %s\n",
						    rows[i].user));
		got = load_error(p, &flags, ERR_INVALID);
		if (!str_starts(got, "config:10:") ||
		    !strstr(got, arena_printf(&p->arena, ": users[0].user%s",
					      rows[i].message)))
			fail_msg("got %s, want %s", got, rows[i].message);
		assert_null(strchr(got, '\n'));
	}
}

/* ---- exec plugins ---- */

#define V1     "client.authentication.k8s.io/v1"
#define ANSWER "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{"
#define PREFIX "#!/bin/sh\n"

/* The plugin's answer in ret, or its error's words in the arena. */
static const char *ask(struct place *p, const char *script, const char *exec,
		       struct kube_credential *ret)
{
	cleanup_json cJSON *doc =
		doc_of(exec ? exec
			    : "{\"apiVersion\":\"" V1 "\",\"command\":\"./plugin\","
			      "\"interactiveMode\":\"Never\"}");
	struct kube_config c = { .exec = doc,
				 .dir = p->dir,
				 .server = "https://s:1",
				 .ca_pem = "CA",
				 .proxy_url = "http://p" };
	struct error err = { 0 };

	put(p, "plugin", script);
	if (!kube_exec_credential(ret, &c, &err))
		return "";
	if (err.kind == ERR_NONE || strstr(err.msg, "geheim"))
		fail_msg("%s", err.msg);
	return arena_strdup(&p->arena, err.msg);
}

static void test_exec_answers(void **state)
{
	static const struct {
		const char *script, *message;
	} rows[] = {
		{ PREFIX "echo '" ANSWER "\"token\":\"geheim\"}}'", "" },
		{ PREFIX "exit 3", "exited with status 3" },
		{ PREFIX "echo geheim; kill -9 $$", "killed by signal 9" },
		{ PREFIX "echo geheim", "printed no ExecCredential" },
		{ PREFIX "echo '{\"token\":\"geheim\"'", "printed no JSON" },
		{ PREFIX "echo '" ANSWER "\"token\":\"geheim\"}}'; echo Done.",
		  "printed no JSON" },
		{ PREFIX ":", "printed nothing on standard output" },
		{ PREFIX "echo '{\"kind\":\"ExecCredential\"}'",
		  "printed an ExecCredential without apiVersion, expected " V1 },
		{ PREFIX "echo '" ANSWER "\"token\":\"geheim\"}}' | sed s/Credential/X/",
		  "printed kind 'ExecX', expected ExecCredential" },
		{ PREFIX "echo '" ANSWER "\"token\":\"geheim\"}}' | sed s/v1/v1beta1/",
		  "printed an ExecCredential of " V1 "beta1, but the kubeconfig's "
		  "exec.apiVersion is " V1 "; set both to the same" },
		{ PREFIX "echo '" ANSWER "}}'", "neither a token nor a certificate" },
		{ PREFIX "echo '" ANSWER "}}' | sed 's/{}/null/'",
		  "printed an ExecCredential without status" },
		{ PREFIX "echo '" ANSWER "\"token\":5}}'",
		  "status.token: must be a string" },
		{ PREFIX "echo '" ANSWER "\"token\":\"geheim\\\\nx\"}}'",
		  "more than one line" },
		{ PREFIX "echo '" ANSWER "\"clientCertificateData\":\"x\"}}'",
		  "a certificate without its key" },
		{ PREFIX "printf %s '" ANSWER "\"clientCertificateData\":\"" CERT_JSON
			 "\",\"clientKeyData\":\"" OTHER_JSON "\"}}'",
		  "status.clientKeyData: the key does not belong to the certificate" },
		{ PREFIX "echo '" ANSWER
			 "\"token\":\"geheim\",\"expirationTimestamp\":\"soon\"}}'",
		  "status.expirationTimestamp: " },
		{ PREFIX "echo '" ANSWER
			 "\"token\":\"geheim\",\"expirationTimestamp\":\"\"}}'",
		  "status.expirationTimestamp: " },
		/* what client-go takes */
		{ PREFIX "echo '" ANSWER
			 "\"token\":\"geheim\",\"expirationTimestamp\":null,"
			 "\"clientCertificateData\":\"\",\"clientKeyData\":\"\"}}'",
		  "" },
		{ PREFIX "echo '" ANSWER "\"token\":\"geheim\",\"x\":1,"
			 "\"expirationTimestamp\":\"2030-01-01T02:00:00.5+02:00\"},"
			 "\"spec\":null}'",
		  "" },
		{ PREFIX "echo '" ANSWER "\"token\":\"geheim\"}}' | "
			 "sed 's/\"kind[^,]*,//'",
		  "" },
		{ PREFIX "echo '---'; echo 'apiVersion: " V1
			 "'; echo 'status: {token: geheim}'",
		  "" },
		{ PREFIX "exec head -c 2000000 /dev/zero",
		  "its output: over 1048576 bytes" },
		{ "#!/nowhere/sh\n", "cannot be started: No such file" },
	};
	struct place *p = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct kube_credential got = { 0 };
		const char *message = ask(p, rows[i].script, NULL, &got);

		if (*rows[i].message ? !strstr(message, rows[i].message) : *message)
			fail_msg("got %s, want %s", message, rows[i].message);
		check_text("token", got.token, *rows[i].message ? NULL : "geheim");
		kube_credential_release(&got);
	}
}

static void test_exec_credential(void **state)
{
	struct place *p = *state;
	struct kube_credential got = { 0 };

	check_text("error",
		   ask(p,
		       PREFIX "printf %s '" ANSWER
			      "\"clientCertificateData\":\"" CERT_JSON
			      "\",\"clientKeyData\":\"" KEY_JSON
			      "\",\"expirationTimestamp\":\"2030-01-01T00:00:00Z\"}}'",
		       NULL, &got),
		   "");
	assert_null(got.token);
	check_text("cert", got.cert_pem, p->pair.cert_pem);
	check_text("key", got.key_pem, p->pair.key_pem);
	assert_true(got.expires == 1893456000);
	kube_credential_release(&got);
}

/* Arguments, environment, what it is told of the cluster, and no standard input. */
static void test_what_a_plugin_gets(void **state)
{
	struct place *p = *state;
	struct kube_credential got = { 0 };

	setenv("KFT_TEST_OLD", "old", 1);
	setenv("KFT_TEST_KEPT", "kept", 1);
	check_text(
		"error",
		ask(p,
		    PREFIX
		    "cat; printf '%s' \"" ANSWER "\" | tr -d '\\n' > /dev/null\n"
		    "i=$(printf %s \"$KUBERNETES_EXEC_INFO\" | tr -d '\"')\n"
		    "printf '%s' '" ANSWER "\"token\":\"'\n"
		    "printf '%s' \"$1,$2,$KFT_TEST_OLD,$KFT_TEST_KEPT,$i\"; echo '\"}}'",
		    "{\"apiVersion\":\"" V1
		    "\",\"command\":\"./plugin\",\"args\":[\"a b\",\"$c\"],"
		    "\"env\":[{\"name\":\"KFT_TEST_OLD\",\"value\":\"newer\"},"
		    "{\"name\":\"KFT_TEST_OLD\",\"value\":\"new\"},"
		    "{\"name\":\"KFT_TEST_KEPT\"},"
		    "{\"name\":\"KUBERNETES_EXEC_INFO\",\"value\":\"x\"}],"
		    "\"interactiveMode\":\"IfAvailable\",\"provideClusterInfo\":true}",
		    &got),
		"");
	check_text("token", got.token,
		   "a b,$c,new,,{apiVersion:" V1 ",kind:ExecCredential,spec:{interactive:"
		   "false,cluster:{server:https://s:1,certificate-authority-data:Q0E=,"
		   "proxy-url:http://p}}}");
	kube_credential_release(&got);
}

static void test_plugins_that_cannot_run(void **state)
{
	struct place *p = *state;
	struct kube_credential got = { 0 };
	const char *message;

	message = ask(p, "",
		      "{\"apiVersion\":\"" V1 "\",\"command\":\"kft-no-such-plugin\","
		      "\"interactiveMode\":\"Never\",\"installHint\":\"get "
		      "it\\nthere\\u001b\"}",
		      &got);
	check_text(
		"hint", message,
		"exec plugin kft-no-such-plugin: cannot be started: No such file or directory\n"
		"get it\n"
		"there\\x1b");
	message = ask(p, "",
		      "{\"apiVersion\":\"" V1 "\",\"command\":\"/\","
		      "\"interactiveMode\":\"Never\",\"installHint\":\"get it\"}",
		      &got);
	check_text("hint", message,
		   "exec plugin /: cannot be started: Permission denied\nget it");
	/* It is there: the hint would not help. */
	message = ask(p, "",
		      "{\"apiVersion\":\"" V1 "\",\"command\":\"./plugin\","
		      "\"interactiveMode\":\"Never\",\"installHint\":\"get it\"}",
		      &got);
	check_text("no hint", message,
		   "exec plugin ./plugin: cannot be started: Exec format error");
	message = ask(p, PREFIX,
		      "{\"apiVersion\":\"" V1 "\",\"command\":\"./plugin\","
		      "\"interactiveMode\":\"Always\"}",
		      &got);
	assert_non_null(strstr(message, "needs a terminal"));
}

/* A plugin whose token is what it was told, without quotes. */
#define TELLS_INFO                                                       \
	PREFIX "i=$(printf %s \"$KUBERNETES_EXEC_INFO\" | tr -d '\"')\n" \
	       "printf '%s' '" ANSWER "\"token\":\"'\n"                  \
	       "printf '%s' \"$i\"; echo '\"}}'"

/* A plugin that the file names, and what the file says to it of the cluster. */
static void test_a_plugin_of_the_file(void **state)
{
	struct place *p = *state;
	struct kube_config_flags flags = { 0 };
	struct kube_credential got = { 0 };
	cleanup_kube_config struct kube_config c = { 0 };
	struct error err = { 0 };

	put(p, "bin/plugin", TELLS_INFO);
	flags.kubeconfig = put(
		p, "config",
		"current-context: x\n"
		"contexts:\n"
		"- name: x\n"
		"  context: {cluster: c, user: u}\n"
		"clusters:\n"
		"- name: c\n"
		"  cluster: {server: https://a, tls-server-name: sni, "
		"insecure-skip-tls-verify: true, extensions: [{name: other, extension: "
		"1}, {name: client.authentication.k8s.io/exec, extension: {audience: b}}]}\n"
		"users:\n"
		"- name: u\n"
		"  user: {exec: {apiVersion: " V1
		", command: bin/plugin, interactiveMode: Never, "
		"provideClusterInfo: true}}\n");
	load(&c, &flags);
	check_text("dir", c.dir, p->dir);
	if (kube_exec_credential(&got, &c, &err))
		fail_msg("%s", err.msg);
	check_text(
		"token", got.token,
		"{apiVersion:" V1 ",kind:ExecCredential,spec:{interactive:false,"
		"cluster:{server:https://a,tls-server-name:sni,insecure-skip-tls-verify:"
		"true,config:{audience:b}}}}");
	kube_credential_release(&got);
}

/* Without provideClusterInfo nothing is said of it. */
static void test_a_plugin_is_told_no_more_than_it_asks(void **state)
{
	struct kube_credential got = { 0 };

	check_text("error", ask(*state, TELLS_INFO, NULL, &got), "");
	check_text("token", got.token,
		   "{apiVersion:" V1 ",kind:ExecCredential,spec:{interactive:false}}");
	kube_credential_release(&got);
}

static void test_secrets_are_wiped(void **state)
{
	char key[] = "key", token[] = "token", password[] = "password";
	char key2[] = "key", token2[] = "token";
	struct kube_config c = { .key_pem = key, .token = token, .password = password };
	struct kube_credential got = { .token = token2, .key_pem = key2 };

	kube_config_release(&c);
	kube_credential_release(&got);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(key[i] | token[i] | password[i] | key2[i] | token2[i],
				 0);
	assert_null(c.token);
}

/* ---- in a pod ---- */

static void put_account(const char *name, const char *text)
{
	cleanup_arena struct arena arena = { 0 };
	const char *path = path_join(&arena, ACCOUNT, name);
	struct error err = { 0 };

	if (!text)
		unlink(path);
	else if (file_write(path, text, strlen(text), 0600, &err))
		fail_msg("%s", err.msg);
}

/* Without a kubeconfig, and of contexts with a namespace and without. */
static void check_namespaces(struct place *p, const char *want)
{
	struct kube_config_flags flags = { 0 };
	cleanup_kube_config struct kube_config none = { 0 }, with = { 0 },
					       without = { 0 };

	load(&none, &flags);
	check_text("ns", none.ns, want);
	put(p, "a/pki/ca.crt", CERT);
	put(p, "a/jane.key", KEY);
	flags.kubeconfig = put(p, "a/config", plain);
	load(&with, &flags);
	check_text("ns", with.ns, "team-a");
	flags.context = "nobody";
	load(&without, &flags);
	check_text("server", without.server, "http://two.example");
	check_text("ns", without.ns, want);
}

/* In namespaces of its own: nothing else is tested after it. */
static void test_in_a_pod(void **state)
{
	static const struct {
		const char *host, *port, *token, *ca, *ns, *message, *server, *want_ns;
	} rows[] = {
		{ "", "443", "t", CERT, "n", "not in a pod", NULL, NULL },
		{ "10.0.0.1", "", "t", CERT, "n", "not in a pod", NULL, NULL },
		{ "10.0.0.1", "443", NULL, CERT, "n",
		  "token does not exist; does the pod set "
		  "automountServiceAccountToken: false?",
		  NULL, NULL },
		{ "10.0.0.1", "443", "t", NULL, "n", "ca.crt: No such file", NULL, NULL },
		{ "10.0.0.1", "443", "t", "", "n", "ca.crt: contains no certificate",
		  NULL, NULL },
		{ "10.0.0.1", "443", "t", "x", "n", "ca.crt: contains no certificate",
		  NULL, NULL },
		{ "10.0.0.1", "443", "t", CERT, " team-a\n", NULL, "https://10.0.0.1:443",
		  "team-a" },
		{ "fd00::1", "6443", "t", CERT, NULL, NULL, "https://[fd00::1]:6443",
		  "default" },
		{ "[fd00::1]", "6443", "t", CERT, " ", NULL, "https://[fd00::1]:6443",
		  "default" },
	};
	const struct kube_config_flags flags = { .ns = "mine" };
	cleanup_kube_config struct kube_config loaded = { 0 };
	struct place *p = *state;

	if (account_make())
		skip(); /* no user namespaces here */
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_kube_config struct kube_config c = { 0 };
		struct error err = { 0 };

		setenv("KUBERNETES_SERVICE_HOST", rows[i].host, 1);
		setenv("KUBERNETES_SERVICE_PORT", rows[i].port, 1);
		put_account("token", rows[i].token);
		put_account("ca.crt", rows[i].ca && *rows[i].ca == '@' ? p->pair.cert_pem
								       : rows[i].ca);
		put_account("namespace", rows[i].ns);
		if (kube_config_in_cluster(&c, &err) != (rows[i].message ? -1 : 0) ||
		    (rows[i].message && !strstr(err.msg, rows[i].message)))
			fail_msg("row %zu: %s", i, err.msg);
		if (rows[i].message)
			continue;
		check_text("server", c.server, rows[i].server);
		check_text("ca", c.ca_pem, p->pair.cert_pem);
		check_text("file", c.token_file, ACCOUNT "token");
		check_text("ns", c.ns, rows[i].want_ns);
		assert_null(c.context);
	}
	load(&loaded, &flags);
	check_text("server", loaded.server, "https://[fd00::1]:6443");
	check_text("ns", loaded.ns, "mine");
	put_account("namespace", "of-pod");
	setenv("POD_NAMESPACE", "", 1);
	check_namespaces(p, "of-pod");
	setenv("POD_NAMESPACE", "of-variable", 1);
	check_namespaces(p, "of-variable");
	put_account("namespace", " b ");
	check_text("ns", kube_pod_namespace(&p->arena), "b");
	put_account("namespace", "");
	assert_null(kube_pod_namespace(&p->arena));
	put_account("token", NULL);
	assert_non_null(strstr(load_error(p, NULL, ERR_NOT_FOUND), "no kubeconfig"));
}

static void on_alarm(int signum)
{
	stop_request();
}

/* In a child: the process is asked to end while the plugin runs. */
static void stop_in_child(struct place *p, const char *script)
{
	struct itimerval soon = { .it_value = { .tv_usec = 200 * 1000 } };
	struct kube_credential got = { 0 };
	struct error err = { 0 };
	pid_t pid = fork();
	int status;

	if (!pid) {
		assert_int_equal(stop_setup(&err), 0);
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &soon, NULL);
		_exit(strcmp(ask(p, script, NULL, &got),
			     "exec plugin ./plugin: stopped"));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	check_int(script, status, 0);
}

/* The plugin dies, whether it still has its standard output or has closed it. */
static void test_stop(void **state)
{
	struct place *p = *state;
	const char *gone = path_join(&p->arena, p->dir, "gone");

	stop_in_child(p,
		      PREFIX "sleep 2 </dev/null >/dev/null 2>&1; : >\"${0%/*}/gone\"");
	stop_in_child(p, PREFIX
		      "exec >&-; sleep 2 </dev/null 2>/dev/null; : >\"${0%/*}/gone\"");
	clock_sleep_ms(2500);
	assert_false(file_exists(gone));
}

int main(void)
{
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		IN_PLACE(test_everything),
		IN_PLACE(test_flags),
		IN_PLACE(test_merging),
		IN_PLACE(test_a_listed_file_that_is_wrong),
		IN_PLACE(test_home),
		IN_PLACE(test_nothing_there),
		IN_PLACE(test_no_clusters),
		IN_PLACE(test_errors),
		IN_PLACE(test_a_path_of_4000_bytes),
		IN_PLACE(test_credentials_without_tls),
		IN_PLACE(test_server_options),
		IN_PLACE(test_empty_server),
		IN_PLACE(test_id_token),
		IN_PLACE(test_errors_of_users),
		IN_PLACE(test_exec_answers),
		IN_PLACE(test_exec_credential),
		IN_PLACE(test_what_a_plugin_gets),
		IN_PLACE(test_plugins_that_cannot_run),
		IN_PLACE(test_a_plugin_of_the_file),
		IN_PLACE(test_a_plugin_is_told_no_more_than_it_asks),
		IN_PLACE(test_secrets_are_wiped),
		IN_PLACE(test_many_files),
		IN_PLACE(test_server_without_context),
		IN_PLACE(test_schemes),
		IN_PLACE(test_stop),
		IN_PLACE(test_in_a_pod),
	};

	/* a terminal that the tests were started from is not the plugins' */
	if (!freopen("/dev/null", "r", stdin))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
