#include "arrow/project.h"
#include "tests/unit/unit.h"

#define NAME(s) ((char *)(uintptr_t)(s))

static struct field text(int32_t id)
{
	return (struct field){
		.name = NAME("text"), .kind = ARROW_STRING, .nullable = true, .id = id
	};
}

/* A column is moved to the table's: a second one of its id would have no rows. */
TEST(columns_with_the_same_id_are_refused)
{
	struct field to[] = { text(1), text(2), text(1) }, from[] = { text(2), text(1) };
	struct field outer[] = { { .name = NAME("outer"),
				   .kind = ARROW_STRUCT,
				   .nullable = true,
				   .id = 9,
				   .children = to,
				   .n_children = 3 } };
	struct field inner[] = { outer[0] };
	const struct project_sides flat = {
		.to = to, .n_to = 3, .from = from, .n_from = 2
	};
	const struct project_sides nested = {
		.to = outer, .n_to = 1, .from = inner, .n_from = 1
	};
	struct project_sides sound = flat;
	struct projection *p = NULL;
	struct error err = { 0 };

	inner->children = from;
	inner->n_children = 2;
	assert_int_equal(projection_new(&p, &flat, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	assert_string_equal(err.msg, "column text: another column has its field id 1");
	err = (struct error){ 0 };
	assert_int_equal(projection_new(&p, &nested, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	sound.n_to = 2;
	assert_int_equal(projection_new(&p, &sound, &err), 0);
	assert_int_equal(projection_from(p, 0), 1);
	projection_free(p);
}

RUN_TESTS(NULL, NULL)
