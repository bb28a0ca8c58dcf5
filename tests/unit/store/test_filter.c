/* Patterns: which files of a place are fetched. */

#include "base/cleanup.h"
#include "base/str.h"
#include "store/filter.h"
#include "tests/unit/unit.h"

TEST(test_fnmatch)
{
	static const struct {
		const char *pattern, *name;
		bool fits;
	} rows[] = {
		{ "*.bin", "a.bin", true },
		{ "*.bin", "deep/er/a.bin", true },
		{ "*.bin", "a.BIN", false },
		{ "*.bin", "a.bin2", false },
		{ "*.bin", ".bin", true },
		{ "data/*", "data/a/b", true },
		{ "data/*", "data", false },
		{ "a?c", "abc", true },
		{ "a?c", "a/c", true },
		{ "a?c", "ac", false },
		{ "?", "\xc3\xa9", true },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]x", "dx", true },
		{ "[!a-c]x", "ax", false },
		{ "[]]x", "]x", true },
		{ "[!]]x", "ax", true },
		{ "[a", "[a", true },
		{ "[a", "a", false },
		{ "[-a]", "-", true },
		{ "[a-]", "-", true },
		{ "*a*b*c", "xxaxxbxxbc", true },
		{ "*a*b*c", "xxaxxcxxb", false },
		{ "**", "x", true },
		{ "*", "", true },
		{ "", "", true },
		{ "", "a", false },
		{ "a\\*", "a\\b", true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (filter_fnmatch(rows[i].pattern, rows[i].name) != rows[i].fits)
			fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].name);
}

TEST(test_filter)
{
	cleanup_arena struct arena a = { 0 };
	struct filter f = { .allow = filter_list(&a, FILTER_MODEL_ALLOW),
			    .ignore = filter_list(&a, " *.h5 ,, old/ ,") };

	assert_true(filter_wants(&f, "x/config.json", false));
	assert_true(filter_wants(&f, "chat_template.jinja", false));
	assert_true(filter_wants(&f, "qwen.tiktoken", false));
	assert_false(filter_wants(&f, "modeling_x.py", false));
	assert_false(filter_wants(&f, "pytorch_model.bin", false));
	assert_false(filter_wants(&f, "old/a/config.json", false));
	assert_null(filter_list(&a, ""));
	assert_null(filter_list(&a, NULL));
	assert_null(filter_list(&a, " , "));
	f.allow = NULL;
	assert_true(filter_wants(&f, "x.bin", false));
	assert_false(filter_wants(&f, "x.h5", false));
}

TEST(test_defaults_leave_out_nothing_that_was_named)
{
	cleanup_arena struct arena a = { 0 };
	struct filter f = { .allow = filter_list(&a, FILTER_MODEL_ALLOW),
			    .ignore = filter_list(&a, FILTER_MODEL_IGNORE) };

	assert_false(filter_wants(&f, "a/x.bin", false));
	assert_true(filter_wants(&f, "a/x.bin", true));
	f.ignore_given = true;
	assert_false(filter_wants(&f, "a/x.bin", true));
	assert_true(filter_wants(&f, "a/x.zip", true));
	f.allow_given = true;
	assert_false(filter_wants(&f, "a/x.zip", true));
}

/* Rows: what is there, who gave the patterns, the formats kept, how much is left out. */
TEST(test_a_model_keeps_its_weights)
{
	static const struct {
		const char *names;
		bool allow_given, ignore_given;
		const char *fallback;
		size_t left;
	} rows[] = {
		{ "config.json,model.safetensors,model.bin", false, false, NULL, 1 },
		{ "config.json,model.bin,tf.h5", false, false, "*.bin", 2 },
		{ "config.json,tf.h5,flax.msgpack", false, false, "*.h5", 2 },
		{ "config.json,model.onnx", false, false, "*.onnx", 1 },
		{ "config.json,README.md", false, false, NULL, 1 },
		{ "config.json,model.bin", false, true, NULL, 0 },
		{ "config.json,model.bin", true, false, NULL, 0 },
		{ "config.json,model.gguf", true, true, NULL, 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		struct filter f = { .allow = filter_list(&a, FILTER_MODEL_ALLOW),
				    .ignore = filter_list(&a, FILTER_MODEL_IGNORE),
				    .allow_given = rows[i].allow_given,
				    .ignore_given = rows[i].ignore_given,
				    .has_weights = true };
		struct filter_stats look = { .filter = &f };
		char **names = str_split(&a, rows[i].names, ',', NULL);

		for (size_t k = 0; names[k]; k++)
			filter_apply(&look, names[k], false);
		print_message("# %s\n", rows[i].names);
		f.fallback = filter_fallback(&look);
		assert_int_equal(look.n, rows[i].left);
		if (rows[i].fallback)
			assert_string_equal(f.fallback[0], rows[i].fallback);
		else
			assert_null(f.fallback);
		filter_stats_release(&look);
	}
}

RUN_TESTS(NULL, NULL)
