/* Uploads to a hub: Git LFS for large files, commits for all; see hf_put.h. */
#include "store/hf_put.h"

#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/digest.h"
#include "net/http_retry.h"
#include "net/redirect.h"
#include "net/uri.h"
#include "store/hf_hub.h"

enum {
	BATCH = 100,
	SAMPLE = 512,
	MAX_HEADERS = 16,
	MAX_PARTS = 10000,
	MAX_COMMITS = 10, /* retries after concurrent commits */
	PARENT_SIZE = 72,
	HASH_BYTES = 1024 * 1024,
	ASK_MS = 300 * 1000,
	SLOWEST = 10, /* assumed minimum speed of sending, bytes/ms */
};
#define COMMIT_BYTES ((size_t)16 * 1024 * 1024)
#define MAX_COMMIT   ((size_t)256 * 1024 * 1024)

struct putting {
	const struct put_conf *conf;
	struct arena arena;
	struct hf_hub hub;
	struct hf_repo repo;
	const char *repo_url;     /* "https://host/datasets/org/name" */
	char parent[PARENT_SIZE]; /* the branch's commit; "": none */
	struct buf commit; /* the commit being built: its lines without the header */
	struct buf body;   /* the whole body */
	cJSON *names;      /* its files: path -> oid */
	size_t lines;
};

/* A file to send. It is read, not mapped: a truncated file is an error, not SIGBUS. */
struct bytes {
	const struct put_file *file;
	int fd;
	size_t len;
	size_t from; /* the part to send */
};

static void bytes_release(struct bytes *b)
{
	if (b->fd >= 0)
		close(b->fd);
}
#define cleanup_bytes __attribute__((cleanup(bytes_release)))

static int bytes_open(struct bytes *ret, const struct put_file *f, struct error *err)
{
	*ret = (struct bytes){ .file = f, .fd = -1, .len = (size_t)f->size };
	return put_file_open(f, &ret->fd, err);
}

/* http_request.read; data is filled. */
static int bytes_read(void *ctx, size_t at, void *data, size_t max, size_t *ret_n,
		      struct error *err)
{
	const struct bytes *b = ctx;

	*ret_n = max;
	return put_file_read(b->file, b->fd, (int64_t)(b->from + at), data, max, err);
}

/* Read the first `max` bytes in base64. */
static int add_base64(struct buf *out, struct bytes *b, size_t max, struct error *err)
{
	size_t len = b->len < max ? b->len : max, got;
	cleanup_free void *data = xmalloc(len + 1);

	if (bytes_read(b, 0, data, len, &got, err))
		return -1;
	buf_adds(out, "");
	base64_encode(out, data, len);
	return 0;
}

/* ---- requests ---- */

struct hub_request {
	const char *method, *url, *type;
	const void *body;
	size_t len;
	struct bytes *file;      /* instead of the body */
	const char *const *more; /* headers; or NULL */
	bool hub;                /* with the token, if it is the hub's own host */
	bool is_commit;          /* of p->commit */
	char *etag;              /* of the answer: 200 bytes; or NULL */
};

static int on_header(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	struct hub_request *a = ctx;

	(void)status, (void)err;
	if (a->etag && !strcasecmp(name, "ETag"))
		snprintf(a->etag, 200, "%s", value);
	return 0;
}

static int refused(struct putting *p, const struct hub_request *a,
		   struct http_response *resp, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	if (a->hub && resp->location)
		error_set(err, ERR_INVALID,
			  "%s redirects to %s: set HF_ENDPOINT to that server",
			  p->hub.host, uri_shown(&arena, resp->location));
	else if (a->hub)
		hf_hub_refused(&p->hub, &p->repo, resp->status, "", "", err);
	else
		error_set(err, ERR_IO, "%s: upload failed with HTTP %d",
			  uri_shown(&arena, a->url), resp->status);
	if (resp->status == 403 && a->hub)
		error_wrap(err, "the token needs write access");
	http_response_release(resp);
	return -1;
}

/* Collect the headers, ended by NULL. */
static void add_headers(const struct putting *p, const struct hub_request *a,
			struct arena *arena, const char *headers[MAX_HEADERS + 4])
{
	const char *type = a->type ? a->type : "";
	size_t n = 0;

	headers[n++] = arena_printf(arena, "Content-Type:%s%s", *type ? " " : "", type);
	if (str_ends(type, "git-lfs+json"))
		headers[n++] = arena_printf(arena, "Accept: %s", type);
	if (a->hub && p->hub.token_from && http_same_server(p->hub.endpoint, a->url))
		headers[n++] = p->hub.headers[0];
	for (const char *const *h = a->more; h && *h && n < MAX_HEADERS + 3; h++)
		headers[n++] = *h;
	headers[n] = NULL;
}

static int make_commit(void *ctx, struct arena *arena, struct http_request *req,
		       struct error *err);
static int is_committed(void *ctx, bool *ret, struct error *err);

static int send_request(struct putting *p, struct hub_request *a,
			struct http_response *ret, struct error *err)
{
	const char *headers[MAX_HEADERS + 4];
	cleanup_arena struct arena arena = { 0 };
	const struct http_request req = {
		.method = a->method,
		.url = a->url,
		.headers = headers,
		.body = a->body,
		.body_len = a->len,
		.read = a->file ? bytes_read : NULL,
		.read_ctx = a->file,
		.timeout_ms = ASK_MS + (int64_t)a->len / SLOWEST,
		.on_header = on_header,
		.ctx = a,
	};
	const struct http_retry_call q = { .what = hf_repo_shown(&arena, &p->repo),
					   .req = &req,
					   .prepare = a->is_commit ? make_commit : NULL,
					   .is_done = a->is_commit ? is_committed : NULL,
					   .ctx = p };

	add_headers(p, a, &arena, headers);
	if (http_retry_call(p->hub.retrier, &q, ret, err))
		return -1;
	return !ret->status || ret->status / 100 == 2 ? 0 : refused(p, a, ret, err);
}

/* Send a document to the hub; returns its answer. */
static int ask_json(struct putting *p, const char *url, const char *type,
		    const cJSON *doc, cJSON **ret, struct error *err)
{
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_buf struct buf body = { .max = JSON_MAX_BYTES };
	struct hub_request a = {
		.method = "POST", .url = url, .type = type, .hub = true
	};

	json_print(&body, doc);
	if (buf_check(&body, "a request", err))
		return -1;
	a.body = body.data;
	a.len = body.len;
	if (send_request(p, &a, &resp, err))
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

/* header: {"chunk_size": "...", "00001": URL, ...}; then a request that completes it. */
static int send_parts(struct putting *p, const cJSON *action, struct bytes *b,
		      const char *oid, struct error *err)
{
	int64_t chunk = 0, n;
	struct error why = { 0 };
	cleanup_json cJSON *done = cJSON_CreateObject();
	cJSON *parts = json_list(done, "parts");

	if (str_int(&chunk, json_str(action, "header", "chunk_size"), 1, INT64_MAX, &why))
		return error_set(err, ERR_FORMAT, "chunk_size: %s", why.msg);
	n = (int64_t)b->len / chunk + ((int64_t)b->len % chunk != 0);
	if (n > MAX_PARTS)
		return error_set(err, ERR_FORMAT,
				 "chunk_size %lld: %lld parts exceed the limit of %d",
				 (long long)chunk, (long long)n, MAX_PARTS);
	for (int64_t i = 0; i < n; i++) {
		cleanup_http_response struct http_response resp = { 0 };
		cleanup_arena struct arena arena = { 0 };
		char etag[200] = "";
		struct bytes part_of = *b;
		struct hub_request a = { .method = "PUT",
					 .etag = etag,
					 .file = &part_of };
		cJSON *part = cJSON_CreateObject();

		cJSON_AddItemToArray(parts, part);
		for (int width = 1; width <= 8 && !a.url; width++)
			a.url = json_str(
				action, "header",
				arena_printf(&arena, "%0*lld", width, (long long)i + 1));
		if (!a.url)
			return error_set(err, ERR_FORMAT, "no URL for part %lld of %lld",
					 (long long)i + 1, (long long)n);
		part_of.from = (size_t)(i * chunk);
		a.len = b->len - part_of.from < (size_t)chunk ? b->len - part_of.from
							      : (size_t)chunk;
		if (send_request(p, &a, &resp, err))
			return -1;
		json_put_int(part, i + 1, "partNumber");
		json_put_str(part, etag, "etag");
	}
	json_put_str(done, oid, "oid");
	return ask_json(p, json_str(action, "href"), lfs_type, done, NULL, err);
}

static int send_object(struct putting *p, const cJSON *object, struct bytes *b,
		       const char *oid, struct error *err)
{
	const cJSON *upload = json_get(object, "actions", "upload");
	const cJSON *verify = json_get(object, "actions", "verify");
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *done = cJSON_CreateObject();
	struct hub_request a = { .method = "PUT", .file = b, .len = b->len };

	if (!upload)
		return 0; /* the hub has these bytes, from any repository */
	a.url = json_str(upload, "href");
	if (!a.url)
		return error_set(err, ERR_FORMAT, "upload without a URL");
	a.more = headers_of(&arena, upload);
	if (json_str(upload, "header", "chunk_size") ? send_parts(p, upload, b, oid, err)
						     : send_request(p, &a, &resp, err))
		return -1;
	if (!verify || !json_str(verify, "href"))
		return 0;
	json_put_str(done, oid, "oid");
	json_put_int(done, (int64_t)b->len, "size");
	return ask_json(p, json_str(verify, "href"), lfs_type, done, NULL, err);
}

static int put_lfs(struct putting *p, struct bytes *b, const char *oid, struct error *err)
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
		return error_set(err, ERR_FORMAT, "the hub rejects it for LFS: %.200s",
				 got && json_str(got, "error", "message")
					 ? json_str(got, "error", "message")
					 : "no reason given");
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

static void add_line(struct buf *out, const char *key, cJSON *take_value)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, key, "key");
	json_put(doc, take_value, "value");
	json_print(out, doc);
	buf_adds(out, "\n");
}

/* The branch's commit, to p->parent; "" if it has none yet. */
static int find_parent(struct putting *p, struct error *err)
{
	cleanup_hf_page struct hf_page page = { 0 };
	cleanup_json cJSON *doc = NULL;
	const char *sha;

	p->parent[0] = 0;
	if (hf_hub_get(&page, &p->hub, &p->repo, api(p, "revision"), err))
		return err->kind == ERR_NOT_FOUND ? 0 : -1;
	if (json_parse(&doc, page.http.body.data, page.http.body.len, err))
		return -1;
	sha = json_str(doc, "sha");
	if (sha)
		snprintf(p->parent, sizeof(p->parent), "%s", sha);
	return 0;
}

/* Has the branch all files of the commit, with these contents? */
static int has_files(struct putting *p, bool *ret, struct error *err)
{
	cleanup_json cJSON *doc = cJSON_CreateObject(), *answer = NULL;
	cJSON *paths = json_list(doc, "paths");
	const cJSON *want;

	json_each(want, p->names)
		cJSON_AddItemToArray(paths, cJSON_CreateString(want->string));
	if (ask_json(p, api(p, "paths-info"), "application/json", doc, &answer, err))
		return -1;
	*ret = true;
	json_each(want, p->names) {
		const cJSON *there = json_find_const(answer, "path", want->string);
		const char *lfs = json_str(there, "lfs", "oid");

		*ret &= str_eq(lfs ? lfs : json_str(there, "oid"), want->valuestring);
	}
	return 0;
}

/* http_retry_call.is_done: has the branch moved, and does it have our files? */
static int is_committed(void *ctx, bool *ret, struct error *err)
{
	struct putting *p = ctx;
	char before[sizeof(p->parent)];

	memcpy(before, p->parent, sizeof(before));
	*ret = false;
	if (find_parent(p, err))
		return -1;
	return strcmp(before, p->parent) ? has_files(p, ret, err) : 0;
}

/* http_retry_call.prepare: build on the branch's current commit. */
static int make_commit(void *ctx, struct arena *arena, struct http_request *req,
		       struct error *err)
{
	struct putting *p = ctx;
	cJSON *head = cJSON_CreateObject();

	json_put_str(head, "Upload by kftrainer", "summary");
	json_put_str(head, "", "description");
	if (*p->parent)
		json_put_str(head, p->parent, "parentCommit");
	buf_clear(&p->body);
	add_line(&p->body, "header", head);
	buf_add(&p->body, p->commit.data, p->commit.len);
	req->body = p->body.data;
	req->body_len = p->body.len;
	return buf_check(&p->body, "a commit", err);
}

/* If others committed meanwhile, commit on top of theirs. */
static int commit(struct putting *p, struct error *err)
{
	bool done = p->lines == 0;

	for (int i = 0; !done && i < MAX_COMMITS; i++) {
		cleanup_http_response struct http_response resp = { 0 };
		struct hub_request a = { .method = "POST",
					 .url = api(p, "commit"),
					 .type = "application/x-ndjson",
					 .hub = true,
					 .is_commit = true,
					 .len = p->commit.len };

		if (!send_request(p, &a, &resp, err))
			done = true;
		else if (err->code != 412 || is_committed(p, &done, err))
			return -1;
	}
	if (!done)
		return error_wrap(err, "too many concurrent commits; try again later");
	buf_clear(&p->commit);
	cJSON_Delete(p->names);
	p->names = cJSON_CreateObject();
	p->lines = 0;
	return find_parent(p, err);
}

/* Compute the oid: SHA-256 for LFS, else Git's blob id. */
static int name_of(struct bytes *b, bool lfs, char ret[DIGEST_HEX_SIZE],
		   struct error *err)
{
	cleanup_digest struct digest *d = digest_new(lfs ? DIGEST_SHA256 : DIGEST_SHA1);
	cleanup_free void *data = xmalloc(HASH_BYTES);
	char head[64];

	if (!lfs)
		digest_add(d, head,
			   (size_t)snprintf(head, sizeof(head), "blob %zu", b->len) + 1);
	for (size_t at = 0, n; at < b->len; at += n) {
		if (stop_requested())
			return error_set(err, ERR_STOPPED, "stopped");
		if (bytes_read(b, at, data,
			       b->len - at < HASH_BYTES ? b->len - at : HASH_BYTES, &n,
			       err))
			return -1;
		digest_add(d, data, n);
	}
	digest_end_hex(d, ret);
	return 0;
}

static int add_file(struct putting *p, const char *path, struct bytes *b, bool lfs,
		    const char *oid, struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_COMMIT };
	cleanup_json cJSON *value = cJSON_CreateObject();

	json_put_str(value, path, "path");
	if (lfs) {
		json_put_str(value, "sha256", "algo");
		json_put_str(value, oid, "oid");
		json_put_int(value, (int64_t)b->len, "size");
	} else {
		if (add_base64(&text, b, MAX_COMMIT, err))
			return -1;
		json_put_str(value, (char *)text.data, "content");
		json_put_str(value, "base64", "encoding");
	}
	add_line(&p->commit, lfs ? "lfsFile" : "file", (cJSON *)STEAL(value));
	json_put_str(p->names, oid, path);
	p->lines++;
	return 0;
}

static int put_file(struct putting *p, size_t i, const cJSON *said, struct error *err)
{
	const struct put_file *f = &p->conf->files[i];
	bool lfs = str_eq(json_str(said, "uploadMode"), "lfs"), same;
	cleanup_bytes struct bytes b = { .fd = -1 };
	char oid[DIGEST_HEX_SIZE];

	if (bytes_open(&b, f, err) || name_of(&b, lfs, oid, err))
		return -1;
	same = str_eq(json_str(said, "oid"), oid);
	if (!same && lfs && put_lfs(p, &b, oid, err))
		return error_wrap(err, "%s", f->path);
	if (!same && add_file(p, json_str(said, "path"), &b, lfs, oid, err))
		return -1;
	p->conf->progress(p->conf->ctx, f->size, !same);
	p->conf->done(p->conf->ctx, i, !same);
	return p->commit.len >= COMMIT_BYTES ? commit(p, err) : 0;
}

/* The file's path in the repository: the URI's, if it is the only one. */
static const char *path_of(struct putting *p, const struct put_file *f)
{
	const char *folder = p->repo.folder;

	if (!p->conf->dir)
		return folder;
	return arena_printf(&p->arena, "%s%s%s", folder, *folder ? "/" : "", f->path);
}

/* Ask the hub about files (preupload), with name, size and their first bytes. */
static int ask_batch(struct putting *p, size_t from, size_t to, cJSON **ret,
		     struct error *err)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	cJSON *files = json_list(doc, "files");

	for (size_t i = from; i < to; i++) {
		const struct put_file *f = &p->conf->files[i];
		cleanup_bytes struct bytes b = { .fd = -1 };
		cleanup_buf struct buf sample = { .max = 2 * SAMPLE };
		cJSON *file = cJSON_CreateObject();

		cJSON_AddItemToArray(files, file);
		if (bytes_open(&b, f, err))
			return -1;
		if (add_base64(&sample, &b, SAMPLE, err))
			return -1;
		json_put_str(file, path_of(p, f), "path");
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
		const char *path = path_of(p, &p->conf->files[i]);
		const cJSON *said =
			json_find_const(json_get(answer, "files"), "path", path);

		if (!said)
			return error_set(err, ERR_FORMAT,
					 "no upload mode for %s in the hub's response",
					 path);
		if (put_file(p, i, said, err))
			return -1;
	}
	return 0;
}

static int put_all(struct putting *p, struct error *err)
{
	const struct put_conf *conf = p->conf;

	conf->started(conf->ctx, 1); /* the hub answers in the order of the files */
	if (hf_hub_open(&p->hub, &p->arena, conf->store, err) ||
	    hf_repo_parse(&p->repo, &p->arena, conf->store->uri, true, err))
		return -1;
	if (!conf->dir && !*p->repo.folder)
		return error_set(err, ERR_INVALID,
				 "%s: no file name: expected hf://ORG/NAME/PATH",
				 uri_shown(&p->arena, conf->store->uri));
	if (!p->hub.token_from)
		return error_set(
			err, ERR_DENIED,
			"%s: uploads need a token: set HF_TOKEN to one with write access",
			p->hub.host);
	p->repo_url = hf_repo_page(&p->arena, &p->hub, &p->repo);
	if (find_parent(p, err))
		return -1;
	for (size_t i = 0; i < conf->n; i += BATCH)
		if (put_batch(p, i, conf->n - i < BATCH ? conf->n : i + BATCH, err))
			return -1;
	return commit(p, err);
}

int hf_put(const struct put_conf *conf, struct error *err)
{
	struct putting p = { .conf = conf,
			     .commit.max = MAX_COMMIT,
			     .body.max = MAX_COMMIT,
			     .names = cJSON_CreateObject() };
	int rc = put_all(&p, err);

	cJSON_Delete(p.names);
	buf_release(&p.body);
	buf_release(&p.commit);
	arena_clear(&p.arena);
	return rc;
}
