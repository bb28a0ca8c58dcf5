/* The table of schemes, the client of a URI, and files that are uploaded. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/put.h"
#include "store/scheme.h"
#include "tests/unit/base/base_test.h"

TEST(schemes_of_uris)
{
	static const struct {
		const char *uri;
		const struct scheme *scheme; /* NULL: none */
		bool put;
	} rows[] = {
		{ "s3://b/k", &scheme_s3, true },
		{ "hf://o/n", &scheme_hf, true },
		{ "gs://b/k", &scheme_gs, true },
		{ "file:///x", &scheme_file, true },
		{ "pvc://c/x", &scheme_pvc, true },
		{ "http://h/x", &scheme_http, false },
		{ "HTTPS://h/x", &scheme_https, false },
		{ "ftp://h/x", NULL, false },
		{ "cache://a/b", NULL, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct scheme *scheme = NULL;
		struct error err = { 0 };
		int rc = scheme_find(&scheme, rows[i].uri, &err);

		check_int(rows[i].uri, rc, rows[i].scheme ? 0 : -1);
		if (rc) {
			check_int(rows[i].uri, err.kind, ERR_UNSUPPORTED);
			continue;
		}
		assert_ptr_equal(scheme, rows[i].scheme);
		check_int(rows[i].uri, scheme->put != NULL, rows[i].put);
	}
}

TEST(test_list_put)
{
	cleanup_arena struct arena arena = { 0 };

	check_text("put", scheme_list_put(&arena),
		   "file:// or gs:// or hf:// or pvc:// or s3://");
}

/* A copy has all that a request needs, gs's generation too, and outlives the original. */
TEST(test_object_copy)
{
	cleanup_arena struct arena arena = { 0 };
	char key[] = "dir/a", generation[] = "1700000000000001", etag[] = "\"e\"";
	const struct store_object o = { .key = key,
					.generation = generation,
					.etag = etag,
					.size = 7,
					.digest = STORE_MD5 };
	struct store_object copy = store_object_copy(&arena, &o);

	key[0] = generation[0] = etag[1] = '?';
	check_text("key", copy.key, "dir/a");
	check_text("generation", copy.generation, "1700000000000001");
	check_text("etag", copy.etag, "\"e\"");
	assert_null(copy.path);
	assert_null(copy.sum);
	assert_int_equal(copy.size, 7);
	assert_int_equal(copy.digest, STORE_MD5);
}

static const char *env(void *ctx, const char *name)
{
	const char *const *pair = ctx;

	for (; *pair; pair += 2)
		if (!strcmp(*pair, name))
			return pair[1];
	return NULL;
}

/* A CA file of AWS's programs counts for s3:// alone, and not beside SSL_CERT_FILE. */
TEST(test_http_new)
{
	static const struct {
		const char *name, *uri, *pairs[5], *error; /* error: NULL for none */
	} rows[] = {
		{ "s3", "s3://b", { "AWS_CA_BUNDLE", "/none" }, "AWS_CA_BUNDLE" },
		{ "https", "https://h/x", { "AWS_CA_BUNDLE", "/none" }, NULL },
		{ "both",
		  "s3://b",
		  { "AWS_CA_BUNDLE", "/none", "SSL_CERT_FILE", "/x" },
		  NULL },
		{ "unknown scheme", "ftp://h", { "AWS_CA_BUNDLE", "/none" }, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct store_conf conf = { .uri = rows[i].uri,
						 .env = env,
						 .ctx = (void *)rows[i].pairs };
		const struct http_conf like = { 0 };
		struct http_client *http = NULL;
		struct error err = { 0 };
		int rc = store_http_new(&http, &conf, &like, &err);

		check_int(rows[i].name, rc, rows[i].error ? -1 : 0);
		if (rc && !strstr(err.msg, rows[i].error))
			fail_msg("%s: %s", rows[i].name, err.msg);
		http_client_free(http);
	}
}

/* ---- put.h ---- */

static int try_put_file(const struct put_file *f, char *text, size_t len,
			struct error *err)
{
	cleanup_fd int fd = -1;

	return put_file_open(f, &fd, err) || put_file_read(f, fd, 0, text, len, err) ? -1
										     : 0;
}

TEST(test_put_file)
{
	char dir[] = "/tmp/kft-put-XXXXXX", text[8] = "";
	cleanup_arena struct arena a = { 0 };
	const char *name, *link;
	struct put_file f = { .path = "file" };
	struct error err = { 0 };
	struct stat st;

	assert_non_null(mkdtemp(dir));
	name = arena_printf(&a, "%s/file", dir);
	link = arena_printf(&a, "%s/link", dir);
	assert_int_equal(file_write(name, "hello", 5, 0644, &err), 0);
	assert_int_equal(symlink("file", link), 0);
	assert_int_equal(stat(name, &st), 0);
	f.name = name;
	f.root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f.size = 5;
	f.changed = st.st_mtim;
	assert_int_equal(try_put_file(&f, text, 5, &err), 0);
	assert_memory_equal(text, "hello", 5);
	assert_int_equal(try_put_file(&f, text, 6, &err), -1); /* shorter than that */
	assert_int_equal(err.kind, ERR_CONFLICT);
	f.path = "link";
	assert_int_equal(try_put_file(&f, text, 5, &err), -1);
	close(f.root);
	f.root = -1;
	assert_int_equal(try_put_file(&f, text, 5, &err), 0); /* by name */
	f.size = 4;
	assert_int_equal(try_put_file(&f, text, 4, &err), -1);
	assert_int_equal(err.kind, ERR_CONFLICT);
	f.size = 5;
	f.changed.tv_nsec ^= 1;
	assert_int_equal(try_put_file(&f, text, 5, &err), -1);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_int_equal(dir_remove(dir, &err), 0);
}

RUN_TESTS(NULL, NULL)
