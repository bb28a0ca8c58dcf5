#include "store/hf_put.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/digest.h"
#include "store/ask.h"
#include "store/hf_hub.h"
#include "store/uri.h"

enum {
	BATCH = 100,
	SAMPLE = 512,
	MAX_HEADERS = 16,
	MAX_PARTS = 10000,
	HASH_BYTES = 1024 * 1024,
	ASK_MS = 300 * 1000,
	SLOWEST = 10, /* bytes a ms that a body goes out with */
};
#define COMMIT_BYTES ((size_t)16 * 1024 * 1024)
#define MAX_COMMIT   ((size_t)256 * 1024 * 1024)

struct putting {
	const struct hf_put_conf *conf;
	struct arena arena;
	struct hf_hub hub;
	struct hf_repo repo;
	const char *repo_url; /* "https://host/datasets/org/name" */
	struct buf commit;    /* lines of the one that is being made */
	size_t lines;
};

/* A file, as bytes. */
struct bytes {
	int fd;
	const char *data;
	size_t len;
};

static void bytes_release(struct bytes *b)
{
	if (b->len)
		munmap((void *)(uintptr_t)b->data, b->len);
	if (b->fd >= 0)
		close(b->fd);
}
#define cleanup_bytes __attribute__((cleanup(bytes_release)))

static int bytes_open(struct bytes *ret, const struct hf_put_file *f, struct error *err)
{
	struct bytes b = { .fd = open(f->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW),
			   .data = "" };
	struct stat st;
	void *at;

	if (b.fd < 0)
		return error_errno(err, errno, "%s", f->name);
	*ret = b;
	if (fstat(b.fd, &st) || st.st_size != f->size)
		return error_set(err, ERR_CONFLICT, "%s has changed while it was sent",
				 f->name);
	if (!f->size)
		return 0;
	at = mmap(NULL, (size_t)f->size, PROT_READ, MAP_PRIVATE, b.fd, 0);
	if (at == MAP_FAILED)
		return error_errno(err, errno, "%s", f->name);
	ret->data = at;
	ret->len = (size_t)f->size;
	return 0;
}

/* ---- requests ---- */

struct asked {
	const char *method, *url, *type;
	const void *body;
	size_t len;
	const char *const *more; /* headers; or NULL */
	bool hub;                /* with the token, if it is the hub's own host */
	char *etag;              /* of the answer: 200 bytes; or NULL */
};

static int on_header(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	struct asked *a = ctx;

	(void)status, (void)err;
	if (a->etag && !strcasecmp(name, "ETag"))
		snprintf(a->etag, 200, "%s", value);
	return 0;
}

static int refused(struct putting *p, const struct asked *a, struct http_response *resp,
		   struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	if (a->hub)
		hf_hub_refused(&p->hub, &p->repo, resp->status, "", "", err);
	else
		error_set(err, ERR_IO, "%s answers %d to an upload",
			  uri_shown(&arena, a->url), resp->status);
	if (resp->status == 403 && a->hub)
		error_wrap(err, "the token needs the right to write");
	http_response_release(resp);
	return -1;
}

static int ask(struct putting *p, struct asked *a, struct http_response *ret,
	       struct error *err)
{
	const char *headers[MAX_HEADERS + 4] = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct http_request req = { .method = a->method,
				    .url = a->url,
				    .headers = headers,
				    .body = a->body,
				    .body_len = a->len,
				    .timeout_ms = ASK_MS + (int64_t)a->len / SLOWEST,
				    .on_header = on_header,
				    .ctx = a };
	size_t n = 0;

	headers[n++] = arena_printf(&arena, "Content-Type:%s%s", a->type ? " " : "",
				    a->type ? a->type : "");
	if (a->type && str_ends(a->type, "git-lfs+json"))
		headers[n++] = arena_printf(&arena, "Accept: %s", a->type);
	if (a->hub && p->hub.token_from && uri_same_origin(a->url, p->hub.endpoint))
		headers[n++] = p->hub.headers[0];
	for (const char *const *h = a->more; h && *h && n < MAX_HEADERS + 3; h++)
		headers[n++] = *h;
	if (store_ask(p->hub.asker, hf_repo_shown(&arena, &p->repo), &req, ret, err))
		return -1;
	return ret->status / 100 == 2 ? 0 : refused(p, a, ret, err);
}

/* A document to the hub, and the one that it answers. */
static int ask_json(struct putting *p, const char *url, const char *type,
		    const cJSON *doc, cJSON **ret, struct error *err)
{
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_buf struct buf body = { .max = JSON_MAX_BYTES };
	struct asked a = { .method = "POST", .url = url, .type = type, .hub = true };

	json_print(&body, doc);
	if (buf_check(&body, "a request", err))
		return -1;
	a.body = body.data;
	a.len = body.len;
	if (ask(p, &a, &resp, err))
		return -1;
	return ret ? json_parse(ret, resp.body.data, resp.body.len, err) : 0;
}

/* ---- Git LFS ---- */

static const char lfs_type[] = "application/vnd.git-lfs+json";

static const char *const *headers_of(struct arena *arena, const cJSON *action)
{
	const char **ret = arena_alloc(arena, (MAX_HEADERS + 1) * sizeof(*ret));
	const cJSON *h;
	size_t n = 0;

	json_each(h, json_get(action, "header")) {
		if (n < MAX_HEADERS && h->string && cJSON_IsString(h) &&
		    !strpbrk(h->string, "\r\n:") && !strpbrk(h->valuestring, "\r\n"))
			ret[n++] =
				arena_printf(arena, "%s: %s", h->string, h->valuestring);
	}
	return ret;
}

/* header: {"chunk_size": "...", "00001": URL, ...}; then a word that all are there. */
static int send_parts(struct putting *p, const cJSON *action, const struct bytes *b,
		      const char *oid, struct error *err)
{
	int64_t chunk = 0, n;
	struct error why = { 0 };
	cleanup_json cJSON *done = cJSON_CreateObject();
	cJSON *parts = json_list(done, "parts");

	if (str_int(&chunk, json_str(action, "header", "chunk_size"), 1, INT64_MAX, &why))
		return error_set(err, ERR_FORMAT, "chunk_size: %s", why.msg);
	n = ((int64_t)b->len + chunk - 1) / chunk;
	for (int64_t i = 0; i < n; i++) {
		cleanup_http_response struct http_response resp = { 0 };
		cleanup_arena struct arena arena = { 0 };
		char etag[200] = "";
		struct asked a = { .method = "PUT", .etag = etag };
		size_t at = (size_t)(i * chunk);
		cJSON *part = cJSON_CreateObject();

		cJSON_AddItemToArray(parts, part);
		for (int width = 1; width <= 8 && !a.url; width++)
			a.url = json_str(
				action, "header",
				arena_printf(&arena, "%0*lld", width, (long long)i + 1));
		if (!a.url || n > MAX_PARTS)
			return error_set(err, ERR_FORMAT, "no URL for part %lld of %lld",
					 (long long)i + 1, (long long)n);
		a.body = b->data + at;
		a.len = b->len - at < (size_t)chunk ? b->len - at : (size_t)chunk;
		if (ask(p, &a, &resp, err))
			return -1;
		json_put_int(part, i + 1, "partNumber");
		json_put_str(part, etag, "etag");
	}
	json_put_str(done, oid, "oid");
	return ask_json(p, json_str(action, "href"), lfs_type, done, NULL, err);
}

static int send_object(struct putting *p, const cJSON *object, const struct bytes *b,
		       const char *oid, struct error *err)
{
	const cJSON *upload = json_get(object, "actions", "upload");
	const cJSON *verify = json_get(object, "actions", "verify");
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *done = cJSON_CreateObject();
	struct asked a = { .method = "PUT", .body = b->data, .len = b->len };

	if (!upload)
		return 0; /* it has these bytes, from whatever repository */
	a.url = json_str(upload, "href");
	if (!a.url)
		return error_set(err, ERR_FORMAT, "an upload without a URL");
	a.more = headers_of(&arena, upload);
	if (json_str(upload, "header", "chunk_size") ? send_parts(p, upload, b, oid, err)
						     : ask(p, &a, &resp, err))
		return -1;
	if (!verify || !json_str(verify, "href"))
		return 0;
	json_put_str(done, oid, "oid");
	json_put_int(done, (int64_t)b->len, "size");
	return ask_json(p, json_str(verify, "href"), lfs_type, done, NULL, err);
}

static int put_lfs(struct putting *p, const struct bytes *b, const char *oid,
		   struct error *err)
{
	cleanup_json cJSON *doc = cJSON_CreateObject(), *answer = NULL;
	cJSON *object = cJSON_CreateObject();
	const cJSON *got;

	json_put_str(doc, "upload", "operation");
	cJSON_AddItemToArray(json_list(doc, "transfers"), cJSON_CreateString("basic"));
	cJSON_AddItemToArray(json_list(doc, "transfers"),
			     cJSON_CreateString("multipart"));
	json_put_str(doc, "sha256", "hash_algo");
	json_put_str(doc, p->repo.revision, "ref", "name");
	json_put_str(object, oid, "oid");
	json_put_int(object, (int64_t)b->len, "size");
	cJSON_AddItemToArray(json_list(doc, "objects"), object);
	if (ask_json(
		    p,
		    arena_printf(&p->arena, "%s.git/info/lfs/objects/batch", p->repo_url),
		    lfs_type, doc, &answer, err))
		return -1;
	got = json_get(answer, "objects");
	got = got ? got->child : NULL;
	if (!got || json_get(got, "error"))
		return error_set(err, ERR_FORMAT, "the hub takes it not by LFS: %.200s",
				 got && json_str(got, "error", "message")
					 ? json_str(got, "error", "message")
					 : "no answer for it");
	return send_object(p, got, b, oid, err);
}

/* ---- commits ---- */

static const char *api(struct putting *p, const char *verb)
{
	cleanup_buf struct buf revision = { .max = 4096 };

	http_escape(&revision, p->repo.revision);
	return arena_printf(&p->arena, "%s/api/%s/%s/%s/%s", p->hub.endpoint,
			    p->repo.kind, p->repo.id, verb, (char *)revision.data);
}

static void add_line(struct putting *p, const char *key, cJSON *take_value)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, key, "key");
	json_put(doc, take_value, "value");
	json_print(&p->commit, doc);
	buf_adds(&p->commit, "\n");
	p->lines++;
}

static int commit(struct putting *p, struct error *err)
{
	cleanup_http_response struct http_response resp = { 0 };
	struct asked a = { .method = "POST",
			   .url = api(p, "commit"),
			   .type = "application/x-ndjson",
			   .hub = true,
			   .body = p->commit.data,
			   .len = p->commit.len };

	if (p->lines <= 1)
		return 0;
	if (buf_check(&p->commit, "a commit", err) || ask(p, &a, &resp, err))
		return -1;
	buf_clear(&p->commit);
	p->lines = 0;
	return 0;
}

/* SHA-256 for LFS, else Git's name of a blob. */
static int name_of(const struct bytes *b, bool lfs, char ret[DIGEST_HEX_SIZE],
		   struct error *err)
{
	cleanup_digest struct digest *d = digest_new(lfs ? DIGEST_SHA256 : DIGEST_SHA1);
	char head[64];

	if (!lfs)
		digest_add(d, head,
			   (size_t)snprintf(head, sizeof(head), "blob %zu", b->len) + 1);
	for (size_t at = 0; at < b->len; at += HASH_BYTES) {
		if (stop_requested())
			return error_set(err, ERR_STOPPED, "stopped");
		digest_add(d, b->data + at,
			   b->len - at < HASH_BYTES ? b->len - at : HASH_BYTES);
	}
	digest_end_hex(d, ret);
	return 0;
}

static void add_header(struct putting *p)
{
	cJSON *head = cJSON_CreateObject();

	json_put_str(head, "Upload by kftrainer", "summary");
	json_put_str(head, "", "description");
	add_line(p, "header", head);
}

static void add_file(struct putting *p, const char *path, const struct bytes *b,
		     const char *oid)
{
	cleanup_buf struct buf text = { .max = MAX_COMMIT };
	cJSON *value = cJSON_CreateObject();

	if (!p->lines)
		add_header(p);
	json_put_str(value, path, "path");
	if (oid) {
		json_put_str(value, "sha256", "algo");
		json_put_str(value, oid, "oid");
		json_put_int(value, (int64_t)b->len, "size");
	} else {
		buf_adds(&text, "");
		base64_encode(&text, b->data, b->len);
		json_put_str(value, (char *)text.data, "content");
		json_put_str(value, "base64", "encoding");
	}
	add_line(p, oid ? "lfsFile" : "file", value);
}

static int put_file(struct putting *p, size_t i, const cJSON *said, struct error *err)
{
	const struct hf_put_file *f = &p->conf->files[i];
	bool lfs = str_eq(json_str(said, "uploadMode"), "lfs"), same;
	cleanup_bytes struct bytes b = { .fd = -1 };
	char oid[DIGEST_HEX_SIZE];

	if (bytes_open(&b, f, err) || name_of(&b, lfs, oid, err))
		return -1;
	same = str_eq(json_str(said, "oid"), oid);
	if (!same && lfs && put_lfs(p, &b, oid, err))
		return error_wrap(err, "%s", f->path);
	if (!same)
		add_file(p, json_str(said, "path"), &b, lfs ? oid : NULL);
	p->conf->done(p->conf->ctx, i, !same);
	return p->commit.len >= COMMIT_BYTES ? commit(p, err) : 0;
}

/* What the hub wants to know of files before: name, size, how they begin. */
static int ask_batch(struct putting *p, size_t from, size_t to, cJSON **ret,
		     struct error *err)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	cJSON *files = json_list(doc, "files");

	for (size_t i = from; i < to; i++) {
		const struct hf_put_file *f = &p->conf->files[i];
		cleanup_bytes struct bytes b = { .fd = -1 };
		cleanup_buf struct buf sample = { .max = 2 * SAMPLE };
		cJSON *file = cJSON_CreateObject();

		cJSON_AddItemToArray(files, file);
		if (bytes_open(&b, f, err))
			return -1;
		buf_adds(&sample, "");
		base64_encode(&sample, b.data, b.len < SAMPLE ? b.len : SAMPLE);
		json_put_str(file,
			     arena_printf(&p->arena, "%s%s%s", p->repo.folder,
					  *p->repo.folder ? "/" : "", f->path),
			     "path");
		json_put_str(file, (char *)sample.data, "sample");
		json_put_int(file, f->size, "size");
	}
	return ask_json(p, api(p, "preupload"), "application/json", doc, ret, err);
}

static int put_batch(struct putting *p, size_t from, size_t to, struct error *err)
{
	cleanup_json cJSON *answer = NULL;

	if (ask_batch(p, from, to, &answer, err))
		return -1;
	for (size_t i = from; i < to; i++) {
		const char *path =
			arena_printf(&p->arena, "%s%s%s", p->repo.folder,
				     *p->repo.folder ? "/" : "", p->conf->files[i].path);
		const cJSON *said =
			json_find_const(json_get(answer, "files"), "path", path);

		if (!said)
			return error_set(err, ERR_FORMAT,
					 "the hub does not say how it wants %s", path);
		if (put_file(p, i, said, err))
			return -1;
	}
	return 0;
}

static int put_all(struct putting *p, struct error *err)
{
	const struct hf_put_conf *conf = p->conf;

	if (hf_hub_open(&p->hub, &p->arena, conf->store, err) ||
	    hf_repo_parse(&p->repo, &p->arena, conf->store->uri, true, err))
		return -1;
	if (!p->hub.token_from)
		return error_set(
			err, ERR_DENIED,
			"%s takes uploads from those it knows: set HF_TOKEN to a "
			"token that may write",
			p->hub.host);
	p->repo_url = hf_repo_page(&p->arena, &p->hub, &p->repo);
	for (size_t i = 0; i < conf->n; i += BATCH)
		if (put_batch(p, i, conf->n - i < BATCH ? conf->n : i + BATCH, err))
			return -1;
	return commit(p, err);
}

int hf_put(const struct hf_put_conf *conf, struct error *err)
{
	struct putting p = { .conf = conf, .commit.max = MAX_COMMIT };
	int rc = put_all(&p, err);

	buf_release(&p.commit);
	arena_clear(&p.arena);
	return rc;
}
