/* A quantity's canonical text is that quantity again; sums do not depend on the order. */
#include <string.h>

#include "api/quantity.h"
#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"

static bool read_one(struct quantity *ret, const char *text)
{
	struct error err = { 0 };

	if (quantity_parse(ret, text, &err)) {
		FUZZ_CHECK(err.kind == ERR_INVALID && err.msg[0]);
		return false;
	}
	return true;
}

static void check_round_trip(const struct quantity *q)
{
	char text[QUANTITY_TEXT_SIZE], again[QUANTITY_TEXT_SIZE];
	struct quantity twice = { 0 };

	quantity_text(q, text);
	FUZZ_CHECK(read_one(&twice, text));
	/* BinarySI beyond 2^63-1, as sums can be, is capped when read. */
	if (quantity_cmp(q, &twice)) {
		FUZZ_CHECK(q->format == QUANTITY_BINARY_SI);
		return;
	}
	if (q->format == twice.format) /* a BinarySI without suffix reads as decimal */
		FUZZ_CHECK(!strcmp(text, quantity_text(&twice, again)));
}

/* Two quantities, one a line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	const char *input = arena_printf(&arena, "%.*s", (int)size, (const char *)data);
	char *first = arena_strdup(&arena, input);
	const char *second = strchr(input, '\n');
	struct quantity a, b, ab, ba;

	first[strcspn(first, "\n")] = 0;
	if (!read_one(&a, first))
		return 0;
	check_round_trip(&a);
	if (!second || !read_one(&b, second + 1))
		return 0;
	ab = a;
	ba = b;
	quantity_add(&ab, &b);
	quantity_add(&ba, &a);
	FUZZ_CHECK(!quantity_cmp(&ab, &ba));
	check_round_trip(&ab);
	quantity_mul(&ab, quantity_ceil(&b));
	check_round_trip(&ab);
	FUZZ_CHECK((quantity_ceil(&a) > 0) == (a.nano > 0));
	return 0;
}
