/* export_spec.c - read the annotations of an export (trainer/export_spec.h). */
#include "trainer/export_spec.h"

#include <string.h>

#include "api/meta.h"
#include "base/file.h"
#include "base/str.h"
#include "trainer/authority.h"
#include "trainer/podspec.h"
#include "trainer/supervise_spec.h"
#include "trainer/trainjob.h"
#include "trainer/workspace_spec.h"

/* Texts are at most as long as registries take them: registry/registry.h. */
enum {
	MAX_URI = 500,
	MAX_NAME = 250,
	MAX_TEXT = 5000,
	MAX_PROPERTIES = 40,
	MOST_ARGS = 64
};

/* Annotations that need REGISTER_ANNOTATION, and export-model's options for them. */
static const struct {
	const char *key, *option;
	size_t max;
	bool lines;
} details[] = {
	{ REGISTER_MODEL_ANNOTATION, "--model", MAX_NAME, false },
	{ REGISTER_VERSION_ANNOTATION, "--version", MAX_NAME, false },
	{ REGISTER_DESCRIPTION_ANNOTATION, "--description", MAX_TEXT, true },
};

struct reading {
	struct export_spec *spec;
	struct arena *arena;
	const cJSON *tj, *runtime;
	size_t n;
};

static const char *find(const struct reading *r, const char *key)
{
	return tj_annotation(r->tj, r->runtime, key);
}

/* One of the schemes, ending with NULL, and a rest without credentials, in ASCII. */
static bool is_plain(const char *uri, const char *const *schemes)
{
	const char *rest = NULL;

	for (; *schemes && !rest; schemes++)
		rest = str_after(uri, *schemes);
	if (!rest || !*rest || *rest == '?' || *rest == '#' || strlen(uri) > MAX_URI)
		return false;
	for (const unsigned char *p = (const void *)uri; *p; p++)
		if (*p <= ' ' || *p >= 127 || *p == '$')
			return false;
	return strcspn(rest, "@") >= strcspn(rest, "/");
}

/* A repository's name has two parts; a bucket has one. */
static bool is_half(const char *uri)
{
	const char *rest = str_after(uri, "hf://");
	const char *slash = rest ? strchr(rest, '/') : NULL;

	if (!rest)
		return !authority_is_bucket(strstr(uri, "://") + 3);
	return !slash || slash == rest || !slash[1];
}

static bool is_text(const char *text, size_t max, bool lines)
{
	size_t len = strlen(text);

	return len && len <= max && utf8_valid(text, len) &&
	       !str_has_control(text, lines ? "\n\t" : "");
}

static void add(struct reading *r, const char *option, const char *value)
{
	const char *word = arena_printf(r->arena, "%s=%s", option, value);

	if (value && r->n < MOST_ARGS)
		r->spec->args[r->n++] = podspec_literal(r->arena, word);
}

static void add_property(struct reading *r, const char *name, const char *value)
{
	if (value && *value)
		add(r, "--property", arena_printf(r->arena, "%s=%s", name, value));
}

/* Where the job comes from. What the initializers left names revisions, too. */
static void add_origin(struct reading *r)
{
	static const char *const fetched[N_INITIALIZERS] = {
		[INIT_MODEL] = "base-model", [INIT_DATASET] = "dataset"
	};

	add_property(r, "trainjob.namespace", meta_namespace(r->tj));
	add_property(r, "trainjob.name", meta_name(r->tj));
	add_property(r, "trainjob.uid", meta_uid(r->tj));
	add_property(r, "runtime", tj_runtime_ref(r->tj).name);
	add_property(r, "commit", meta_annotation(r->tj, COMMIT_ANNOTATION));
	add_property(r, "workspace", meta_annotation(r->tj, WORKSPACE_ANNOTATION));
	for (int i = 0; i < N_INITIALIZERS; i++) {
		const char *uri = initializer_storage_uri(tj_initializer(r->tj, i));
		const char *rest = uri ? strstr(uri, "://") : NULL;

		if (rest && !strpbrk(uri, "?#") &&
		    strcspn(rest + 3, "@") >= strcspn(rest + 3, "/"))
			add_property(r, fetched[i], uri);
	}
}

static int add_properties(struct reading *r, struct error *err)
{
	const char *text = find(r, REGISTER_PROPERTIES_ANNOTATION);
	size_t n = 0;
	char **lines = str_split(r->arena, text ? text : "", '\n', &n);

	if (n > MAX_PROPERTIES || (text && strlen(text) > MAX_TEXT))
		return error_set(err, ERR_INVALID,
				 REGISTER_PROPERTIES_ANNOTATION
				 ": more than %d properties, or %d bytes",
				 MAX_PROPERTIES, MAX_TEXT);
	for (size_t i = 0; i < n; i++) {
		if (!*lines[i])
			continue;
		if (!strchr(lines[i], '=') || *lines[i] == '=' ||
		    strcspn(lines[i], "=") > MAX_NAME ||
		    !is_text(lines[i], MAX_TEXT, false))
			return error_set(
				err, ERR_INVALID,
				REGISTER_PROPERTIES_ANNOTATION
				": expected NAME=VALUE in each line, with a name "
				"of at most %d bytes",
				MAX_NAME);
		add(r, "--property", lines[i]);
	}
	return 0;
}

/* An annotation of the TrainJob's own without the one that it is for. */
static int refuse_alone(const struct reading *r, const char *key, const char *of,
			struct error *err)
{
	if (!meta_annotation(r->tj, key))
		return 0;
	return error_set(err, ERR_INVALID, "%s: requires %s", key, of);
}

static int read_details(struct reading *r, struct error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(details); i++) {
		const char *value = find(r, details[i].key);

		if (value && !is_text(value, details[i].max, details[i].lines))
			return error_set(err, ERR_INVALID,
					 "%s: expected 1 to %zu bytes of UTF-8%s",
					 details[i].key, details[i].max,
					 details[i].lines ? "" : ", in one line");
		add(r, details[i].option, value);
	}
	return 0;
}

/* Check names by MLflow's rules. A model's default name is the last part of the URI. */
static int check_mlflow(const struct reading *r, struct error *err)
{
	const char *model = find(r, REGISTER_MODEL_ANNOTATION), *uri = r->spec->uri;
	const char *version = find(r, REGISTER_VERSION_ANNOTATION);

	if (!model && uri)
		model = path_base(str_slice(r->arena, uri, str_length_before(uri, '/')));
	if (!(model && strpbrk(model, "'/:")) && !(version && strchr(version, '\'')))
		return 0;
	return error_set(err, ERR_INVALID,
			 "%s: MLflow takes no model's name with a quote, '/' or ':', and "
			 "no version with a quote",
			 model && strpbrk(model, "'/:") ? REGISTER_MODEL_ANNOTATION
							: REGISTER_VERSION_ANNOTATION);
}

static int read_register(struct reading *r, struct error *err)
{
	static const char *const schemes[] = { "model-registry://",
					       "model-registry+http://",
					       "mlflow+https://", "mlflow+http://",
					       NULL };
	const char *uri = find(r, REGISTER_ANNOTATION);

	for (size_t i = 0; i < N_ELEMENTS(details) && !uri; i++)
		if (refuse_alone(r, details[i].key, REGISTER_ANNOTATION, err))
			return -1;
	if (!uri)
		return refuse_alone(r, REGISTER_PROPERTIES_ANNOTATION,
				    REGISTER_ANNOTATION, err);
	if (!is_plain(uri, schemes) || strpbrk(uri, "?#") ||
	    !authority_is_server(strstr(uri, "://") + 3))
		return error_set(
			err, ERR_INVALID,
			REGISTER_ANNOTATION
			": expected model-registry://HOST or mlflow+https://HOST "
			"(or model-registry+http, mlflow+http), without "
			"credentials");
	if (read_details(r, err) || (str_starts(uri, "mlflow") && check_mlflow(r, err)))
		return -1;
	add(r, "--register", uri);
	add_origin(r);
	return add_properties(r, err);
}

/* A job in development has no end at which something could be exported. */
static const char *uri_of(const struct reading *r)
{
	return meta_annotation(r->tj, DEV_ANNOTATION)
		       ? meta_annotation(r->tj, EXPORT_ANNOTATION)
		       : find(r, EXPORT_ANNOTATION);
}

int export_spec_of(struct export_spec *ret, struct arena *arena, const cJSON *tj,
		   const cJSON *template_annotations, struct error *err)
{
	static const char *const schemes[] = { "s3://", "gs://", "hf://", NULL };
	struct reading r = { ret, arena, tj, template_annotations, 0 };

	*ret = (struct export_spec){
		.uri = uri_of(&r),
		.secret = find(&r, EXPORT_SECRET_ANNOTATION),
		.args = arena_alloc(arena, (MOST_ARGS + 1) * sizeof(*ret->args)),
	};
	if (ret->uri && (!is_plain(ret->uri, schemes) || is_half(ret->uri)))
		return error_set(err, ERR_INVALID,
				 EXPORT_ANNOTATION
				 ": expected s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or "
				 "hf://ORG/NAME, without credentials, in ASCII without "
				 "spaces and $");
	if (!ret->uri && refuse_alone(&r, REGISTER_ANNOTATION, EXPORT_ANNOTATION, err))
		return -1;
	if (ret->uri && meta_annotation(tj, DEV_ANNOTATION))
		return error_set(err, ERR_INVALID,
				 EXPORT_ANNOTATION
				 ": a job in development exports nothing");
	if (read_register(&r, err))
		return -1;
	ret->args[r.n] = NULL;
	return 0;
}
