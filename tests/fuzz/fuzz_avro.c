/* An Avro file: an error, or records within the budget. */
#include "arrow/avro.h"
#include "tests/fuzz/fuzz.h"

enum { MEMORY = 16 << 20, RECORDS = 1000 };

static void check_value(const struct avro_value *v)
{
	FUZZ_CHECK(v->type && v->type->kind != AVRO_UNION);
	FUZZ_CHECK(!v->n || v->values);
	for (size_t i = 0; i < v->n; i++)
		check_value(&v->values[i]);
	for (size_t i = 0; i < v->bytes.len; i++) {
		volatile uint8_t byte = v->bytes.data[i];

		(void)byte;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct budget budget = { .limit = MEMORY };
	const struct avro_value *v = NULL;
	struct avro *a = NULL;
	struct error err = { 0 };

	if (avro_open(&a, (struct bytes){ data, size }, &budget, &err))
		return 0;
	for (int i = 0; i < RECORDS && !avro_next(a, &v, &err) && v; i++)
		check_value(v);
	avro_free(a);
	FUZZ_CHECK(budget.used == 0 && budget.peak <= budget.limit);
	return 0;
}
