/* Address, region and signed requests of a bucket, and its errors; see s3_bucket.h. */
#include "store/s3_bucket.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cloud/aws_credentials.h"
#include "cloud/aws_profile.h"
#include "cloud/gs_token.h"
#include "net/uri.h"
#include "store/gs.h"

#define DEFAULT_REGION "us-east-1"

enum {
	REGION_SIZE = 64,
	MAX_BUCKET = 255,
	ASK_MS = 300 * 1000,
	SLOWEST = 10, /* assumed minimum speed of sending, bytes/ms */
	IDLE_MS = 60 * 1000,
	MAX_ANSWER = 16 * 1024 * 1024, /* a page of 1,000 keys of 1,024 bytes, escaped */
	MAX_URL = 64 * 1024,
};

struct s3_bucket {
	struct arena arena;
	const char *scheme, *name, *key; /* of the URI */
	bool google;                     /* of gs:// */
	const char *endpoint;            /* "https://host[:port][/path]"; NULL: AWS's */
	bool in_host;                    /* the bucket is part of the host's name */
	struct aws_variant variant;      /* of AWS's endpoints */
	struct sigv4_pair payer;         /* a header: who pays, if the requester has to */
	struct http_retrier *retrier;
	struct aws_credentials *credentials;
	struct gs_token *token; /* in place of them, if set */
	pthread_mutex_t lock;
	char region[REGION_SIZE]; /* guarded by the lock */
	atomic_bool no_sums;
};

/* ---- address ---- */

static const char *first_of(const struct store_conf *conf, const char *const *names)
{
	for (; *names; names++) {
		const char *value = store_env(conf, *names);

		if (value)
			return value;
	}
	return NULL;
}
#define FIRST_OF(conf, ...) first_of((conf), (const char *const[]){ __VA_ARGS__, NULL })

static bool is_region(const char *s)
{
	size_t len = strlen(s);

	if (!len || len >= REGION_SIZE)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("-_", *s))
			return false;
	return true;
}

static void set_region(struct s3_bucket *b, const char *region)
{
	pthread_mutex_lock(&b->lock);
	snprintf(b->region, sizeof(b->region), "%s", region);
	pthread_mutex_unlock(&b->lock);
}

static const char *region_of(struct s3_bucket *b, struct arena *arena)
{
	const char *ret;

	pthread_mutex_lock(&b->lock);
	ret = arena_strdup(arena, b->region);
	pthread_mutex_unlock(&b->lock);
	return ret;
}

static int find_region(struct s3_bucket *b, const struct store_conf *conf,
		       const struct aws_profile *profile, struct error *err)
{
	const char *region = FIRST_OF(conf, "REGION", "AWS_REGION", "AWS_DEFAULT_REGION");

	if (!region)
		region = profile->region;
	if (!region || (!b->endpoint && !strcmp(region, "auto")))
		region = DEFAULT_REGION; /* or the one the server returns */
	if (!is_region(region))
		return error_set(
			err, ERR_INVALID,
			"REGION: invalid name: expected a region such as us-east-1");
	set_region(b, region);
	return 0;
}

static bool is_server(const struct uri *u)
{
	return (!strcmp(u->scheme, "http") || !strcmp(u->scheme, "https")) && *u->host &&
	       !strchr(u->host, '@') && !u->query && !u->fragment;
}

static int find_endpoint(struct s3_bucket *b, const struct store_conf *conf,
			 const struct aws_profile *profile, struct error *err)
{
	const char *url = b->google ? gs_endpoint(&b->arena, conf) : NULL;
	const char *what = "ENDPOINT", *default_port;
	struct uri uri;
	size_t len;

	if (!url)
		url = FIRST_OF(conf, "ENDPOINT", "AWS_ENDPOINT_URL_S3",
			       "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_S3_ENDPOINT");
	if (!url) {
		what = "the profile's endpoint_url";
		url = profile->s3_endpoint ? profile->s3_endpoint : profile->endpoint;
	}
	if (!url)
		return 0;
	if (!strstr(url, "://"))
		url = arena_printf(&b->arena, "https://%s", url);
	if (uri_parse(&uri, &b->arena, url, err))
		return error_wrap(err, "%s", what);
	if (!is_server(&uri))
		return error_set(err, ERR_INVALID,
				 "%s: invalid address: expected a URL such as "
				 "https://s3.example.com:9000",
				 what);
	/* a default port is not in the Host header, either */
	default_port = strcmp(uri.scheme, "http") ? ":443" : ":80";
	len = strlen(uri.host) -
	      (str_ends(uri.host, default_port) ? strlen(default_port) : 0);
	url = arena_printf(&b->arena, "%s://%.*s%s%s", uri.scheme, (int)len, uri.host,
			   *uri.path ? "/" : "", uri.path);
	len = strlen(url);
	while (url[len - 1] == '/')
		len--;
	b->endpoint = str_slice(&b->arena, url, len);
	return 0;
}

/* Can the bucket be part of a host name, with a certificate for *.s3...? */
static bool is_label(const char *bucket)
{
	size_t len = strlen(bucket);

	if (len < 3 || len > 63 || bucket[0] == '-' || bucket[len - 1] == '-')
		return false;
	for (; *bucket; bucket++)
		if (!islower((unsigned char)*bucket) &&
		    !isdigit((unsigned char)*bucket) && *bucket != '-')
			return false;
	return true;
}

static int find_bucket(struct s3_bucket *b, const struct store_conf *conf,
		       struct error *err)
{
	const char *style = FIRST_OF(conf, "AWS_VIRTUAL_HOSTED_STYLE_REQUEST");
	struct uri uri;

	if (uri_parse(&uri, &b->arena, conf->uri, err))
		return -1;
	if (!*uri.host || strlen(uri.host) > MAX_BUCKET)
		return error_set(err, ERR_INVALID,
				 "no bucket: expected %s://BUCKET/PREFIX", uri.scheme);
	if (str_starts(uri.host, "arn:"))
		return error_set(
			err, ERR_UNSUPPORTED,
			"%s: an ARN, which is not supported: name the bucket, or "
			"the access point by its alias (NAME-...-s3alias)",
			uri_shown(&b->arena, conf->uri));
	for (const char *p = uri.host; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return error_set(err, ERR_INVALID,
					 "%s: invalid bucket name: use letters, digits, "
					 "'.', '-' and '_'",
					 uri_shown(&b->arena, conf->uri));
	b->scheme = uri.scheme;
	b->name = uri.host;
	b->key = uri.path;
	b->in_host = !b->endpoint;
	if (style)
		b->in_host = !strcasecmp(style, "true");
	b->in_host = b->in_host && is_label(b->name);
	if (!b->endpoint && str_ends(b->name, "--x-s3"))
		return error_set(err, ERR_UNSUPPORTED,
				 "%s: a directory bucket (S3 Express One Zone), which is "
				 "not supported: copy its objects to a general purpose "
				 "bucket",
				 uri_shown(&b->arena, conf->uri));
	return 0;
}

/* AWS's buckets: the setting as GDAL or as object_store reads it. */
static int find_payer(struct s3_bucket *b, const struct store_conf *conf,
		      struct error *err)
{
	const char *value = store_env(conf, "AWS_REQUEST_PAYER");

	if (b->google)
		return gs_find_payer(&b->payer, &b->arena, conf, err);
	if (value && (!strcasecmp(value, "requester") || !strcasecmp(value, "true")))
		b->payer = (struct sigv4_pair){ "x-amz-request-payer", "requester" };
	return 0;
}

static int setup(struct s3_bucket *b, const struct store_conf *conf, struct error *err)
{
	const struct cloud_conf cloud = store_cloud_conf(conf);
	struct aws_files files = aws_files_of(&b->arena, &cloud);
	struct aws_profile profile = { 0 };
	struct error ignored = {
		0
	}; /* aws_credentials_get() reports it, if it matters */
	bool found;

	b->google = str_starts(conf->uri, "gs:");
	if (!b->google && aws_profile_load(&profile, &found, &b->arena, &files,
					   files.profile, &ignored))
		profile = (struct aws_profile){ 0 };
	b->variant = aws_variant_of(&cloud, &profile);
	if (find_endpoint(b, conf, &profile, err) ||
	    find_region(b, conf, &profile, err) || find_bucket(b, conf, err) ||
	    find_payer(b, conf, err))
		return -1;
	b->retrier = store_retrier(&b->arena, conf);
	if (b->google && !store_env(conf, "ACCESS_KEY_ID"))
		b->token = gs_token_new(&cloud);
	else
		b->credentials = aws_credentials_new(&cloud, b->region);
	return 0;
}

int s3_bucket_open(struct s3_bucket **ret, const struct store_conf *conf,
		   struct error *err)
{
	struct s3_bucket *b = xcalloc(1, sizeof(*b));

	pthread_mutex_init(&b->lock, NULL);
	if (setup(b, conf, err)) {
		s3_bucket_close(b);
		return -1;
	}
	*ret = b;
	return 0;
}

void s3_bucket_close(struct s3_bucket *b)
{
	if (!b)
		return;
	aws_credentials_free(b->credentials);
	gs_token_free(b->token);
	pthread_mutex_destroy(&b->lock);
	arena_clear(&b->arena);
	free(b);
}

const char *s3_bucket_key(const struct s3_bucket *b)
{
	return b->key;
}

/* ---- requests ---- */

/* "https://host/path", and where its parts begin. */
struct address {
	const char *scheme, *host, *path;
};

static struct address address_of(struct s3_bucket *b, struct arena *arena,
				 const char *region, const char *key)
{
	cleanup_buf struct buf path = { .max = MAX_URL };
	struct address a = { .scheme = "https" };
	const char *base = "", *rest;

	if (b->endpoint) {
		rest = strstr(b->endpoint, "://");
		a.scheme = str_slice(arena, b->endpoint, (size_t)(rest - b->endpoint));
		rest += 3;
		a.host = str_slice(arena, rest, strcspn(rest, "/"));
		base = rest + strlen(a.host);
	} else {
		a.host = aws_host(arena, "s3", region, b->variant);
	}
	if (b->in_host)
		a.host = arena_printf(arena, "%s.%s", b->name, a.host);
	http_escape_path(&path, base);
	buf_adds(&path, "/");
	if (!b->in_host) {
		http_escape(&path, b->name);
		if (key)
			buf_adds(&path, "/");
	}
	if (key)
		http_escape_path(&path, key);
	a.path = arena_strdup(arena, (const char *)path.data);
	return a;
}

/* For each of `headers`, and the token. */
static int add_token(struct s3_bucket *b, bool refused, const char *const **headers,
		     struct arena *arena, struct error *err)
{
	const char *token = NULL, **ret;
	size_t n = 0;

	if (gs_token_get(b->token, refused, arena, &token, err))
		return error_wrap(err, "%s://%s", b->scheme, b->name);
	while ((*headers)[n])
		n++;
	ret = arena_alloc(arena, (n + 2) * sizeof(*ret));
	memcpy(ret, *headers, n * sizeof(*ret));
	if (token)
		ret[n] = arena_printf(arena, "Authorization: Bearer %s", token);
	*headers = ret;
	return 0;
}

bool s3_bucket_unpacks(const struct s3_bucket *b)
{
	return b->google ||
	       (b->endpoint && strstr(b->endpoint, "://storage.googleapis.com"));
}

bool s3_bucket_signs(const struct s3_bucket *b)
{
	return !b->token;
}

bool s3_bucket_has_sums(struct s3_bucket *b)
{
	return !atomic_load(&b->no_sums);
}

void s3_bucket_no_sums(struct s3_bucket *b)
{
	atomic_store(&b->no_sums, true);
}

static const struct sigv4_pair *with_payer(const struct s3_bucket *b, struct arena *arena,
					   const struct sigv4_pair *headers)
{
	struct sigv4_pair *ret;
	size_t n = 0;

	while (headers && headers[n].name)
		n++;
	ret = arena_alloc(arena, (n + 2) * sizeof(*ret));
	for (size_t i = 0; i < n; i++)
		ret[i] = headers[i];
	ret[n] = b->payer;
	return ret;
}

int s3_bucket_sign(struct s3_bucket *b, const struct s3_request *req, struct arena *arena,
		   struct store_call *ret, struct error *err)
{
	const char *region = region_of(b, arena);
	const struct sigv4_key *key = NULL;
	struct address a = address_of(b, arena, region, req->key);
	struct sigv4_request s = { .method = req->method,
				   .host = a.host,
				   .path = a.path,
				   .query = sigv4_query(arena, req->query),
				   .headers = b->payer.name
						      ? with_payer(b, arena, req->headers)
						      : req->headers,
				   .payload = req->payload,
				   .region = region,
				   .service = "s3",
				   .now = clock_now() };

	if (!b->token &&
	    aws_credentials_get(b->credentials, req->key_refused, arena, &key, err))
		return error_wrap(err, "%s://%s", b->scheme, b->name);
	ret->headers = sigv4_sign(arena, &s, key);
	if (b->token && add_token(b, req->key_refused, &ret->headers, arena, err))
		return -1;
	ret->url = arena_printf(arena, "%s://%s%s%s%s", a.scheme, a.host, a.path,
				*s.query ? "?" : "", s.query);
	return 0;
}

/* State while a response arrives. */
struct exchange {
	struct s3_bucket *bucket;
	const struct s3_request *req;
	char region[REGION_SIZE];
};

static int on_header(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	struct exchange *h = ctx;

	(void)status, (void)err;
	if (!strcasecmp(name, "x-amz-bucket-region") && is_region(value))
		snprintf(h->region, sizeof(h->region), "%s", value);
	if (h->req->on_header)
		h->req->on_header(h->req->ctx, name, value);
	return 0;
}

/* Drop curl's default Content-Type, which would have to be signed. */
static const char *const *without_type(struct arena *arena, const char *const *headers)
{
	const char **ret;
	size_t n = 0;

	while (headers[n])
		n++;
	ret = arena_alloc(arena, (n + 2) * sizeof(*ret));
	memcpy(ret, headers, n * sizeof(*ret));
	ret[n] = "Content-Type:";
	return ret;
}

static const char *title(struct s3_bucket *b, struct arena *arena, const char *key)
{
	return arena_printf(arena, "%s://%s/%s", b->scheme, b->name,
			    key ? str_visible(arena, key, false) : "");
}

/* A signature expires within minutes, and a pause before a retry may be longer. */
static int sign_again(void *ctx, struct arena *arena, struct http_request *http,
		      struct error *err)
{
	struct exchange *h = ctx;
	struct store_call call = { 0 };

	h->region[0] = 0;
	if (s3_bucket_sign(h->bucket, h->req, arena, &call, err))
		return -1;
	http->url = call.url;
	http->headers = without_type(arena, call.headers);
	return 0;
}

static int is_done(void *ctx, bool *ret, struct error *err)
{
	struct exchange *h = ctx;

	return h->req->is_done(h->req->ctx, ret, err);
}

static int send_once(struct s3_bucket *b, const struct s3_request *req,
		     struct exchange *h, struct http_response *ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const struct http_request http = { .method = req->method,
					   .body = req->body,
					   .body_len = req->body_len,
					   .timeout_ms = ASK_MS +
							 (int64_t)req->body_len / SLOWEST,
					   .idle_ms = IDLE_MS,
					   .max_body = MAX_ANSWER,
					   .on_header = on_header,
					   .ctx = h };
	const struct http_retry_call q = { .what = title(b, &arena, req->key),
					   .req = &http,
					   .prepare = sign_again,
					   .is_done = req->is_done ? is_done : NULL,
					   .passes = aws_error_passes,
					   .ctx = h };

	*h = (struct exchange){ .bucket = b, .req = req };
	return http_retry_call(b->retrier, &q, ret, err);
}

/* Is the bucket in another region, or has the key expired? */
static bool may_help(struct s3_bucket *b, const struct http_response *resp,
		     const struct exchange *h, bool *again)
{
	cleanup_arena struct arena arena = { 0 };
	const char *region = h->region;
	struct aws_error e;

	if (resp->status < 300 || resp->status == 404 || resp->status >= 500)
		return false;
	e = aws_error_read(&arena, &resp->body);
	if (!*region && e.region && is_region(e.region))
		region = e.region;
	if (*region && strcmp(region, region_of(b, &arena))) {
		set_region(b, region);
		return true;
	}
	*again = !strcmp(e.code, "ExpiredToken") || !strcmp(e.code, "InvalidToken") ||
		 (b->token && resp->status == 401);
	return *again;
}

int s3_bucket_send(struct s3_bucket *b, const struct s3_request *req,
		   struct http_response *ret, struct error *err)
{
	struct s3_request mine = *req;
	struct http_response resp = { 0 };
	struct exchange h;

	if (send_once(b, &mine, &h, &resp, err))
		return -1;
	if (may_help(b, &resp, &h, &mine.key_refused)) {
		http_response_release(&resp);
		if (send_once(b, &mine, &h, &resp, err))
			return -1;
	}
	*ret = resp;
	return 0;
}

/* ---- refusals ---- */

static const struct {
	const char *code;
	enum error_kind kind;
	const char *words; /* %s: the source of the credentials */
} refusals[] = {
	{ "SignatureDoesNotMatch", ERR_DENIED,
	  "the secret access key does not match the access key ID (of %s); check "
	  "SECRET_ACCESS_KEY" },
	{ "InvalidAccessKeyId", ERR_DENIED,
	  "unknown access key ID (of %s); is ENDPOINT the server it is for?" },
	{ "XAdminUserNotFound", ERR_DENIED, /* versitygw's code for it */
	  "unknown access key ID (of %s)" },
	{ "ExpiredToken", ERR_DENIED, "the session token (of %s) has expired" },
	{ "InvalidToken", ERR_DENIED,
	  "invalid session token (of %s); is an old SESSION_TOKEN or "
	  "AWS_SESSION_TOKEN set?" },
	{ "NoSuchBucket", ERR_NOT_FOUND, "no such bucket; check its name and ENDPOINT" },
	{ "NoSuchKey", ERR_NOT_FOUND, "no such object" },
	{ "NoSuchVersion", ERR_NOT_FOUND, "object no longer exists" },
	{ "InvalidObjectState", ERR_DENIED,
	  "archived (S3 Glacier): restore it first, with 'aws s3api restore-object'" },
	{ "AuthorizationHeaderMalformed", ERR_INVALID,
	  "the server expects another region; check REGION" },
	{ "SecondLevelDomainForbidden", ERR_INVALID, /* Alibaba's OSS */
	  "the server expects the bucket in the host's name: set "
	  "AWS_VIRTUAL_HOSTED_STYLE_REQUEST=true" },
	{ "AllAccessDisabled", ERR_DENIED, "the bucket is disabled" },
	{ "EntityTooLarge", ERR_LIMIT, "the object is too large for the server" },
	{ "UserProjectMissing", ERR_DENIED, GS_NO_PAYER },
	{ "QuotaExceeded", ERR_LIMIT, "the bucket's quota is exceeded" },
};

static int refused_access(const struct s3_bucket *b, const char *what, const char *source,
			  const struct aws_error *e, struct error *err)
{
	if (!strcmp(source, "no credentials"))
		return error_set(err, ERR_DENIED,
				 "%s: access denied without credentials: set "
				 "ACCESS_KEY_ID and SECRET_ACCESS_KEY (in the Secret of "
				 "the initializer), or give the pod a role",
				 what);
	return error_set(err, ERR_DENIED,
			 "%s: access denied to the credentials of %s: grant "
			 "s3:ListBucket and s3:GetObject (s3:PutObject to upload)%s%s%s",
			 what, source,
			 b->payer.name ? ""
				       : "; if the bucket has Requester Pays, set "
					 "AWS_REQUEST_PAYER=requester",
			 *e->message ? "; server: " : "", e->message);
}

static int refused_clock(const char *what, const struct aws_error *e, struct error *err)
{
	char text[DURATION_TEXT_SIZE];
	int64_t off = e->server_time ? e->server_time - clock_now() : 0;

	if (!off)
		return error_set(err, ERR_DENIED,
				 "%s: this machine's clock differs too much from the "
				 "server's: synchronize it (NTP)",
				 what);
	duration_text((off < 0 ? -off : off) * 1000, text);
	return error_set(
		err, ERR_DENIED,
		"%s: this machine's clock is %s %s the server's: synchronize it (NTP)",
		what, text, off > 0 ? "behind" : "ahead of");
}

static int refused_endpoint(const char *what, const struct aws_error *e,
			    struct error *err)
{
	return error_set(err, ERR_INVALID,
			 "%s: the bucket is at another endpoint%s%s; check ENDPOINT and "
			 "REGION",
			 what, e->endpoint ? ": " : "", e->endpoint ? e->endpoint : "");
}

/* HEAD has no body, nor has a proxy's redirect one that says so. */
static const char *code_of(const struct aws_error *e, const char *key, int status)
{
	if (*e->code)
		return e->code;
	if (status == 403 || status == 401)
		return "AccessDenied";
	if (status == 404)
		return key && *key ? "NoSuchKey" : "NoSuchBucket";
	if (status / 100 == 3)
		return "PermanentRedirect";
	return "";
}

static int refused(struct s3_bucket *b, const char *key, int status,
		   const struct buf *body, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *source = b->token ? gs_token_source(b->token)
				      : aws_credentials_source(b->credentials, &arena);
	const char *what = title(b, &arena, key);
	struct aws_error e = aws_error_read(&arena, body);
	const char *code = code_of(&e, key, status), *words;

	if (str_starts(code, "AccessDenied"))
		return b->google ? gs_refused_access(what, source, e.message, err)
				 : refused_access(b, what, source, &e, err);
	if (!strcmp(code, "RequestTimeTooSkewed"))
		return refused_clock(what, &e, err);
	if (!strcmp(code, "PermanentRedirect") || !strcmp(code, "TemporaryRedirect"))
		return refused_endpoint(what, &e, err);
	for (size_t i = 0; i < N_ELEMENTS(refusals); i++) {
		if (strcmp(code, refusals[i].code))
			continue;
		words = strstr(refusals[i].words, "%s");
		if (!words)
			return error_set(err, refusals[i].kind, "%s: %s", what,
					 refusals[i].words);
		return error_set(err, refusals[i].kind, "%s: %.*s%s%s", what,
				 (int)(words - refusals[i].words), refusals[i].words,
				 source, words + 2);
	}
	return error_set(err, ERR_IO, "%s: HTTP %d%s%s%s%s", what, status,
			 *e.code ? " " : "", e.code, *e.message ? ": " : "", e.message);
}

int s3_bucket_refused(struct s3_bucket *b, const char *key, int status,
		      const struct buf *body, struct error *err)
{
	refused(b, key, status, body, err);
	err->code = status;
	return -1;
}
