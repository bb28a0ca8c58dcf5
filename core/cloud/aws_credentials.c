/* Finds and renews credentials for AWS; see aws_credentials.h. */
#include "cloud/aws_credentials.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cloud/aws_error.h"
#include "cloud/aws_profile.h"
#include "cloud/secret.h"
#include "cloud/token_cache.h"
#include "cloud/xml.h"
#include "crypto/sign.h"

#define ECS_HOST   "http://169.254.170.2"
#define IMDS       "http://169.254.169.254"
#define IMDS_IPV6  "http://[fd00:ec2::254]"
#define IMDS_ROLES "/latest/meta-data/iam/security-credentials/"

enum {
	MAX_FILE = 256 * 1024,
	MAX_ANSWER = 256 * 1024,
	NEAR_MS = 2000, /* for servers of this machine or its network */
	STS_MS = 30 * 1000,
	MAX_PROFILES = 8, /* length of a chain of source_profiles */
};

#define SETTINGS(X)                               \
	X(ACCESS_KEY_ID)                          \
	X(SECRET_ACCESS_KEY)                      \
	X(SESSION_TOKEN)                          \
	X(ROLE_ARN)                               \
	X(AWS_ACCESS_KEY_ID)                      \
	X(AWS_SECRET_ACCESS_KEY)                  \
	X(AWS_SESSION_TOKEN)                      \
	X(AWS_ROLE_ARN)                           \
	X(AWS_ROLE_SESSION_NAME)                  \
	X(AWS_WEB_IDENTITY_TOKEN_FILE)            \
	X(AWS_ENDPOINT_URL)                       \
	X(AWS_ENDPOINT_URL_STS)                   \
	X(AWS_CONTAINER_CREDENTIALS_FULL_URI)     \
	X(AWS_CONTAINER_CREDENTIALS_RELATIVE_URI) \
	X(AWS_CONTAINER_AUTHORIZATION_TOKEN)      \
	X(AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE) \
	X(AWS_EC2_METADATA_DISABLED)              \
	X(AWS_EC2_METADATA_V1_DISABLED)           \
	X(AWS_EC2_METADATA_SERVICE_ENDPOINT)      \
	X(AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE)

#define AS_FIELD(name) const char *name;
struct settings {
	SETTINGS(AS_FIELD)
};

struct found {
	struct arena arena;
	struct sigv4_key key; /* access NULL: anonymous */
	const char *source, *role;
	const char *unsupported; /* the profile's source, not supported; or NULL */
	int64_t expires;         /* seconds since 1970; 0: never */
};

struct aws_credentials {
	struct arena arena;
	struct settings set;
	struct aws_files files;
	const char *region, *endpoint; /* endpoint: the profile's for STS; or NULL */
	struct aws_variant variant;
	struct http_retrier *retrier;
	struct http_client *direct;       /* without a proxy, for servers nearby */
	const char *ca_file, *ca_setting; /* its CAs; or NULL */
	struct token_cache cache;
	struct found now; /* guarded by its lock */
};

static int renew(void *ctx, int64_t *ret_expires, struct error *err);

/* What the environment does not set. */
static void set_by_profile(struct settings *set, const struct aws_profile *p)
{
	const struct {
		const char **to, *value;
	} rows[] = {
		{ &set->AWS_EC2_METADATA_V1_DISABLED, p->imds_v1_disabled },
		{ &set->AWS_EC2_METADATA_SERVICE_ENDPOINT, p->imds },
		{ &set->AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE, p->imds_mode },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (!*rows[i].to)
			*rows[i].to = rows[i].value;
}

struct aws_credentials *aws_credentials_new(const struct cloud_conf *conf,
					    const char *region)
{
	struct aws_credentials *c = xcalloc(1, sizeof(*c));
	struct aws_profile p = { 0 };
	struct error ignored = { 0 }; /* reported where the files are needed */
	bool found;

#define KEEP(name) c->set.name = aws_env(&c->arena, conf, #name);
	SETTINGS(KEEP)
	c->region = arena_strdup(&c->arena, region);
	c->files = aws_files_of(&c->arena, conf);
	if (!aws_profile_load(&p, &found, &c->arena, &c->files, c->files.profile,
			      &ignored))
		c->endpoint = p.sts_endpoint ? p.sts_endpoint : p.endpoint;
	set_by_profile(&c->set, &p);
	c->variant = aws_variant_of(conf, &p);
	if (!aws_env(&c->arena, conf, "SSL_CERT_FILE"))
		c->ca_file = aws_ca_bundle(&c->arena, conf, &c->ca_setting);
	c->retrier = http_retrier_new(&c->arena, &conf->retry);
	token_cache_init(&c->cache, renew, c);
	return c;
}

void aws_credentials_free(struct aws_credentials *c)
{
	if (!c)
		return;
	http_client_free(c->direct);
	arena_clear(&c->now.arena);
	arena_clear(&c->arena);
	token_cache_release(&c->cache);
	free(c);
}

/* ---- fixed ones ---- */

static int from_pair(struct found *f, const char *access, const char *secret,
		     const char *token, const char *source, struct error *err)
{
	if (!access && !secret)
		return 0;
	if (!access || !secret)
		return error_set(err, ERR_INVALID,
				 "%s is set without its counterpart: set both the access "
				 "key ID and the secret access key",
				 source);
	f->key.access = arena_strdup(&f->arena, access);
	f->key.secret = arena_strdup(&f->arena, secret);
	f->key.token = arena_strdup(&f->arena, token);
	f->source = source;
	return 0;
}

static int from_own(struct aws_credentials *c, struct found *f, struct error *err)
{
	return from_pair(
		f, c->set.ACCESS_KEY_ID, c->set.SECRET_ACCESS_KEY, c->set.SESSION_TOKEN,
		c->set.ACCESS_KEY_ID ? "ACCESS_KEY_ID" : "SECRET_ACCESS_KEY", err);
}

static int from_env(struct aws_credentials *c, struct found *f, struct error *err)
{
	return from_pair(f, c->set.AWS_ACCESS_KEY_ID, c->set.AWS_SECRET_ACCESS_KEY,
			 c->set.AWS_SESSION_TOKEN,
			 c->set.AWS_ACCESS_KEY_ID ? "AWS_ACCESS_KEY_ID"
						  : "AWS_SECRET_ACCESS_KEY",
			 err);
}

/* ---- STS -------------------------------------------------------------------------- */

static int on_sts(void *ctx, const char *path, const char *text, struct error *err)
{
	struct found *f = ctx;
	const char *name = strstr(path, "Credentials/");
	struct error why = { 0 };

	if (!name)
		return 0;
	name = strchr(name, '/') + 1;
	if (!strcmp(name, "AccessKeyId"))
		f->key.access = arena_strdup(&f->arena, text);
	else if (!strcmp(name, "SecretAccessKey"))
		f->key.secret = arena_strdup(&f->arena, text);
	else if (!strcmp(name, "SessionToken"))
		f->key.token = arena_strdup(&f->arena, text);
	else if (!strcmp(name, "Expiration") && time_parse(&f->expires, text, &why))
		return error_set(err, ERR_FORMAT, "Expiration: %s", why.msg);
	return 0;
}

static const char *sts_endpoint(struct aws_credentials *c, struct arena *arena)
{
	if (c->set.AWS_ENDPOINT_URL_STS)
		return c->set.AWS_ENDPOINT_URL_STS;
	if (c->set.AWS_ENDPOINT_URL)
		return c->set.AWS_ENDPOINT_URL;
	if (c->endpoint)
		return c->endpoint;
	return arena_printf(arena, "https://%s",
			    aws_host(arena, "sts", c->region, c->variant));
}

static int sts_refused(struct aws_credentials *c, const struct http_response *resp,
		       const char *what, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct aws_error e = aws_error_read(&arena, &resp->body);
	const char *hint = "";

	if (strstr(e.code, "AccessDenied"))
		hint = "; does the role's trust policy name this identity?";
	else if (strstr(e.code, "InvalidIdentityToken") || strstr(e.code, "IDPComm"))
		hint = "; is the cluster's OIDC provider registered in AWS IAM, and is "
		       "the token's audience sts.amazonaws.com?";
	else if (strstr(e.code, "ExpiredToken"))
		hint = "; the token file has expired, or this machine's clock is wrong";
	return error_set(err, ERR_DENIED, "%s: STS answers %d %s: %s%s", what,
			 resp->status, e.code, e.message, hint);
}

/* Call STS; without a key the request is not signed. */
static int sts_ask(struct aws_credentials *c, const struct sigv4_key *key,
		   const struct sigv4_pair *form, struct found *f, struct error *err)
{
	static const struct sigv4_pair headers[] = {
		{ "content-type", "application/x-www-form-urlencoded" },
		{ "accept", "application/xml" },
		{ NULL, NULL }
	};
	cleanup_arena struct arena arena = { 0 };
	cleanup_http_response struct http_response resp = { 0 };
	const char *set = sts_endpoint(c, &arena), *body = sigv4_query(&arena, form);
	const char *url = str_slice(&arena, set, str_length_before(set, '/'));
	const char *host = strstr(url, "://");
	const struct xml_reader reader = { on_sts, f };
	cleanup_buf struct buf hash = { .max = 128 };
	unsigned char sum[SIGN_SHA256_SIZE];
	struct http_request req = { .method = "POST",
				    .url = arena_printf(&arena, "%s/", url),
				    .body = body,
				    .body_len = strlen(body),
				    .timeout_ms = STS_MS,
				    .max_body = MAX_ANSWER };
	const char *what = arena_printf(&arena, "role %s", f->role);

	if (!host)
		return error_set(err, ERR_INVALID, "AWS_ENDPOINT_URL_STS: not a URL");
	sign_sha256(body, req.body_len, sum);
	hex_encode(&hash, sum, sizeof(sum));
	req.headers = sigv4_sign(
		&arena,
		&(struct sigv4_request){
			.method = "POST",
			.host = str_slice(&arena, host + 3, strcspn(host + 3, "/")),
			.path = "/",
			.query = "",
			.headers = headers,
			.payload = (const char *)hash.data,
			.region = c->region,
			.service = "sts",
			.now = clock_now() },
		key);
	if (http_retry_call(c->retrier,
			    &(struct http_retry_call){ .what = what,
						       .req = &req,
						       .passes = aws_error_passes },
			    &resp, err))
		return -1;
	if (resp.status != 200)
		return sts_refused(c, &resp, what, err);
	if (xml_read(resp.body.data, resp.body.len, &reader, err))
		return error_wrap(err, "%s: STS", what);
	if (!f->key.access || !f->key.secret || !f->key.token)
		return error_set(err, ERR_FORMAT, "%s: STS response contains no key",
				 what);
	return 0;
}

/* Assume f->role with the token in a file. */
static int web_identity(struct aws_credentials *c, struct found *f, const char *path,
			const char *session, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *token;

	if (secret_read(&token, &arena, path, f->source, err))
		return -1;
	return sts_ask(
		c, NULL,
		(const struct sigv4_pair[]){ { "Action", "AssumeRoleWithWebIdentity" },
					     { "Version", "2011-06-15" },
					     { "RoleArn", f->role },
					     { "RoleSessionName", session },
					     { "WebIdentityToken", token },
					     { NULL, NULL } },
		f, err);
}

static const char *session_name(struct aws_credentials *c)
{
	return c->set.AWS_ROLE_SESSION_NAME ? c->set.AWS_ROLE_SESSION_NAME : "kftrainer";
}

static int from_web_identity(struct aws_credentials *c, struct found *f,
			     struct error *err)
{
	const char *path = c->set.AWS_WEB_IDENTITY_TOKEN_FILE;

	f->role = c->set.AWS_ROLE_ARN ? c->set.AWS_ROLE_ARN : c->set.ROLE_ARN;
	if (!path || !f->role)
		return 0;
	f->source = "web identity (AWS_WEB_IDENTITY_TOKEN_FILE)";
	return web_identity(c, f, path, session_name(c), err);
}

struct role {
	const char *arn, *session, *external_id; /* external_id: or NULL */
	const char *source;                      /* for messages */
};

/* Replace the key in *f by one of the role. */
static int assume_role(struct aws_credentials *c, struct found *f, const struct role *r,
		       struct error *err)
{
	struct found base = *f;
	int rc;

	*f = (struct found){ 0 };
	f->role = arena_strdup(&f->arena, r->arn);
	f->source = arena_strdup(&f->arena, r->source);
	rc = sts_ask(c, &base.key,
		     (const struct sigv4_pair[]){
			     { "Action", "AssumeRole" },
			     { "Version", "2011-06-15" },
			     { "RoleArn", f->role },
			     { "RoleSessionName", r->session },
			     { r->external_id ? "ExternalId" : NULL, r->external_id },
			     { NULL, NULL } },
		     f, err);
	arena_clear(&base.arena);
	return rc;
}

/* ---- servers nearby: containers, instances ---- */

/* One request without a proxy. */
static int ask_near(struct aws_credentials *c, struct http_request *req,
		    struct http_response *ret, struct error *err)
{
	const struct http_conf conf = { .proxy = "",
					.http1 = true,
					.ca_file = c->ca_file,
					.ca_setting = c->ca_file ? c->ca_setting : NULL };

	if (!c->direct && http_client_new(&c->direct, &conf, err))
		return -1;
	req->timeout_ms = NEAR_MS;
	req->max_body = MAX_ANSWER;
	return http_do(c->direct, req, ret, err);
}

/* The error of a failed status; ERR_IO: the next try of the request repeats it. */
static enum error_kind kind_of(int status)
{
	return retry_status(status) ? ERR_IO : ERR_DENIED;
}

static int read_key(struct found *f, const struct buf *body, struct error *err)
{
	cleanup_json cJSON *doc = NULL;
	const char *access, *secret, *token, *expires;

	if (json_parse(&doc, body->data, body->len, err))
		return -1;
	access = json_str(doc, "AccessKeyId");
	secret = json_str(doc, "SecretAccessKey");
	token = json_str(doc, "Token");
	expires = json_str(doc, "Expiration");
	if (!access || !secret)
		return error_set(err, ERR_FORMAT, "response contains no key");
	if (expires && time_parse(&f->expires, expires, err))
		return error_wrap(err, "Expiration");
	return from_pair(f, access, secret, token, f->source, err);
}

/* Send the token only to this machine, to the addresses of ECS and EKS, or over TLS. */
static bool may_have_token(const char *url)
{
	static const char *const near[] = {
		"http://localhost",      "http://127.0.0.1",      ECS_HOST,
		"http://169.254.170.23", "http://[fd00:ec2::23]", "http://[::1]"
	};

	if (str_starts(url, "https://"))
		return true;
	for (size_t i = 0; i < N_ELEMENTS(near); i++) {
		const char *rest = str_after(url, near[i]);

		if (rest && strchr(":/", *rest))
			return true;
	}
	return false;
}

static int container_token(struct aws_credentials *c, struct arena *arena,
			   const char **ret, struct error *err)
{
	const char *path = c->set.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;

	*ret = c->set.AWS_CONTAINER_AUTHORIZATION_TOKEN;
	return path ? secret_read(ret, arena, path,
				  "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", err)
		    : 0;
}

static int from_container(struct aws_credentials *c, struct found *f, struct error *err)
{
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_arena struct arena arena = { 0 };
	const char *url = c->set.AWS_CONTAINER_CREDENTIALS_FULL_URI, *token = NULL;
	const char *headers[2] = { NULL, NULL };
	struct http_request req = { .method = "GET", .headers = headers };

	if (c->set.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI)
		url = arena_printf(&arena, ECS_HOST "%s",
				   c->set.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI);
	if (!url)
		return 0;
	if (container_token(c, &arena, &token, err))
		return -1;
	if (!may_have_token(url))
		return error_set(err, ERR_INVALID,
				 "AWS_CONTAINER_CREDENTIALS_FULL_URI: expected https, or "
				 "an address of this machine, ECS or EKS");
	if (token)
		headers[0] = arena_printf(&arena, "Authorization: %s", token);
	req.url = url;
	f->source = "the pod's identity (AWS_CONTAINER_CREDENTIALS_FULL_URI)";
	if (ask_near(c, &req, &resp, err))
		return error_wrap(err, "%s", f->source);
	if (resp.status != 200)
		return error_set(err, kind_of(resp.status),
				 "%s: HTTP %d: is the Pod Identity agent running, and is "
				 "the service account associated with a role?",
				 f->source, resp.status);
	if (read_key(f, &resp.body, err))
		return error_wrap(err, "%s", f->source);
	return 0;
}

static bool mode_is(const struct aws_credentials *c, const char *word)
{
	const char *mode = c->set.AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE;

	return !strcasecmp(mode ? mode : "IPv4", word);
}

/* `token` NULL: ask for one; "": a server without any. */
static int imds_get(struct aws_credentials *c, const char *token, const char *path,
		    struct http_response *ret, struct error *err)
{
	const char *set = c->set.AWS_EC2_METADATA_SERVICE_ENDPOINT;
	const char *base = set ? set : mode_is(c, "IPv6") ? IMDS_IPV6 : IMDS;
	cleanup_arena struct arena arena = { 0 };
	const char *headers[] = { arena_printf(&arena, "X-aws-ec2-metadata-token%s: %s",
					       token ? "" : "-ttl-seconds",
					       token ? token : "21600"),
				  NULL };
	struct http_request req = { .method = token ? "GET" : "PUT",
				    .url = arena_printf(&arena, "%.*s%s",
							(int)str_length_before(base, '/'),
							base, path),
				    .headers = token && !*token ? NULL : headers };

	return ask_near(c, &req, ret, err);
}

/* Must be one word, because it becomes part of a header or a path. */
static const char *word_of(struct arena *arena, const struct http_response *r)
{
	char *text = str_trim(arena, (const char *)r->body.data);

	text[strcspn(text, " \t\r\n")] = 0;
	return text;
}

/*
 * Does the server refuse the request for a token as one that has none, such as kube2iam or
 * OpenStack's?
 */
static bool is_v1(const struct aws_credentials *c, int status)
{
	const char *disabled = c->set.AWS_EC2_METADATA_V1_DISABLED;

	return (status == 403 || status == 404 || status == 405) &&
	       !(disabled && !strcasecmp(disabled, "true"));
}

/* Outside AWS: no response, or one that there is no role, is not an error. */
static int from_machine(struct aws_credentials *c, struct found *f, struct error *err)
{
	cleanup_http_response struct http_response token = { 0 }, role = { 0 },
						   key = { 0 };
	const char *disabled = c->set.AWS_EC2_METADATA_DISABLED;
	cleanup_arena struct arena arena = { 0 };
	const char *with, *path;

	if (disabled && !strcasecmp(disabled, "true"))
		return 0;
	if (!mode_is(c, "IPv4") && !mode_is(c, "IPv6"))
		return error_set(err, ERR_INVALID,
				 "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE, or the "
				 "profile's ec2_metadata_service_endpoint_mode: '%.60s': "
				 "expected IPv4 or IPv6",
				 c->set.AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE);
	if (imds_get(c, NULL, "/latest/api/token", &token, IGNORED) ||
	    (token.status != 200 && !is_v1(c, token.status)))
		return 0;
	with = token.status == 200 ? word_of(&arena, &token) : "";
	f->source = "the machine's role (IMDS)";
	if (imds_get(c, with, IMDS_ROLES, &role, err))
		return error_wrap(err, "%s", f->source);
	if (role.status != 200)
		return retry_status(role.status) ? error_set(err, ERR_IO, "%s: HTTP %d",
							     f->source, role.status)
						 : 0;
	path = arena_printf(&arena, IMDS_ROLES "%s", word_of(&arena, &role));
	if (imds_get(c, with, path, &key, err))
		return error_wrap(err, "%s", f->source);
	if (key.status != 200)
		return error_set(err, kind_of(key.status), "%s: HTTP %d", f->source,
				 key.status);
	if (read_key(f, &key.body, err))
		return error_wrap(err, "%s", f->source);
	return 0;
}

/* ---- profiles ---- */

static int of_profile(struct aws_credentials *c, struct found *f, const char *name,
		      int depth, struct error *err);

static int profile_keys(struct found *f, const struct aws_profile *p, const char *name,
			struct error *err)
{
	return from_pair(f, p->access, p->secret, p->token,
			 arena_printf(&f->arena, "profile %s", name), err);
}

/*
 * Find the credentials that assume the profile's role; a profile may be its own source.
 */
static int role_base(struct aws_credentials *c, struct found *f,
		     const struct aws_profile *p, const char *name, int depth,
		     struct error *err)
{
	const char *from = p->credential_source;

	if (str_eq(p->source_profile, name))
		return profile_keys(f, p, name, err);
	if (p->source_profile)
		return of_profile(c, f, p->source_profile, depth + 1, err);
	if (!strcmp(from, "Environment"))
		return from_env(c, f, err);
	if (!strcmp(from, "EcsContainer"))
		return from_container(c, f, err);
	if (!strcmp(from, "Ec2InstanceMetadata"))
		return from_machine(c, f, err);
	return error_set(err, ERR_INVALID,
			 "credential_source: expected Environment, EcsContainer or "
			 "Ec2InstanceMetadata");
}

static int profile_role(struct aws_credentials *c, struct found *f,
			const struct aws_profile *p, const char *name, int depth,
			struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct role r = { .arn = p->role,
			  .session = p->session_name ? p->session_name : session_name(c),
			  .external_id = p->external_id,
			  .source = arena_printf(&arena, "profile %s", name) };

	if (p->token_file) {
		f->role = arena_strdup(&f->arena, p->role);
		f->source = arena_strdup(&f->arena, r.source);
		return web_identity(c, f, p->token_file, r.session, err);
	}
	if (p->mfa) {
		f->unsupported = "a role with mfa_serial";
		return 0;
	}
	if (role_base(c, f, p, name, depth, err))
		return error_wrap(err, "profile %s", name);
	if (!f->key.access && f->unsupported)
		return 0;
	if (!f->key.access)
		return error_set(
			err, ERR_INVALID,
			"profile %s: its source (%s) has no key for its role", name,
			p->source_profile ? p->source_profile : p->credential_source);
	return assume_role(c, f, &r, err);
}

static int no_profile(const struct aws_credentials *c, const char *setting,
		      const char *name, struct error *err)
{
	const char *config = c->files.config, *credentials = c->files.credentials;

	return error_set(err, ERR_INVALID, "%s '%s': no such profile in %s or %s",
			 setting, name, credentials ? credentials : "~/.aws/credentials",
			 config ? config : "~/.aws/config");
}

static int of_profile(struct aws_credentials *c, struct found *f, const char *name,
		      int depth, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct aws_profile p = { 0 };
	bool found = false;

	if (depth > MAX_PROFILES)
		return error_set(err, ERR_INVALID,
				 "too many source_profiles: is it a loop?");
	if (aws_profile_load(&p, &found, &arena, &c->files, name, err))
		return -1;
	if (!found && (depth || c->files.setting))
		return no_profile(c, depth ? "source_profile" : c->files.setting, name,
				  err);
	if (p.role && (p.source_profile || p.credential_source || p.token_file))
		return profile_role(c, f, &p, name, depth, err);
	if (p.process || p.sso)
		f->unsupported = p.process ? "credential_process" : "SSO";
	return profile_keys(f, &p, name, err);
}

static int from_profile(struct aws_credentials *c, struct found *f, struct error *err)
{
	return of_profile(c, f, c->files.profile, 0, err);
}

/* ---- all sources ---- */

static int (*const sources[])(struct aws_credentials *c, struct found *f,
			      struct error *err) = {
	from_own, from_env, from_web_identity, from_profile, from_container, from_machine,
};

static int find(struct aws_credentials *c, struct found *f, struct error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(sources) && !f->key.access; i++) {
		f->role = f->source = NULL;
		if (sources[i](c, f, err))
			return -1;
	}
	if (!f->key.access && f->unsupported)
		return error_set(err, ERR_UNSUPPORTED,
				 "profile '%s' uses %s, which is not supported, and no "
				 "other credentials are set; set AWS_ACCESS_KEY_ID and "
				 "AWS_SECRET_ACCESS_KEY ('aws configure "
				 "export-credentials' prints them)",
				 c->files.profile, f->unsupported);
	if (!f->key.access && c->now.key.access) /* the source may be away */
		return error_set(err, ERR_IO,
				 "%s: no answer that has a key, as it had before",
				 c->now.source);
	if (!f->key.access)
		f->source = "no credentials";
	else if (c->set.ROLE_ARN && !str_eq(f->role, c->set.ROLE_ARN))
		return assume_role(c, f,
				   &(struct role){ .arn = c->set.ROLE_ARN,
						   .session = session_name(c),
						   .source = "role ROLE_ARN" },
				   err);
	return 0;
}

static int renew(void *ctx, int64_t *ret_expires, struct error *err)
{
	struct aws_credentials *c = ctx;
	struct found next = { 0 };

	if (find(c, &next, err)) {
		arena_clear(&next.arena);
		return -1;
	}
	arena_clear(&c->now.arena);
	c->now = next;
	*ret_expires = next.expires;
	return 0;
}

int aws_credentials_get(struct aws_credentials *c, bool refused, struct arena *arena,
			const struct sigv4_key **ret, struct error *err)
{
	struct sigv4_key *key = NULL;

	if (token_cache_lock(&c->cache, refused, err))
		return -1;
	if (c->now.key.access) {
		key = arena_alloc(arena, sizeof(*key));
		key->access = arena_strdup(arena, c->now.key.access);
		key->secret = arena_strdup(arena, c->now.key.secret);
		key->token = arena_strdup(arena, c->now.key.token);
	}
	token_cache_unlock(&c->cache);
	*ret = key;
	return 0;
}

const char *aws_credentials_source(struct aws_credentials *c, struct arena *arena)
{
	const char *ret;

	pthread_mutex_lock(&c->cache.lock);
	ret = arena_strdup(arena, c->now.source ? c->now.source : "no credentials");
	pthread_mutex_unlock(&c->cache.lock);
	return ret;
}
