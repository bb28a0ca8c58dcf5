/* Objects in protobuf against the documents that they stand for. */
#include "api/proto.h"

#include "base/protobuf.h"
#include "base/xmalloc.h"
#include "kube/kube.h"
#include "tests/unit/base/base_test.h"

/* ---- writing: api/core/v1/generated.proto ---- */

static void put_message(struct buf *out, uint32_t number, struct buf *take)
{
	pb_put_bytes(out, number, take->data ? (const void *)take->data : "", take->len);
	buf_release(take);
}

static struct buf time_of(uint64_t seconds)
{
	struct buf ret = { .max = 64 };

	pb_put_uint(&ret, 1, seconds);
	pb_put_uint(&ret, 2, 0);
	return ret;
}

static struct buf label(const char *key, const char *value)
{
	struct buf ret = { .max = 256 };

	pb_put_str(&ret, 1, key);
	pb_put_str(&ret, 2, value);
	return ret;
}

static struct buf metadata(void)
{
	struct buf ret = { .max = 4096 }, created = time_of(1000000000),
		   one = label("a/b", "1"), two = label("c", "");

	pb_put_str(&ret, 1, "p");
	pb_put_str(&ret, 2, ""); /* generateName */
	pb_put_str(&ret, 3, "ns");
	pb_put_str(&ret, 5, "u-1");
	pb_put_str(&ret, 6, "77");
	put_message(&ret, 8, &created);
	pb_put_str(&ret, 9, ""); /* deletionTimestamp: none */
	put_message(&ret, 11, &one);
	put_message(&ret, 11, &two);
	pb_put_str(&ret, 17, "\xff managedFields, not looked at");
	return ret;
}

static struct buf container(void)
{
	struct buf ret = { .max = 4096 }, state = { .max = 256 }, last = { .max = 256 },
		   ended = { .max = 256 }, at = time_of(1000000060);

	pb_put_uint(&ended, 1, (uint64_t)-9);
	pb_put_str(&ended, 3, "Error");
	put_message(&ended, 6, &at);
	put_message(&last, 3, &ended);
	pb_put_str(&ret, 1, "node");
	put_message(&ret, 2, &state);
	put_message(&ret, 3, &last);
	pb_put_uint(&ret, 4, 0);
	pb_put_uint(&ret, 5, 2);
	pb_put_uint(&ret, 9, 1);
	return ret;
}

static struct buf pod(void)
{
	struct buf ret = { .max = 8192 }, meta = metadata(), spec = { .max = 256 },
		   status = { .max = 4096 }, one = container(), two = container();

	pb_put_str(&spec, 2, "containers, not looked at");
	pb_put_str(&spec, 10, "gpu-7");
	pb_put_str(&status, 1, "Running");
	put_message(&status, 8, &one);
	put_message(&status, 8, &two);
	put_message(&ret, 1, &meta);
	put_message(&ret, 2, &spec);
	put_message(&ret, 3, &status);
	return ret;
}

static struct buf object(const char *kind, struct buf *take)
{
	struct buf ret = { .max = 16384 }, type = { .max = 256 };

	pb_put_str(&type, 1, "v1");
	pb_put_str(&type, 2, kind);
	buf_add(&ret, "k8s\0", 4);
	put_message(&ret, 1, &type);
	put_message(&ret, 2, take);
	pb_put_str(&ret, 3, "");
	return ret;
}

static struct buf event(const char *type, struct buf *take)
{
	struct buf ret = { .max = 32768 }, raw = { .max = 32768 };

	put_message(&raw, 1, take);
	pb_put_str(&ret, 1, type);
	put_message(&ret, 2, &raw);
	return ret;
}

#define CONTAINER                                                                      \
	"{\"name\":\"node\",\"state\":{},\"lastState\":{\"terminated\":{"              \
	"\"exitCode\":-9,\"reason\":\"Error\",\"finishedAt\":\"2001-09-09T01:47:40Z\"" \
	"}},\"ready\":false,\"restartCount\":2,\"started\":true}"
#define POD                                                                         \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","     \
	"\"namespace\":\"ns\",\"uid\":\"u-1\",\"resourceVersion\":\"77\","          \
	"\"creationTimestamp\":\"2001-09-09T01:46:40Z\",\"labels\":{\"a/b\":\"1\"," \
	"\"c\":\"\"}},\"spec\":{\"nodeName\":\"gpu-7\"},\"status\":{\"phase\":"     \
	"\"Running\",\"containerStatuses\":[" CONTAINER "," CONTAINER "]}}"

static void expect(const cJSON *got, const char *want)
{
	cleanup_free char *text = json_text(got);

	assert_string_equal(text, want);
}

TEST(test_pod)
{
	cleanup_json cJSON *got = NULL;
	struct buf bytes = pod();
	cleanup_buf struct buf whole = object("Pod", &bytes);
	struct error err = { 0 };

	assert_true(proto_is_object(whole.data, whole.len));
	if (proto_object(&got, whole.data, whole.len, proto_pod, &err))
		fail_msg("%s", err.msg);
	expect(got, POD);
}

TEST(test_event)
{
	cleanup_json cJSON *got = NULL;
	struct buf bytes = pod(), obj = object("Pod", &bytes);
	cleanup_buf struct buf whole = event("MODIFIED", &obj);
	struct error err = { 0 };

	if (proto_event(&got, whole.data, whole.len, proto_pod, &err))
		fail_msg("%s", err.msg);
	expect(got, "{\"type\":\"MODIFIED\",\"object\":" POD "}");
}

/* As what a watch ends with, and as the body of a refusal, when no kind was asked for. */
TEST(test_status)
{
	static const char want[] =
		"{\"apiVersion\":\"v1\",\"kind\":\"Status\",\"message\":"
		"\"too old\",\"reason\":\"Expired\",\"code\":410}";
	const struct proto_field *const fields[] = { proto_pod, NULL };
	struct buf bytes = { .max = 256 };
	struct error err = { 0 };

	pb_put_str(&bytes, 3, "too old");
	pb_put_str(&bytes, 4, "Expired");
	pb_put_uint(&bytes, 6, 410);
	cleanup_buf struct buf whole = object("Status", &bytes);
	for (size_t i = 0; i < 2; i++) {
		cleanup_json cJSON *got = NULL;

		assert_int_equal(
			proto_object(&got, whole.data, whole.len, fields[i], &err), 0);
		expect(got, want);
	}
}

/* On the heap, so that a byte too far is seen. */
static int read_copy(const void *data, size_t len, struct error *err)
{
	cleanup_json cJSON *got = NULL;
	cleanup_free uint8_t *copy = xmalloc(len + !len);

	memcpy(copy, data, len);
	*err = (struct error){ 0 };
	return proto_event(&got, copy, len, proto_pod, err);
}

TEST(truncated_events_are_refused)
{
	struct buf bytes = pod(), obj = object("Pod", &bytes);
	cleanup_buf struct buf whole = event("ADDED", &obj);
	struct error err;

	for (size_t len = 0; len < whole.len; len++) {
		assert_int_equal(read_copy(whole.data, len, &err), -1);
		assert_int_equal(err.kind, ERR_FORMAT);
	}
	assert_int_equal(read_copy(whole.data, whole.len, &err), 0);
}

/* Each byte has each value: an answer, or an error. */
TEST(test_changed)
{
	struct buf bytes = pod(), obj = object("Pod", &bytes);
	cleanup_buf struct buf whole = event("ADDED", &obj);
	size_t read = 0, refused = 0;
	struct error err;

	for (size_t at = 0; at < whole.len; at++)
		for (int bit = 0; bit < 8; bit++) {
			whole.data[at] ^= (uint8_t)(1 << bit);
			if (read_copy(whole.data, whole.len, &err)) {
				assert_int_equal(err.kind, ERR_FORMAT);
				refused++;
			} else {
				read++;
			}
			whole.data[at] ^= (uint8_t)(1 << bit);
		}
	assert_true(read > 0 && refused > 0);
}

static void refuse(struct buf *take_pod, const char *message)
{
	cleanup_buf struct buf whole = object("Pod", take_pod);
	cleanup_json cJSON *got = NULL;
	struct error err = { 0 };

	assert_int_equal(proto_object(&got, whole.data, whole.len, proto_pod, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	assert_non_null(strstr(err.msg, message));
	assert_null(got);
}

TEST(nul_in_a_string_is_replaced)
{
	struct buf meta = { .max = 64 }, all = { .max = 256 };
	cleanup_buf struct buf whole = { 0 };
	cleanup_json cJSON *got = NULL;
	struct error err = { 0 };

	pb_put_bytes(&meta, 1, "a\0b\0", 4);
	put_message(&all, 1, &meta);
	whole = object("Pod", &all);
	assert_int_equal(proto_object(&got, whole.data, whole.len, proto_pod, &err), 0);
	assert_string_equal(json_str(got, "metadata", "name"), "a\xef\xbf\xbd"
							       "b\xef\xbf\xbd");
}

TEST(test_refused)
{
	struct buf meta = { .max = 64 }, spec = { .max = 64 }, status = { .max = 64 },
		   all = { .max = 256 }, huge = { .max = 64 };

	pb_put_bytes(&meta, 1, "a\0b\xff", 4);
	put_message(&all, 1, &meta);
	refuse(&all, "invalid text");
	pb_put_str(&spec, 10, "\xc3(");
	put_message(&all, 2, &spec);
	refuse(&all, "invalid text");
	pb_put_uint(&status, 1, 7);
	put_message(&all, 3, &status);
	refuse(&all, "phase is of another type");
	pb_put_head(&huge, 3, UINT64_MAX);
	refuse(&huge, "cut short");
}

TEST(test_no_object)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = { { "", 0 }, { "k8s", 3 }, { "{\"kind\":\"Status\"}", 17 } };
	cleanup_json cJSON *got = NULL;
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		assert_false(proto_is_object(rows[i].text, rows[i].len));
		assert_int_equal(
			proto_object(&got, rows[i].text, rows[i].len, proto_pod, &err),
			-1);
	}
	assert_int_equal(proto_length((const uint8_t[]){ 0xff, 2, 3, 4 }), 0xff020304);
}

/* ---- a watch, whose server is in this process ---- */

struct watched {
	struct buf sent;
	size_t piece; /* bytes at a time */
	struct buf seen;
	int unreadable;
};

static void send_pieces(void *ctx, struct httpd_stream *s)
{
	struct watched *w = ctx;
	int rc = 0;

	for (size_t at = 0, n; at < w->sent.len && !rc; at += n) {
		n = w->sent.len - at < w->piece ? w->sent.len - at : w->piece;
		rc = httpd_send(s, w->sent.data + at, n);
	}
}

static void answer(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	const char *accept = httpd_header(req, "Accept");

	assert_true(accept && !strncmp(accept, PROTO_TYPE, strlen(PROTO_TYPE)));
	*resp = (struct httpd_response){ .status = 200,
					 .stream = send_pieces,
					 .stream_ctx = ctx };
}

static int on_event(void *ctx, const char *type, cJSON *take_obj, struct error *err)
{
	cleanup_json cJSON *obj = take_obj;
	struct watched *w = ctx;

	buf_printf(&w->seen, "%s %s;", type, json_str(obj, "metadata", "name"));
	return 0;
}

static void on_unreadable(void *ctx, const struct error *err)
{
	struct watched *w = ctx;

	w->unreadable++;
}

static void send_frame(struct buf *to, struct buf *take)
{
	const uint8_t head[PROTO_HEAD] = { 0, (uint8_t)(take->len >> 16),
					   (uint8_t)(take->len >> 8),
					   (uint8_t)take->len };

	buf_add(to, head, sizeof(head));
	buf_add(to, take->data, take->len);
	buf_release(take);
}

static void send_pod(struct buf *to, const char *type)
{
	struct buf bytes = pod(), obj = object("Pod", &bytes), whole = event(type, &obj);

	send_frame(to, &whole);
}

static void watch_in_pieces(struct watched *w, const char *want, int unreadable)
{
	const struct kube_config config = { 0 };
	const struct kube_opts how = { .user_agent = "test/1",
				       .inside = { .handle = answer, .ctx = w } };
	const struct kube_watch_opts opts = { .select.fields = proto_pod,
					      .version = "1",
					      .on_event = on_event,
					      .on_unreadable = on_unreadable,
					      .ctx = w };
	const struct kube_ref pods = { "v1", "Pod", NULL, NULL };
	struct error err = { 0 };
	struct kube *k;

	assert_int_equal(kube_new(&k, &config, &how, &err), 0);
	for (w->piece = 1; w->piece <= w->sent.len; w->piece++) {
		buf_clear(&w->seen);
		w->unreadable = 0;
		if (kube_watch(k, &pods, &opts, &err))
			fail_msg("pieces of %zu: %s", w->piece, err.msg);
		assert_int_equal(w->seen.len, strlen(want));
		assert_memory_equal(w->seen.data, want, w->seen.len);
		assert_int_equal(w->unreadable, unreadable);
	}
	kube_free(k);
	buf_release(&w->sent);
	buf_release(&w->seen);
}

TEST(test_frames)
{
	struct watched w = { .sent.max = 65536, .seen.max = 4096 };
	struct buf odd = { .max = 16 }, none = { .max = 16 };

	send_pod(&w.sent, "ADDED");
	buf_add(&odd, "\x0a\x7f", 2);
	send_frame(&w.sent, &odd);
	buf_add(&none, "", 0);
	send_frame(&w.sent, &none);
	send_pod(&w.sent, "DELETED");
	watch_in_pieces(&w, "ADDED p;DELETED p;", 2);
}

TEST(test_lines)
{
	struct watched w = { .sent.max = 65536, .seen.max = 4096 };

	buf_printf(
		&w.sent,
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"
		"{\n{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n");
	watch_in_pieces(&w, "ADDED a;DELETED b;", 1);
}

RUN_TESTS(NULL, NULL)
