/* The metadata alone, and a page's header: an error or a schema within its limits. */
#include "arrow/footer.h"
#include "arrow/schema.h"
#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"

enum { MEMORY = 16 << 20 };

static void check_field(const struct schema *s, const struct field *f)
{
	FUZZ_CHECK(f->name && f->def_around <= f->def);
	FUZZ_CHECK(f->first_leaf + f->n_leaves <= s->n_leaves && f->n_leaves > 0);
	FUZZ_CHECK((f->n_children > 0) == field_has_children(f));
	for (size_t i = 0; i < f->n_children; i++)
		check_field(s, &f->children[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	struct budget budget = { .limit = MEMORY };
	struct page_header header;
	struct schema schema = { 0 };
	struct footer footer;
	struct error err = { 0 };
	const uint8_t *p = data;

	if (!page_header_read(&header, &p, data + size, &err))
		FUZZ_CHECK(p > data && p <= data + size);
	if (footer_read(&footer, data, size, &budget, &arena, &err) ||
	    schema_build(&schema, &footer, &budget, &arena, &err))
		return 0;
	for (size_t i = 0; i < schema.n_fields; i++)
		check_field(&schema, &schema.fields[i]);
	FUZZ_CHECK(budget.peak <= budget.limit);
	return 0;
}
