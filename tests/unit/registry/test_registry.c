/* What a registry is asked to hold is checked before anything is uploaded (registry.h). */
#include "registry/registry.h"
#include "registry/track.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "tests/unit/net/scripted.h"
#include "tests/unit/unit.h"

static int check(const char *uri, const char *name, const char *version,
		 struct error *err)
{
	const struct registry_conf conf = { .uri = uri };
	const struct registry_model m = { .name = name, .version = version };

	return registry_check(&conf, &m, err);
}

TEST(test_uris)
{
	static const struct {
		const char *uri, *says; /* NULL: right */
	} rows[] = {
		{ "model-registry://host", NULL },
		{ "model-registry+http://host:8080", NULL },
		{ "mlflow+https://host/prefix/", NULL },
		{ "MLFLOW+http://[::1]:5000", NULL },
		{ "model-registry://", "expected model-registry://HOST" },
		{ "mlflow+https://user:secret@host", "credentials in the environment" },
		{ "mlflow+https://host?token=secret", "expected mlflow+https://HOST" },
		{ "https://host", "not a model registry" },
		{ "mlflow://host", "not a model registry" },
		{ "host:8080", "registry: " },
		{ "", "registry: " },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct error err = { 0 };
		int rc = check(rows[i].uri, "m", NULL, &err);

		assert_int_equal(rc, rows[i].says ? -1 : 0);
		if (rc && !strstr(err.msg, rows[i].says))
			fail_msg("%s: %s", rows[i].uri, err.msg);
		assert_null(strstr(err.msg, "secret"));
	}
}

TEST(test_uris_of_experiments)
{
	static const struct {
		const char *uri, *says; /* NULL: right */
	} rows[] = {
		{ "mlflow+https://host/x", NULL },
		{ "mlflow+http://host:5000/prefix/hand%20writing%2Fa/", NULL },
		{ "mlflow+https://host", "expected mlflow+https://HOST" },
		{ "mlflow+https://host/", "expected mlflow+https://HOST" },
		{ "mlflow+https:///x", "expected mlflow+https://HOST" },
		{ "mlflow+https://user:secret@host/x", "credentials in the environment" },
		{ "mlflow+https://host/x?token=secret", "expected mlflow+https://HOST" },
		{ "mlflow+https://host/%00", "%00" },
		{ "model-registry://host/x", "tracks no metrics" },
		{ "https://host/x", "not a model registry" },
		{ "/", "expected mlflow+https://HOST" },
		{ "", "expected mlflow+https://HOST" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct error err = { 0 };
		int rc = track_check(rows[i].uri, &err);

		assert_int_equal(rc, rows[i].says ? -1 : 0);
		if (rc && !strstr(err.msg, rows[i].says))
			fail_msg("%s: %s", rows[i].uri, err.msg);
		assert_null(strstr(err.msg, "secret"));
	}
}

TEST(test_names)
{
	char longest[REGISTRY_MAX_NAME + 2];

	memset(longest, 'x', sizeof(longest));
	longest[REGISTRY_MAX_NAME] = 0;
	assert_int_equal(check("mlflow+http://h", longest, longest, IGNORED), 0);
	longest[REGISTRY_MAX_NAME] = 'x';
	longest[REGISTRY_MAX_NAME + 1] = 0;
	assert_int_equal(check("mlflow+http://h", longest, NULL, IGNORED), -1);
	assert_int_equal(check("mlflow+http://h", "m", longest, IGNORED), -1);
	assert_int_equal(check("mlflow+http://h", "", NULL, IGNORED), -1);
	assert_int_equal(check("mlflow+http://h", "a\nb", NULL, IGNORED), -1);
	assert_int_equal(check("mlflow+http://h", "a\x7f", NULL, IGNORED), -1);
	assert_int_equal(check("mlflow+http://h", "\xff", NULL, IGNORED), -1);
	assert_int_equal(check("mlflow+http://h", "m", "", IGNORED), -1);
	assert_int_equal(check("mlflow+http://h", "mödel & %41", "1:2/3", IGNORED), 0);
}

TEST(test_properties)
{
	struct registry_property all[REGISTRY_MAX_PROPERTIES + 1];
	const struct registry_conf conf = { .uri = "mlflow+http://h" };
	struct registry_model m = { .name = "m", .properties = all };

	for (size_t i = 0; i < N_ELEMENTS(all); i++)
		all[i] = (struct registry_property){ "name", "" };
	m.n_properties = REGISTRY_MAX_PROPERTIES;
	assert_int_equal(registry_check(&conf, &m, IGNORED), 0);
	m.n_properties++;
	assert_int_equal(registry_check(&conf, &m, IGNORED), -1);
	m.n_properties = 1;
	all[0] = (struct registry_property){ "n", "two\nlines" };
	assert_int_equal(registry_check(&conf, &m, IGNORED), 0);
	all[0] = (struct registry_property){ "n", "\x01" };
	assert_int_equal(registry_check(&conf, &m, IGNORED), -1);
	all[0] = (struct registry_property){ "", "v" };
	assert_int_equal(registry_check(&conf, &m, IGNORED), -1);
}

/* MLflow would refuse it after the upload. */
TEST(test_a_name_that_cannot_be_found)
{
	static const struct {
		const char *uri, *name, *version;
		int want;
	} rows[] = {
		{ "mlflow+https://host", "it's", NULL, -1 },
		{ "mlflow+https://host", "a/b", NULL, -1 },
		{ "mlflow+https://host", "a:b", NULL, -1 },
		{ "model-registry://host", "a/b:c", NULL, 0 },
		{ "mlflow+http://host", "m", "o'clock", -1 },
		{ "mlflow+https://host", "\"m\" of \\x", "v1", 0 },
		{ "model-registry://host", "it's", "o'clock", 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct registry_conf conf = { .uri = rows[i].uri };
		const struct registry_model m = { .name = rows[i].name,
						  .version = rows[i].version,
						  .uri = "s3://b/m" };

		assert_int_equal(registry_check(&conf, &m, IGNORED), rows[i].want);
	}
}

/* So it would these; a metric's name is cleaned before. */
TEST(test_a_property_that_cannot_be_a_tag)
{
	static const struct {
		const char *uri, *name, *clean;
	} rows[] = {
		{ "mlflow+https://host", "a_b-c. :/d", "a_b-c. :/d" },
		{ "mlflow+https://host", "timing(s)/gen", "timing_s_/gen" },
		{ "mlflow+https://host", "a, b", "a_ b" },
		{ "mlflow+https://host", "/x//y/", "_/x/_/y/_" },
		{ "model-registry://host", "timing(s)", "timing(s)" },
		{ "https://host", "timing(s)", "timing(s)" },
	};
	char longest[REGISTRY_MAX_NAME + 1];
	struct registry_property p = { longest, "" };
	struct registry_conf conf = { .uri = "mlflow+https://host" };
	const struct registry_model m = {
		.name = "m", .uri = "s3://b/m", .properties = &p, .n_properties = 1
	};

	memset(longest, 'x', sizeof(longest));
	longest[REGISTRY_MAX_NAME] = 0;
	assert_int_equal(registry_check(&conf, &m, IGNORED), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_free char *clean = registry_clean(rows[i].uri, rows[i].name);
		bool same = str_eq(clean, rows[i].name);

		assert_string_equal(clean, rows[i].clean);
		conf.uri = rows[i].uri;
		p.name = rows[i].name;
		if (str_starts(rows[i].uri, "mlflow"))
			assert_int_equal(registry_check(&conf, &m, IGNORED),
					 same ? 0 : -1);
	}
	conf.uri = "mlflow+https://host";
	p.name = "\xc3\xa4 b";
	assert_int_equal(registry_check(&conf, &m, IGNORED), 0);
}

/* ---- the run of a job ---- */

static bool stopped(void)
{
	return true;
}

static struct track *start_track(struct scripted *s, const char *script)
{
	static const struct registry_property tag = { "trainjob.name", "digits" };
	static struct track *all[3]; /* they end with the process */
	static size_t n;
	const struct track_conf conf = {
		.registry = { .uri = scripted_url(s, "mlflow+http", "/x") },
		.key = "a/digits/1",
		.name = "digits",
		.tags = &tag,
		.n_tags = 1,
	};
	struct error err = { 0 };

	scripted_script(s, script);
	if (track_start(&all[n], &conf, &err))
		fail_msg("%s", err.msg);
	return all[n++];
}

#define NO_EXPERIMENT \
	"{'status': 404, 'body': '{\\'error_code\\': \\'RESOURCE_DOES_NOT_EXIST\\'}'"

/* Each call takes a third of the time in which an answer is expected. */
TEST(test_a_slow_server_has_its_run)
{
	const struct track_patience none = { 0 };
	char id[TRACK_ID_SIZE];
	struct scripted s;
	struct track *t;

	scripted_start(&s, NULL);
	t = start_track(
		&s,
		"[" NO_EXPERIMENT ", 'hang': 1},"
		" {'body': '{}', 'hang': 1},"
		" {'body': '{\\'experiment\\': {\\'experiment_id\\': \\'1\\'}}', 'hang': 1},"
		" {'body': '{\\'runs\\': [{\\'info\\': {\\'run_id\\': \\'abc\\',"
		" \\'status\\': \\'RUNNING\\'}}]}', 'hang': 1}]");
	assert_true(track_run(t, 3000, NULL, id));
	assert_string_equal(id, "abc");
	track_end(t, TRACK_FINISHED, &none);
	scripted_stop(&s);
}

TEST(test_a_server_that_answers_without_end)
{
	const struct track_patience none = { 0 };
	char id[TRACK_ID_SIZE];
	struct scripted s;
	struct track *t;

	scripted_start(&s, NULL);
	t = start_track(&s, "[" NO_EXPERIMENT "}, {'body': '{}'}, " NO_EXPERIMENT
			    "}, " NO_EXPERIMENT "}, {'body': '{}'}, " NO_EXPERIMENT "}]");
	assert_false(track_run(t, 100, NULL, id));
	assert_false(track_run(t, 1000 * 1000, stopped, id));
	track_end(t, TRACK_FINISHED, &none);
	scripted_stop(&s);
}

RUN_TESTS(NULL, NULL)
