#include "base/nearest.h"
#include "base/opt.h"
#include "base/str.h"
#include "tests/unit/base/base_test.h"

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_YAML };

struct values {
	bool all, verbose;
	int64_t nodes, wait;
	const char *ns;
	struct opt_strs env;
	enum format format;
	char **command;
};

static const char *const formats[] = { "table", "json", "yaml", NULL };

static const struct opt opts[] = {
	OPT_BOOL('A', "all-namespaces", "in every namespace", struct values, all),
	OPT_BOOL('v', "verbose", "say more", struct values, verbose),
	OPT_INT(0, "nodes", "N", "how many nodes", struct values, nodes, 1, 1000),
	OPT_STR('n', "namespace", "NS", "where the TrainJob is", struct values, ns),
	OPT_STRS('e', "env", "NAME=VALUE",
		 "one more environment variable for the training process; "
		 "may be repeated, and the last of a name counts",
		 struct values, env),
	OPT_DURATION(0, "wait", "TIME", "how long to wait", struct values, wait, 0,
		     3600000),
	OPT_ENUM('o', "output", "FORMAT", "how to print", struct values, format, formats),
	OPT_REST("COMMAND...", "what to run", struct values, command),
	{ .type = OPT_END },
};

/* One text of everything that came of it, or the message. */
static char *outcome(struct arena *a, const char *args, const struct opt *table)
{
	struct values v = { .nodes = -1, .wait = -1 };
	struct error err = { 0 };
	size_t n = 0;
	char **list = str_split(a, args, ' ', &n), *text;
	int argc = (int)n;

	if (opt_parse(table, &v, &argc, &list, &err)) {
		assert_int_equal(err.kind, ERR_USAGE);
		text = arena_strdup(a, err.msg);
	} else {
		assert_null(list[argc]);
		text = arena_printf(
			a, "%s%s nodes=%d ns=%s env=%s wait=%d o=%d pos=%s rest=%s",
			v.all ? "A" : "", v.verbose ? "v" : "", (int)v.nodes,
			v.ns ? v.ns : "", v.env.n ? str_join(a, v.env.list, "|") : "",
			(int)v.wait, (int)v.format,
			str_join(a, (const char *const *)list, "|"),
			v.command ? str_join(a, (const char *const *)v.command, "|")
				  : "-");
	}
	opt_release(table, &v);
	return text;
}

#define OUT(flags, nodes, ns, env, wait, o, pos, rest)                                \
	flags " nodes=" nodes " ns=" ns " env=" env " wait=" wait " o=" o " pos=" pos \
	      " rest=" rest

TEST(test_forms)
{
	static const struct {
		const char *args, *want;
	} rows[] = {
		{ "x", OUT("", "-1", "", "", "-1", "0", "", "-") },
		{ "x -A -v", OUT("Av", "-1", "", "", "-1", "0", "", "-") },
		{ "x -vA", OUT("Av", "-1", "", "", "-1", "0", "", "-") },
		{ "x --nodes 2", OUT("", "2", "", "", "-1", "0", "", "-") },
		{ "x --nodes=2", OUT("", "2", "", "", "-1", "0", "", "-") },
		{ "x --nodes=2 --nodes 3", OUT("", "3", "", "", "-1", "0", "", "-") },
		{ "x -n a", OUT("", "-1", "a", "", "-1", "0", "", "-") },
		{ "x -na", OUT("", "-1", "a", "", "-1", "0", "", "-") },
		{ "x -n=a", OUT("", "-1", "a", "", "-1", "0", "", "-") },
		{ "x -Ana -v", OUT("Av", "-1", "a", "", "-1", "0", "", "-") },
		{ "x --namespace=", OUT("", "-1", "", "", "-1", "0", "", "-") },
		{ "x --namespace=a=b", OUT("", "-1", "a=b", "", "-1", "0", "", "-") },
		{ "x -n -v", OUT("", "-1", "-v", "", "-1", "0", "", "-") },
		{ "x -eA=1 --env B=2 -e C",
		  OUT("", "-1", "", "A=1|B=2|C", "-1", "0", "", "-") },
		{ "x --wait 1m30s", OUT("", "-1", "", "", "90000", "0", "", "-") },
		{ "x -o yaml", OUT("", "-1", "", "", "-1", "2", "", "-") },
		{ "x a -A b --nodes 4 c",
		  OUT("A", "4", "", "", "-1", "0", "a|b|c", "-") },
		{ "x -", OUT("", "-1", "", "", "-1", "0", "-", "-") },
		{ "x a -- -A b", OUT("", "-1", "", "", "-1", "0", "a", "-A|b") },
		{ "x --", OUT("", "-1", "", "", "-1", "0", "", "") },
		{ "x -- a -- b", OUT("", "-1", "", "", "-1", "0", "", "a|--|b") },
		{ "x -n --", OUT("", "-1", "--", "", "-1", "0", "", "-") },
	};
	cleanup_arena struct arena a = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_text(rows[i].args, outcome(&a, rows[i].args, opts), rows[i].want);
}

TEST(test_without_a_rest_dashes_only_end_options)
{
	cleanup_arena struct arena a = { 0 };

	assert_string_equal(outcome(&a, "x a -- -A b", opts + 8),
			    OUT("", "-1", "", "", "-1", "0", "a|-A|b", "-"));
}

TEST(test_messages)
{
	static const struct {
		const char *args, *want;
	} rows[] = {
		{ "x --namespce a",
		  "unknown option '--namespce'; did you mean '--namespace'?" },
		{ "x --xyzzy=1", "unknown option '--xyzzy'" },
		{ "x -q", "unknown option '-q'" },
		{ "x -vq", "unknown option '-q'" },
		{ "x --num-nodes 2",
		  "unknown option '--num-nodes'; did you mean '--nodes'?" },
		{ "x a.py --lr 1",
		  "unknown option '--lr'; a command's own options go after '--'" },
		{ "x a.py --out b", "unknown option '--out'; did you mean '--output'? "
				    "a command's own options go after '--'" },
		{ "x ls -l",
		  "unknown option '-l'; a command's own options go after '--'" },
		{ "x -nodes 2", "unknown option '-nodes'; did you mean '--nodes'?" },
		{ "x -nodes=2", "unknown option '-nodes'; did you mean '--nodes'?" },
		{ "x \xe2\x80\x94nodes 2",
		  "'\xe2\x80\x94nodes' does not begin with '-', but "
		  "with another dash: type it anew" },
		{ "x \xe2\x80\x93n a", "'\xe2\x80\x93n' does not begin with '-', but "
				       "with another dash: type it anew" },
		{ "x --nodes", "--nodes needs a value (N)" },
		{ "x -n", "-n needs a value (NS)" },
		{ "x --verbose=1", "--verbose takes no value" },
		{ "x --nodes two", "--nodes: 'two' is not a whole number" },
		{ "x --nodes 0", "--nodes: 0 is not between 1 and 1000" },
		{ "x --wait 90",
		  "--wait: '90' is not a duration like 90s or 1h30m: units "
		  "are d, h, m, s and ms" },
		{ "x --wait 2h", "--wait: 2h is not between 0s and 1h0m0s" },
		{ "x -o xml", "--output: 'xml' is not one of table, json, yaml" },
	};
	cleanup_arena struct arena a = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_text(rows[i].args, outcome(&a, rows[i].args, opts), rows[i].want);
}

TEST(test_help_fits_the_terminal)
{
	cleanup_buf struct buf out = { .max = 10000 };

	opt_help(&out, opts);
	assert_string_equal(
		out.data,
		"  -A, --all-namespaces        in every namespace\n"
		"  -v, --verbose               say more\n"
		"      --nodes N               how many nodes\n"
		"  -n, --namespace NS          where the TrainJob is\n"
		"  -e, --env NAME=VALUE        one more environment variable for the training\n"
		"                              process; may be repeated, and the last of a name\n"
		"                              counts\n"
		"      --wait TIME             how long to wait\n"
		"  -o, --output FORMAT         how to print (table, json, yaml)\n"
		"  -- COMMAND...               what to run\n");
}

TEST(test_nearest_word)
{
	static const char *const words[] = {
		"numNodes", "numProcPerNode", "command", "args", "env", "image", NULL
	};
	static const struct {
		const char *word, *want;
	} rows[] = {
		{ "numNode", "numNodes" },
		{ "numnodes", "numNodes" },
		{ "nmuNodes", "numNodes" },
		{ "nodes", NULL },
		{ "numProcsPerNode", "numProcPerNode" },
		{ "comand", "command" },
		{ "commandd", "command" },
		{ "arg", "args" },
		{ "envs", "env" },
		{ "imag", "image" },
		{ "Image", "image" },
		{ "x", NULL },
		{ "", NULL },
		{ "replicas", NULL },
		{ "urge", NULL },
		{ "com", "command" },
		{ "co", NULL },
		{ "job_image", "image" },
		{ "job-args", "args" },
		{ "jobargs", NULL },
	};
	char too_long[200];

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_text(rows[i].word, nearest_word(rows[i].word, words), rows[i].want);
	memset(too_long, 'a', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = 0;
	assert_null(nearest_word(too_long, words));
	assert_null(nearest_word("env", (const char *const[]){ too_long, NULL }));
}

TEST(test_nearest_hint)
{
	static const char *const words[] = { "logs", "list", NULL };
	cleanup_arena struct arena arena = { 0 };

	assert_string_equal(nearest_hint(&arena, "lgos", words),
			    "; did you mean 'logs'?");
	assert_string_equal(nearest_hint(&arena, "submit", words), "");
	assert_string_equal(nearest_hint(&arena, "", words), "");
	assert_string_equal(nearest_did_you_mean(&arena, "--all"),
			    "did you mean '--all'?");
}

/* --dry-run as upstream's tools have it: a value is optional, and never the next word. */
TEST(test_a_value_left_out)
{
	static const struct opt table[] = {
		{ .type = OPT_ENUM,
		  .letter = 'd',
		  .name = "dry-run",
		  .value = "HOW",
		  .help = "print only",
		  .bare = "json",
		  .offset = offsetof(struct values, format),
		  .words = formats },
		{ .type = OPT_END },
	};
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf out = { .max = 1000 };

	assert_string_equal(outcome(&a, "x --dry-run yaml", table),
			    OUT("", "-1", "", "", "-1", "1", "yaml", "-"));
	assert_string_equal(outcome(&a, "x --dry-run=yaml", table),
			    OUT("", "-1", "", "", "-1", "2", "", "-"));
	assert_string_equal(outcome(&a, "x --dry-run=xml", table),
			    "--dry-run: 'xml' is not one of table, json, yaml");
	opt_help(&out, table);
	assert_non_null(strstr((char *)out.data, "--dry-run[=HOW]"));
}

TEST(test_help_of_a_long_name)
{
	static const struct opt table[] = {
		OPT_STR(0, "a-name-of-many-words", "WITH-A-VALUE", "what it is",
			struct values, ns),
		{ .type = OPT_END },
	};
	cleanup_buf struct buf out = { .max = 1000 };

	opt_help(&out, table);
	assert_string_equal(out.data, "      --a-name-of-many-words WITH-A-VALUE\n"
				      "                              what it is\n");
}

RUN_TESTS(NULL, NULL)
