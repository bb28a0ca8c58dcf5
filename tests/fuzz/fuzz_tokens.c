/*
 * Answers of servers of credentials, by the first byte: 'g' Google's metadata server, 'f'
 * a file of its credentials, 'c' AWS's container and 'i' machine, 'r' a role of STS. Keys
 * and tokens are whole and fit a header, or an error says what is wrong.
 */
#include "base/cleanup.h"
#include "base/str.h"
#include "cloud/aws_credentials.h"
#include "cloud/gs_token.h"
#include "tests/fuzz/answers.h"

struct setting {
	const char *name, *value;
};

static const char *env(void *ctx, const char *name)
{
	for (const struct setting *s = ctx; s->name; s++)
		if (str_eq(s->name, name))
			return s->value;
	return NULL;
}

static void check_error(const struct error *err)
{
	FUZZ_CHECK(err->kind && *err->msg && !strpbrk(err->msg, "\r\n\033"));
}

static void fuzz_google(struct cloud_conf *conf)
{
	cleanup_arena struct arena arena = { 0 };
	struct gs_token *t = gs_token_new(conf);
	const char *token = NULL;
	struct error err = { 0 };

	if (gs_token_get(t, false, &arena, &token, &err))
		check_error(&err);
	else
		FUZZ_CHECK(!token || (*token && !strpbrk(token, "\r\n")));
	FUZZ_CHECK(token || !str_eq(gs_token_source(t), ""));
	gs_token_free(t);
}

static void fuzz_aws(struct cloud_conf *conf)
{
	cleanup_arena struct arena arena = { 0 };
	struct aws_credentials *c = aws_credentials_new(conf, "us-east-1");
	struct sigv4_request req = { .method = "GET",
				     .host = "h",
				     .path = "/",
				     .query = "",
				     .region = "us-east-1",
				     .service = "s3" };
	const struct sigv4_key *key = NULL;
	struct error err = { 0 };

	if (aws_credentials_get(c, false, &arena, &key, &err))
		check_error(&err);
	else if (key)
		FUZZ_CHECK(key->access && key->secret && sigv4_sign(&arena, &req, key));
	FUZZ_CHECK(*aws_credentials_source(c, &arena));
	aws_credentials_free(c);
}

static struct http_client *new_client(const char *proxy)
{
	const struct http_conf conf = { .proxy = proxy, .http1 = true };
	struct http_client *client;
	struct error err = { 0 };

	FUZZ_CHECK(!http_client_new(&client, &conf, &err));
	return client;
}

static void fuzz(char kind, const char *url, const char *file)
{
	static struct http_client *client; /* every address leads to the answers */
	struct setting settings[] = {
		{ "HOME", "/nonexistent" },
		{ "NO_GCE_CHECK", kind == 'f' ? "true" : "false" },
		{ "GCE_METADATA_HOST", url + strlen("http://") },
		{ kind == 'f' ? "GOOGLE_APPLICATION_CREDENTIALS" : "-", file },
		{ kind == 'c' ? "AWS_CONTAINER_CREDENTIALS_FULL_URI" : "-", url },
		{ "AWS_EC2_METADATA_DISABLED", kind == 'i' ? "false" : "true" },
		{ "AWS_EC2_METADATA_SERVICE_ENDPOINT", url },
		{ kind == 'r' ? "ACCESS_KEY_ID" : "-", "A" },
		{ kind == 'r' ? "SECRET_ACCESS_KEY" : "-", "S" },
		{ kind == 'r' ? "ROLE_ARN" : "-", "arn:aws:iam::1:role/r" },
		{ "AWS_ENDPOINT_URL_STS", url },
		{ NULL, NULL },
	};
	struct cloud_conf conf = { .env = env, .ctx = settings };

	client = client ? client : new_client(url);
	conf.retry = (struct http_retry_conf){ .http = client, .tries = -1 };
	if (kind == 'g' || kind == 'f')
		fuzz_google(&conf);
	else
		fuzz_aws(&conf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size ? strnlen((const char *)data + 1, size - 1) : 0;
	char url[64], file[64] = "";
	FILE *text = NULL;

	if (!size || !strchr("gfcir", *data) || !*data)
		return 0;
	answers_start();
	if (*data == 'f') {
		text = tmpfile();
		FUZZ_CHECK(text && fwrite(data + 1, 1, len, text) == len &&
			   !fflush(text));
		snprintf(file, sizeof(file), "/proc/self/fd/%d", fileno(text));
		len += 1 + len < size;
		answers_are(data + 1 + len, size - 1 - len, false);
	} else {
		answers_are(data + 1, size - 1, false);
	}
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", answers.port);
	fuzz((char)*data, url, file);
	answers_are(NULL, 0, false);
	if (text)
		fclose(text);
	return 0;
}
