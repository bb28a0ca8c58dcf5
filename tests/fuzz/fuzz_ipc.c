/*
 * A record batch from a peer: an error, or rows that lie within its body and that can be
 * cut anywhere, written again and read back.
 */
#include <string.h>

#include "arrow/ipc.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_ROWS = 1000, SLACK = 8 };

static struct field members[] = {
	{ .name = (char *)"flag", .kind = ARROW_BOOL, .nullable = true, .id = -1 },
	{ .name = (char *)"bytes", .kind = ARROW_BINARY, .id = -1 },
};
static struct field element = { .name = (char *)"element",
				.kind = ARROW_STRUCT,
				.id = 3,
				.children = members,
				.n_children = 2 };
static struct field pair[] = {
	{ .name = (char *)"key", .kind = ARROW_STRING, .id = -1 },
	{ .name = (char *)"value", .kind = ARROW_DECIMAL, .width = 16, .id = -1 },
};
static struct field entries = { .name = (char *)"entries",
				.kind = ARROW_STRUCT,
				.id = -1,
				.children = pair,
				.n_children = 2 };
static const struct field fields[] = {
	{ .name = (char *)"n", .kind = ARROW_INT64, .width = 8, .id = 1 },
	{ .name = (char *)"list",
	  .kind = ARROW_LIST,
	  .children = &element,
	  .n_children = 1 },
	{ .name = (char *)"map",
	  .kind = ARROW_MAP,
	  .children = &entries,
	  .n_children = 1 },
	{ .name = (char *)"null", .kind = ARROW_NULL, .id = -1 },
};
enum { N = N_ELEMENTS(fields) };

/* Written, it is what its plan says and can be read again. */
static void check_rows(const struct batch *b, int64_t first, int64_t n,
		       struct ipc_form form)
{
	cleanup_ipc_plan struct ipc_plan p = { 0 };
	cleanup_ipc_view struct batch again = { 0 };
	struct error err = { 0 };
	uint8_t *body;

	ipc_plan(&p, b, first, n, form);
	body = xmalloc(p.body + SLACK);
	ipc_body(&p, body);
	FUZZ_CHECK(!ipc_view(&again, fields, N,
			     (struct ipc_message){ { p.metadata.data, p.metadata.len },
						   { body, p.body } },
			     form, &err));
	FUZZ_CHECK(again.n == n && again.n_columns == N);
	ipc_view_release(&again);
	free(body);
}

/* Of any bytes: an error, or fields that can be written again. */
static void check_schema(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf out = { .max = SIZE_MAX / 2 };
	struct field *list;
	struct ipc_form form;
	struct error err = { 0 };
	size_t n;

	if (ipc_schema_read(&list, &n, &form, (struct bytes){ data, size }, &arena, &err))
		return;
	ipc_schema(&out, list, n, form);
	FUZZ_CHECK(ipc_is_schema((struct bytes){ out.data, out.len }));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ipc_form form = { .iceberg = size && data[0] & 1 };
	cleanup_ipc_view struct batch b = { 0 };
	struct error err = { 0 };
	cleanup_free uint8_t *metadata = NULL, *body = NULL;
	size_t n;

	check_schema(data, size);
	if (size < 3)
		return 0;
	n = (size_t)data[1] << 8 | data[2];
	data += 3;
	size -= 3;
	n = n < size ? n : size;
	metadata = xmalloc(n + 1);
	memcpy(metadata, data, n);
	body = xcalloc(size - n + SLACK, 1);
	memcpy(body, data + n, size - n);
	if (ipc_view(&b, fields, N,
		     (struct ipc_message){ { metadata, n }, { body, size - n } }, form,
		     &err))
		return 0;
	if (b.n > MAX_ROWS)
		return 0;
	check_rows(&b, 0, b.n, form);
	if (b.n > 2)
		check_rows(&b, 1, b.n - 2, form);
	return 0;
}
