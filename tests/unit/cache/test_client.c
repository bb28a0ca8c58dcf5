/* A read, call by call: endpoints in order, other locations, and the number of rows. */
#include "base/cleanup.h"
#include "base/protobuf.h"
#include "cache/client.h"
#include "cache/flight.h"
#include "cache/memtable.h"
#include "tests/unit/unit.h"

static int on_schema(void *ctx, const struct field *fields, size_t n, struct error *err)
{
	++*(int *)ctx;
	return 0;
}

static int schemas;
static const struct client_conf conf = {
	.head = "grpc://head:1", .world = 1, .on_schema = on_schema, .ctx = &schemas
};

/* A FlightInfo of n endpoints, each with two locations, and `records`. */
static struct client_reader *begin(int n, uint64_t records)
{
	cleanup_buf struct buf info = { .max = 1000 };
	struct client_reader *r = client_begin(&conf);
	struct client_call c;
	struct error err;

	for (int i = 0; i < n; i++) {
		cleanup_buf struct buf e = { .max = 100 }, one = { .max = 100 };

		for (int k = 0; k < 2; k++) {
			buf_clear(&one);
			buf_printf(&e, "%s", "");
			pb_put_str(&one, 1, k ? "grpc://b:1" : "grpc://a:1");
			pb_put_bytes(&e, 2, one.data, one.len);
		}
		pb_put_bytes(&info, 3, e.data, e.len);
	}
	pb_put_uint(&info, 4, records);
	schemas = 0;
	assert_true(client_next(r, &c));
	assert_string_equal(c.uri, "grpc://head:1");
	assert_int_equal(client_message(r, info.data, info.len, &err), 0);
	assert_int_equal(client_answered(r, 0), 0);
	return r;
}

static void schema(struct client_reader *r)
{
	static char name[] = "x";
	const struct field field = { .name = name, .kind = ARROW_INT64, .width = 8 };
	cleanup_buf struct buf message = { .max = 1000 };
	struct error err;

	memtable_schema(&message, &field, 1, (struct ipc_form){ 0 });
	assert_int_equal(client_message(r, message.data + GRPC_PREFIX,
					message.len - GRPC_PREFIX, &err),
			 0);
}

TEST(test_endpoints)
{
	struct client_reader *r = begin(2, 0);
	struct client_call c;
	struct error err;

	for (int i = 0; i < 2; i++) {
		assert_true(client_next(r, &c));
		assert_string_equal(c.uri, "grpc://a:1");
		assert_int_equal(client_answered(r, -1), 0); /* has sent nothing */
		assert_true(client_next(r, &c));
		assert_string_equal(c.uri, "grpc://b:1");
		schema(r);
		assert_int_equal(client_answered(r, 0), 0);
	}
	assert_false(client_next(r, &c));
	assert_int_equal(client_check(r, &err), 0);
	assert_int_equal(schemas, 1);
	client_end(r);
}

TEST(test_failures)
{
	struct client_reader *r = begin(1, 0);
	struct client_call c;
	struct error err;

	assert_true(client_next(r, &c));
	schema(r);
	assert_int_equal(client_answered(r, -1), -1); /* the other would repeat rows */
	client_end(r);
	r = begin(1, 0);
	assert_true(client_next(r, &c));
	assert_int_equal(client_answered(r, -1), 0);
	assert_true(client_next(r, &c));
	assert_int_equal(client_answered(r, -1), -1);
	client_end(r);
	r = begin(1, 5);
	assert_true(client_next(r, &c));
	schema(r);
	assert_int_equal(client_answered(r, 0), 0);
	assert_int_equal(client_check(r, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	client_end(r);
	r = client_begin(&conf);
	assert_true(client_next(r, &c));
	assert_int_equal(client_answered(r, -1), -1);
	client_end(r);
}

TEST(commands_say_what_a_path_cannot)
{
	static const char *const columns[] = { "id", "text" };
	cleanup_json cJSON *filter = cJSON_Parse("[[\"id\",\">\",1]]");
	const struct client_request plain = { .rank = 1, .world = 2 };
	const struct client_request all = { .rank = 1,
					    .world = 2,
					    .filter = filter,
					    .snapshot = "main",
					    .columns = columns,
					    .n_columns = 2 };
	cleanup_free char *text = client_command(&all);

	assert_null(client_command(&plain));
	assert_string_equal(text, "{\"rank\":1,\"world\":2,"
				  "\"filter\":[[\"id\",\">\",1]],"
				  "\"snapshot\":\"main\","
				  "\"columns\":[\"id\",\"text\"]}");
}

RUN_TESTS(NULL, NULL)
