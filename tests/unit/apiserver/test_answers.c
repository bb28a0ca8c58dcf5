/*
 * Each answer to what tests/cluster/apiserver.py asks: tests/unit/apiserver/answers has
 * them as they were when that test found them to be a real API server's, but without
 * webhooks. It compares with that server after each change; this finds changes at once.
 * After a change that is meant:
 *
 *     ANSWERS=tests/unit/apiserver/answers build/san/tests/unit/apiserver/test_answers
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "apiserver/apiserver.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/unit/unit.h"

#define REQUESTS "python3 tests/unit/apiserver/requests.py"
#define ANSWERS  "tests/unit/apiserver/answers"
#define LETTERS  "abcdefghijklmnopqrstuvwxyz0123456789"

static struct apiserver *server;
static cJSON *kept; /* the documents of answers, by names that requests give them */

/* ---- what differs from run to run -------------------------------------------------- */

/* In place of libc's: the time of day stands still, as the order of managers depends on it. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
	if (id != CLOCK_REALTIME)
		return (int)syscall(SYS_clock_gettime, id, ret);
	*ret = (struct timespec){ .tv_sec = 1790000000 };
	return 0;
}

static void blot(cJSON *node)
{
	static const struct {
		const char *before;
		size_t len;
	} made[] = { { "gen-", 5 }, { "Gen_", 5 }, { "UID in record (", 36 } };
	const char *key = node->string;

	if (!cJSON_IsString(node))
		return;
	for (size_t i = 0; i < N_ELEMENTS(made); i++) {
		char *at = node->valuestring;

		while ((at = strstr(at, made[i].before))) {
			at += strlen(made[i].before);
			if (strspn(at, LETTERS "-") == made[i].len)
				memset(at, 'x', made[i].len);
		}
	}
	if (str_eq(key, "uid") || str_eq(key, "resourceVersion") ||
	    (str_eq(key, "continue") && *node->valuestring) ||
	    (str_eq(key, "version") && str_eq(node->valuestring, VERSION)))
		cJSON_SetValuestring(node, "<made up>");
}

static cJSON *plain(cJSON *node)
{
	cJSON *child, *next;

	blot(node);
	for (child = node->child; child; child = next) {
		next = child->next;
		if (str_eq(child->string, "serverRelativeURL"))
			cJSON_Delete(cJSON_DetachItemViaPointer(node, child));
		else
			plain(child);
	}
	return node;
}

/* ---- requests ---------------------------------------------------------------------- */

/* Of "NAME KEY.KEY": the value there in a kept answer, percent-encoded. */
static void put_kept(struct buf *out, struct arena *a, const char *what)
{
	char **words = str_split(a, what, ' ', NULL);
	char **keys = str_split(a, words[1], '.', NULL);
	const cJSON *node = json_member(kept, words[0]);

	for (; node && *keys; keys++)
		node = json_member(node, *keys);
	for (const char *c = cJSON_IsString(node) ? node->valuestring : "absent"; *c; c++)
		if (isalnum((unsigned char)*c) || strchr("-._~", *c))
			buf_add(out, c, 1);
		else
			buf_printf(out, "%%%02X", (unsigned char)*c);
}

/* The text, with values in place of "{{NAME KEY.KEY}}". */
static void fill(struct buf *out, const char *text)
{
	cleanup_arena struct arena a = { 0 };
	const char *begin, *end;

	for (; (begin = strstr(text, "{{")); text = end + 2) {
		end = strstr(begin, "}}");
		buf_add(out, text, (size_t)(begin - text));
		put_kept(out, &a, str_slice(&a, begin + 2, (size_t)(end - begin - 2)));
	}
	buf_adds(out, text);
	buf_adds(out, "");
}

/* A client that goes once it was sent something, or was asked twice whether it is there. */
struct client {
	struct httpd_stream stream;
	struct buf text;
	int asked;
};

static int receive(struct httpd_stream *s, const void *data, size_t len)
{
	buf_add(&((struct client *)s)->text, data, len);
	return 0;
}

static bool listens(struct httpd_stream *s)
{
	struct client *c = (struct client *)s;

	return !c->text.len && !c->asked++;
}

/* The events of a watch: what there is, or with a version what came after it. */
static void put_events(cJSON *answer, const struct httpd_response *resp,
		       const char *query)
{
	struct client c = { { receive, listens },
			    { .max = 1 << 20 },
			    strstr(query, "resourceVersion=0") != NULL };
	cJSON *list = json_list(answer, "events");
	cleanup_arena struct arena a = { 0 };

	resp->stream(resp->stream_ctx, &c.stream);
	buf_adds(&c.text, "");
	for (char **line = str_split(&a, (char *)c.text.data, '\n', NULL); **line; line++)
		cJSON_AddItemToArray(list, plain(json_reread(*line)));
	buf_release(&c.text);
}

static void put_body(cJSON *answer, struct httpd_response *resp, const char *keep)
{
	cJSON *doc = NULL;

	if (json_parse(&doc, resp->body.data, resp->body.len, IGNORED)) {
		buf_adds(&resp->body, "");
		json_put_str(answer, (char *)resp->body.data, "text");
		return;
	}
	if (keep)
		json_put(kept, json_dup(doc), keep);
	json_put(answer, plain(doc), "body");
}

static cJSON *send(const cJSON *r, const struct httpd_request *req)
{
	struct httpd_response resp = { .body.max = (size_t)64 << 20 };
	cJSON *answer = cJSON_CreateObject();

	apiserver_handle(server, req, &resp);
	json_put_int(answer, resp.status, "status");
	json_put_str(answer, resp.content_type ? resp.content_type : "", "type");
	buf_adds(&resp.headers, "");
	if (resp.headers.len)
		json_put_str(answer, (char *)resp.headers.data, "headers");
	if (resp.stream)
		put_events(answer, &resp, req->query);
	else
		put_body(answer, &resp, json_str(r, "keep"));
	if (resp.release)
		resp.release(resp.stream_ctx);
	buf_release(&resp.body);
	buf_release(&resp.headers);
	return answer;
}

static cJSON *read_json(const char *text)
{
	struct error err = { 0 };
	cJSON *doc = NULL;

	if (json_parse(&doc, text, strlen(text), &err))
		fail_msg("%s: %s", text, err.msg);
	return doc;
}

static cJSON *ask_inside(const cJSON *r)
{
	cleanup_json cJSON *body = read_json(json_str(r, "body"));
	struct error err = { 0 };
	cJSON *answer = NULL;

	if (apiserver_write(server, "POST", json_str(r, "path"), body, &answer, &err))
		fail_msg("%s: %s", json_str(r, "name"), err.msg);
	return plain(answer);
}

static cJSON *ask(const cJSON *r)
{
	static const char *const names[] = { "Accept", "User-Agent", "Content-Type" };
	cleanup_buf struct buf path = { .max = 10000 }, body = { .max = 1 << 20 };
	struct httpd_header headers[N_ELEMENTS(names) + 1] = { 0 };
	const char *bytes = json_str(r, "bytes"), *text = json_str(r, "body");
	struct httpd_request req = { .method = json_str(r, "method"),
				     .query = "",
				     .peer = "",
				     .headers = headers };
	char *query;

	if (json_bool(r, false, "inside"))
		return ask_inside(r);
	fill(&path, json_str(r, "path"));
	if (bytes)
		assert_int_equal(base64_decode(&body, bytes, strlen(bytes), IGNORED), 0);
	fill(&body, text ? text : "");
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (json_str(r, "headers", names[i]))
			headers[i] =
				(struct httpd_header){ names[i],
						       json_str(r, "headers", names[i]) };
	query = strchr((char *)path.data, '?');
	if (query) {
		*query = 0;
		req.query = query + 1;
	}
	req.path = (char *)path.data;
	req.body = body.data;
	req.body_len = body.len;
	return send(r, &req);
}

/* ---- the answers ------------------------------------------------------------------- */

static void put_answers(struct buf *out)
{
	FILE *f = popen(REQUESTS, "r");
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, f) > 0) {
		cleanup_json cJSON *r = read_json(line), *answer = ask(r);

		buf_printf(out, "%s: %s\n", json_str(r, "name"), json_str(r, "method"));
		json_print(out, answer);
		buf_adds(out, "\n");
	}
	free(line);
	assert_int_equal(pclose(f), 0);
	buf_adds(out, "");
}

TEST(test_answers)
{
	const struct apiserver_conf conf = { 0 };
	cleanup_buf struct buf have = { .max = 8 << 20 }, want = { .max = 8 << 20 };
	cleanup_arena struct arena a = { 0 };
	char **now, **was;
	size_t n, n_was;
	struct error err;

	assert_int_equal(apiserver_new(&server, &conf, &err), 0);
	kept = cJSON_CreateObject();
	put_answers(&have);
	if (getenv("ANSWERS"))
		assert_int_equal(
			file_write(getenv("ANSWERS"), have.data, have.len, 0644, &err),
			0);
	assert_int_equal(file_read(&want, ANSWERS, &err), 0);
	now = str_split(&a, (char *)have.data, '\n', &n);
	was = str_split(&a, (char *)want.data, '\n', &n_was);
	for (size_t i = 1; i < n && i < n_was; i += 2)
		if (!str_eq(now[i - 1], was[i - 1]) || !str_eq(now[i], was[i]))
			fail_msg("%s\n  have: %s\n  want: %s\n  %s", now[i - 1], now[i],
				 was[i], was[i - 1]);
	assert_int_equal(n, n_was);
	cJSON_Delete(kept);
	apiserver_free(server);
}

RUN_TESTS(NULL, NULL)
