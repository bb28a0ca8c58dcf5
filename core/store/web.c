/*
 * web.c - http:// and https://: one file, or a manifest of URLs; see scheme.h.
 *
 * A URL is one file, named after the last part of its path; nothing is unpacked. It is a
 * manifest if its fragment is #manifest, or its path ends in .urls, .manifest or
 * SHA256SUMS. A manifest's lines are
 *
 *     # a comment
 *     URL [NAME] [size=BYTES] [sha256=HEX] [md5=HEX]
 *     HEX  NAME                                       as sha256sum prints
 *
 * URLs may be relative to the manifest's. Without NAME a file is named after its path
 * below the manifest's folder, or else the last part of its URL; in NAME %20 is a blank.
 * #sha256=HEX after the URL of one file is its required digest. ACCESS_TOKEN is sent as a
 * bearer token only to the URI's own host.
 */
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/relpath.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cloud/aws_error.h"
#include "cloud/secret.h"
#include "net/redirect.h"
#include "net/retry.h"
#include "net/uri.h"
#include "store/hf_uri.h"
#include "store/scheme.h"
#include "store/verify.h"

enum { MAX_WORDS = 8 };
#define MAX_MANIFEST ((size_t)64 * 1024 * 1024)

struct store {
	struct arena arena;
	struct http_retrier *retrier;
	const char *url;        /* without fragment */
	const char *fragment;   /* or NULL */
	const char *headers[2]; /* for the URL's own host */
};

static bool is_hub(const char *host)
{
	return !strcasecmp(host, "huggingface.co") || !strcasecmp(host, "hf.co") ||
	       !strcasecmp(host, "www.huggingface.co");
}

static int hub_page(struct arena *arena, const char *url, const struct uri *u,
		    struct error *err)
{
	const char *uri = hf_uri_of_page(arena, u->path);

	if (strstr(u->path, "/resolve/") || strstr(u->path, "/raw/") ||
	    str_starts(u->path, "api/"))
		return 0;
	return error_set(err, ERR_INVALID,
			 "'%s': a page of the hub, not a file: use %.300s",
			 uri_shown(arena, url),
			 uri ? str_visible(arena, uri, false) : "hf://org/name");
}

/* Users copy addresses of pages that show a file. */
static int page_check(struct arena *arena, const char *url, struct error *err)
{
	const char *show = "/-/blob/", *raw = "/-/raw/"; /* GitLab's, of any host */
	struct uri u;

	if (uri_parse(&u, arena, url, err))
		return -1;
	if (is_hub(u.host))
		return hub_page(arena, url, &u, err);
	if (!strcasecmp(u.host, "github.com")) {
		show = "/blob/";
		raw = "/raw/";
	}
	if (!strstr(u.path, show) || (u.query && strstr(u.query, "raw=")))
		return 0;
	return error_set(err, ERR_INVALID,
			 "'%s': a page that shows the file: write %s in place of %s",
			 uri_shown(arena, url), raw, show);
}

static int web_open(struct store **ret, const struct store_conf *conf, struct error *err)
{
	const char *token = store_env(conf, "ACCESS_TOKEN");
	struct store *s = xcalloc(1, sizeof(*s));
	struct uri u = { 0 };
	int rc = uri_parse(&u, &s->arena, conf->uri, err);

	if (!rc && (!*u.host || strchr(u.host, '@')))
		rc = error_set(err, ERR_INVALID,
			       "'%s': expected a host without a user name; set a token "
			       "in ACCESS_TOKEN",
			       uri_shown(&s->arena, conf->uri));
	if (!rc)
		rc = page_check(&s->arena, conf->uri, err);
	if (!rc && token)
		rc = secret_take(&token, &s->arena, token, "ACCESS_TOKEN", err);
	if (rc) {
		arena_clear(&s->arena);
		free(s);
		return -1;
	}
	s->retrier = store_retrier(&s->arena, conf);
	s->url = str_slice(&s->arena, conf->uri, strcspn(conf->uri, "#"));
	s->fragment = u.fragment;
	if (token)
		s->headers[0] =
			arena_printf(&s->arena, "Authorization: Bearer %s", token);
	if (s->headers[0] && str_eq(u.scheme, "http") && conf->say)
		conf->say(conf->ctx, "http:// sends ACCESS_TOKEN unencrypted");
	*ret = s;
	return 0;
}

static bool is_manifest(struct store *s)
{
	struct error err = { 0 };
	struct uri u;

	if (str_eq(s->fragment, "manifest"))
		return true;
	if (uri_parse(&u, &s->arena, s->url, &err))
		return false;
	return str_ends(u.path, ".urls") || str_ends(u.path, ".manifest") ||
	       str_eq(path_base(u.path), "SHA256SUMS");
}

static int check_hex(const char *hex, size_t len, const char *what, struct error *err)
{
	if (strlen(hex) != len || strspn(hex, "0123456789abcdefABCDEF") != len)
		return error_set(err, ERR_INVALID, "%s: expected %zu hexadecimal digits",
				 what, len);
	return 0;
}

static const char *lower(struct arena *arena, const char *hex)
{
	char *text = arena_strdup(arena, hex);

	for (char *p = text; *p; p++)
		*p |= *p >= 'A' && *p <= 'F' ? 0x20 : 0;
	return text;
}

/* "sha256=..." and similar; *known: was it one? */
static int take_attribute(struct store_object *o, struct arena *arena, const char *word,
			  bool *known, struct error *err)
{
	const char *value;

	*known = true;
	if ((value = str_after(word, "sha256="))) {
		o->digest = STORE_SHA256;
		o->sum = lower(arena, value);
		return check_hex(value, 64, "sha256", err);
	}
	if ((value = str_after(word, "md5="))) {
		if (check_hex(value, 32, "md5", err))
			return -1;
		if (o->digest == STORE_SHA256) /* a stronger digest */
			return 0;
		o->digest = STORE_MD5;
		o->sum = lower(arena, value);
		return 0;
	}
	if ((value = str_after(word, "size="))) {
		if (!str_int(&o->size, value, 0, STORE_MAX_SIZE, err))
			return 0;
		return error_wrap(err, "size");
	}
	*known = false;
	return 0;
}

/* The name of a file whose line has none: see above. */
static int name_of(const char **ret, struct arena *arena, const char *manifest,
		   const char *url, struct error *err)
{
	const char *folder = NULL, *path;
	struct uri u, m;

	if (uri_parse(&u, arena, url, err))
		return -1;
	path = path_base(u.path);
	if (manifest && !uri_parse(&m, arena, manifest, err) &&
	    http_same_server(manifest, url)) {
		folder = path_dir(arena, m.path);
		if (str_eq(folder, "."))
			path = u.path;
		else if (path_below(u.path, folder))
			path = path_below(u.path, folder) + 1;
	}
	if (!*path)
		return error_set(err, ERR_INVALID,
				 "'%s': no file name: the path ends in '/'",
				 uri_shown(arena, url));
	if (uri_decode(ret, arena, path, err))
		return -1;
	return relpath_check(*ret, err);
}

/*
 * A line of sha256sum: the digest, a blank, a blank or '*', then the name, which may have
 * blanks.
 */
static bool is_sum(const char *line)
{
	return strspn(line, "0123456789abcdefABCDEF") == 64 && line[64] == ' ' &&
	       (line[65] == ' ' || line[65] == '*') && line[66];
}

static int take_sum(struct store_object *o, struct arena *arena, const char *base,
		    const char *line, struct error *err)
{
	cleanup_buf struct buf escaped = { .max = URI_MAX };
	const char *name = str_trim(arena, line + 66);

	while (str_starts(name, "./"))
		name += 2;
	if (relpath_check(name, err))
		return -1;
	http_escape_path(&escaped, name);
	if (buf_check(&escaped, "the name", err))
		return -1;
	o->digest = STORE_SHA256;
	o->sum = lower(arena, str_slice(arena, line, 64));
	o->path = name;
	return uri_resolve(&o->key, arena, base, (const char *)escaped.data, err);
}

/* Unverified digests do not identify contents. */
static bool is_other_digest(const char *word)
{
	static const char *const rows[] = { "sha1=",  "sha224=", "sha384=", "sha512=",
					    "crc32=", "crc32c=", "blake3=", "etag=" };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (str_starts(word, rows[i]))
			return true;
	return false;
}

/* A manifest from https vouches for content from http only by its SHA-256. */
static int check_plain(const struct store_object *o, const char *base, struct error *err)
{
	if (strncasecmp(base, "https:", 6) || str_starts(o->key, "https://") ||
	    verify_is_proof(o))
		return 0;
	return error_set(err, ERR_DENIED,
			 "an https manifest lists an http URL without a checksum: add "
			 "sha256=HEX, or use https");
}

static int take_words(struct store_object *o, struct arena *arena, char *const *words,
		      const char **ret_name, struct error *err)
{
	for (size_t i = 1; words[i]; i++) {
		bool known;

		if (take_attribute(o, arena, words[i], &known, err))
			return -1;
		if (!known && (i > 1 || is_other_digest(words[i])))
			return error_set(err, ERR_FORMAT, "'%s': unknown attribute",
					 str_visible(arena, words[i], false));
		if (!known)
			*ret_name = words[i];
	}
	return 0;
}

static int take_url(struct store_object *o, struct arena *arena, const char *base,
		    char *const *words, struct error *err)
{
	const char *name = NULL;

	/* a proxy's or login page instead of the manifest */
	if (strpbrk(words[0], "<>\""))
		return error_set(err, ERR_FORMAT,
				 "'%.100s' is not a URL; is it an HTML page?",
				 str_visible(arena, words[0], false));
	if (uri_resolve(&o->key, arena, base, words[0], err))
		return -1;
	if (!str_starts(o->key, "http://") && !str_starts(o->key, "https://"))
		return error_set(err, ERR_UNSUPPORTED,
				 "a manifest may contain http:// and https:// URLs only");
	if (page_check(arena, o->key, err) || take_words(o, arena, words, &name, err) ||
	    check_plain(o, base, err))
		return -1;
	if (!name)
		return name_of(&o->path, arena, base, o->key, err);
	if (uri_decode(&o->path, arena, name, err))
		return -1;
	return relpath_check(o->path, err);
}

static int take_line(struct store_object *o, struct arena *arena, const char *base,
		     char *line, struct error *err)
{
	char *words[MAX_WORDS + 1] = { 0 }, *rest = NULL;
	size_t n = 0;

	*o = (struct store_object){ .size = -1 };
	if (is_sum(line))
		return take_sum(o, arena, base, line, err);
	for (char *w = strtok_r(line, " \t\r", &rest); w;
	     w = strtok_r(NULL, " \t\r", &rest)) {
		if (n == MAX_WORDS)
			return error_set(err, ERR_FORMAT, "more than %d words",
					 MAX_WORDS);
		words[n++] = w;
	}
	if (!n || *words[0] == '#')
		return 0;
	return take_url(o, arena, base, words, err);
}

static int read_manifest(struct store *s, char *text,
			 bool (*wanted)(void *ctx, const char *name, bool named),
			 void *ctx, struct store_listing *ret, struct error *err)
{
	char *rest = text, *line;

	if (str_starts(text, STR_BOM))
		rest += strlen(STR_BOM);
	for (size_t number = 1; (line = strsep(&rest, "\n")); number++) {
		struct store_object o;

		if (take_line(&o, &ret->arena, s->url, line, err))
			return error_wrap(err, "line %zu of the manifest", number);
		if (o.path && (!wanted || wanted(ctx, o.path, false)) &&
		    store_listing_add(ret, &o, err))
			return -1;
	}
	return 0;
}

static int get_manifest(struct store *s, struct http_response *ret, struct error *err)
{
	const char *what =
		arena_printf(&s->arena, "manifest %s", uri_shown(&s->arena, s->url));
	struct redirect at = { .arena = &s->arena, .url = s->url, .secure_only = true };
	const struct http_request req = { .method = "GET",
					  .headers = s->headers,
					  .idle_ms = 30000,
					  .max_body = MAX_MANIFEST };

	return redirect_retry(&at, s->retrier, what, &req, ret, err);
}

static int list_manifest(struct store *s,
			 bool (*wanted)(void *ctx, const char *name, bool named),
			 void *ctx, struct store_listing *ret, struct error *err)
{
	cleanup_http_response struct http_response r = { 0 };
	const char *what = uri_shown(&s->arena, s->url);

	if (get_manifest(s, &r, err))
		return -1;
	if (r.status != 200) {
		retry_fail(err, r.status);
		return error_wrap(err, "manifest %s", what);
	}
	if (strlen((const char *)r.body.data) != r.body.len)
		return error_set(err, ERR_FORMAT, "manifest %s: not text", what);
	if (read_manifest(s, (char *)r.body.data, wanted, ctx, ret, err))
		return error_wrap(err, "%s", what);
	return 0;
}

static int web_list(struct store *s,
		    bool (*wanted)(void *ctx, const char *name, bool named), void *ctx,
		    struct store_listing *ret, struct error *err)
{
	struct store_object o = { .key = s->url, .size = -1 };
	bool known = true;

	if (is_manifest(s))
		return list_manifest(s, wanted, ctx, ret, err);
	if (name_of(&o.path, &ret->arena, NULL, s->url, err))
		return -1;
	if (s->fragment && take_attribute(&o, &ret->arena, s->fragment, &known, err))
		return error_wrap(err, "'#%s'", s->fragment);
	if (!known)
		return error_set(err, ERR_INVALID,
				 "'#%s': unknown fragment: expected #manifest, "
				 "#sha256=HEX, #md5=HEX or #size=BYTES",
				 str_visible(&s->arena, s->fragment, false));
	if (wanted && !wanted(ctx, o.path, true))
		return 0;
	return store_listing_add(ret, &o, err);
}

static int web_locate(struct store *s, const struct store_object *o, int refused,
		      struct arena *arena, struct store_call *ret, struct error *err)
{
	if (refused == 401 && !s->headers[0])
		return error_set(err, ERR_DENIED,
				 "HTTP 401: authentication required; set ACCESS_TOKEN");
	ret->url = arena_strdup(arena, o->key);
	ret->headers = http_same_server(s->url, o->key) ? s->headers : NULL;
	return 0;
}

/* Presigned URLs of S3 say why: "Request has expired". */
static int web_explain(struct store *s, const struct store_object *o, int status,
		       const char *body, struct error *err)
{
	const struct buf text = { .data = (unsigned char *)body, .len = strlen(body) };
	cleanup_arena struct arena arena = { 0 };
	struct aws_error e = aws_error_read(&arena, &text);

	retry_fail(err, status);
	if (*e.message)
		error_set(err, err->kind, "HTTP %d %s: %s", status, e.code, e.message);
	err->code = status;
	return -1;
}

static void web_close(struct store *s)
{
	arena_clear(&s->arena);
	free(s);
}

const struct scheme scheme_http = {
	.name = "http",
	.open = web_open,
	.list = web_list,
	.locate = web_locate,
	.explain = web_explain,
	.close = web_close,
};

const struct scheme scheme_https = {
	.name = "https",
	.open = web_open,
	.list = web_list,
	.locate = web_locate,
	.explain = web_explain,
	.close = web_close,
};
