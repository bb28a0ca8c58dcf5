/* export_register.c - a model's name, version and origin for a registry (export_register.h). */
#include "cmd/export_register.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/ui/env.h"
#include "cmd/ui/fetchview.h"
#include "net/uri.h"

enum {
	MANIFEST_BYTES = 64 * 1024, /* read for its first line */
	PROBE_MS = 10 * 1000,
};

/* Facts about its job that a step of a runtime is given: examples/export.yaml sets these. */
static const struct {
	const char *variable, *property;
} of_job[] = {
	{ "TRAINJOB_NAMESPACE", "trainjob.namespace" },
	{ "TRAINJOB_NAME", "trainjob.name" },
	{ "TRAINJOB_UID", "trainjob.uid" },
	{ "RUNTIME_NAME", "runtime" },
};

/* Records of what initialize-model and initialize-dataset have fetched: core/store/ledger.h. */
static const struct {
	const char *manifest, *property;
} fetched[] = {
	{ "/workspace/model/.kftrainer/manifest.jsonl", "base-model" },
	{ "/workspace/dataset/.kftrainer/manifest.jsonl", "dataset" },
};

/* Formats by the largest file's name, as Kubeflow's and Hugging Face's clients call them. */
static const struct {
	const char *suffix, *format;
} formats[] = {
	{ ".safetensors", "safetensors" },
	{ ".gguf", "gguf" },
	{ ".onnx", "onnx" },
	{ ".pt", "pytorch" },
	{ ".pth", "pytorch" },
	{ ".bin", "pytorch" },
	{ ".distcp", "pytorch" },
	{ ".keras", "keras" },
	{ ".pkl", "pickle" },
};

/* Later ones replace earlier ones of that name. */
static int add(struct export_register *e, const char *name, const char *value,
	       struct error *err)
{
	size_t i = 0;

	while (i < e->model.n_properties && !str_eq(e->properties[i].name, name))
		i++;
	if (i == REGISTRY_MAX_PROPERTIES)
		return error_set(err, ERR_LIMIT, "more than %d properties",
				 REGISTRY_MAX_PROPERTIES);
	e->properties[i] = (struct registry_property){ name, value };
	if (i == e->model.n_properties)
		e->model.n_properties++;
	return 0;
}

/* A damaged or missing manifest means that nothing is known. */
static int add_fetched(struct export_register *e, size_t which, struct error *err)
{
	cleanup_buf struct buf text = { .max = MANIFEST_BYTES };
	cleanup_json cJSON *head = NULL;
	struct error why = { 0 };
	const char *uri, *revision, *name = fetched[which].property;
	size_t at = 0;

	if ((file_read_regular(&text, fetched[which].manifest, &why) &&
	     why.kind != ERR_LIMIT) ||
	    json_parse_at(&head, (char *)text.data, text.len, &at, IGNORED))
		return 0;
	uri = json_str(head, "uri");
	revision = json_str(head, "revision");
	if (!uri)
		return 0;
	if (revision && add(e, arena_printf(e->arena, "%s.revision", name),
			    arena_strdup(e->arena, revision), err))
		return -1;
	return add(e, name, uri_shown(e->arena, uri), err);
}

static int add_all(struct export_register *e, const struct opt_strs *given,
		   struct error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(of_job); i++) {
		const char *value = env_variable(NULL, of_job[i].variable);

		if (value && add(e, of_job[i].property, value, err))
			return -1;
	}
	for (size_t i = 0; i < N_ELEMENTS(fetched); i++)
		if (add_fetched(e, i, err))
			return -1;
	for (size_t i = 0; i < given->n; i++) {
		const char *equals = strchr(given->list[i], '=');

		if (!equals)
			return error_set(err, ERR_USAGE,
					 "--property '%.60s': expected NAME=VALUE",
					 given->list[i]);
		if (add(e,
			str_slice(e->arena, given->list[i],
				  (size_t)(equals - given->list[i])),
			equals + 1, err))
			return -1;
	}
	return 0;
}

/* The last part of the destination: "bert" of s3://models/bert/ and hf://org/bert@main. */
static const char *name_of(struct arena *arena, const char *uri)
{
	const char *name = path_base(str_slice(arena, uri, str_length_before(uri, '/')));

	return str_starts(uri, "hf://") ? str_slice(arena, name, strcspn(name, "@"))
					: name;
}

int export_register_plan(struct export_register *ret, struct arena *arena,
			 const struct register_opts *o, const char *uri,
			 struct error *err)
{
	*ret = (struct export_register){
		.arena = arena,
		.conf = { .uri = o->uri,
			  .env = env_variable,
			  .user_agent = "kftrainer/" VERSION },
		.model = { .version = o->version, .description = o->description },
	};
	ret->model.name = o->model ? o->model : name_of(arena, uri);
	ret->model.uri = uri_shown(arena, uri);
	ret->model.properties = ret->properties;
	if (add_all(ret, &o->properties, err))
		return -1;
	return registry_check(&ret->conf, &ret->model, err);
}

static int read_files(struct export_register *e, const struct upload_conf *upload,
		      const char *what, struct error *err)
{
	const char *hex, *largest;

	if (upload_digest(upload, what, e->arena, &hex, &largest, err))
		return -1;
	e->model.digest = arena_printf(e->arena, "sha256:%s", hex);
	for (size_t i = 0; i < N_ELEMENTS(formats); i++)
		if (str_ends(largest, formats[i].suffix))
			e->model.format = formats[i].format;
	return 0;
}

/* The files are read only if there is a version of that name. */
int export_register_probe(struct export_register *e, const struct upload_conf *upload,
			  const char *what, struct error *err)
{
	struct registry_conf once = e->conf;

	once.tries = 1;
	once.timeout_ms = PROBE_MS;
	if (!e->model.version || !registry_probe(&once, &e->model, err) ||
	    err->kind != ERR_CONFLICT)
		return 0;
	if (read_files(e, upload, what, err))
		return -1;
	return registry_probe(&once, &e->model, err) && err->kind == ERR_CONFLICT ? -1
										  : 0;
}

int export_register_run(struct export_register *e, const struct upload_conf *upload,
			const char *what, struct registry_result *ret, struct error *err)
{
	if (read_files(e, upload, what, err))
		return -1;
	e->conf.say = upload->say;
	e->conf.ctx = upload->ctx;
	e->conf.tries = upload->tries;
	return registry_register(&e->conf, &e->model, e->arena, ret, err);
}
