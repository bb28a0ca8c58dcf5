/*
 * export_register.h - `export-model --register`: what is registered of an uploaded model.
 */
#ifndef CMD_EXPORT_REGISTER_H
#define CMD_EXPORT_REGISTER_H

#include "base/arena.h"
#include "base/opt.h"
#include "registry/registry.h"
#include "store/upload.h"

struct register_opts {
	const char *uri, *model, *version, *description;
	struct opt_strs properties; /* "NAME=VALUE" */
};

/* Check the arguments of export-model as it does before it uploads. Errors as its. */
MUST_CHECK int export_model_check(int argc, char **argv, struct error *err);

struct export_register {
	struct arena *arena; /* of what follows */
	struct registry_conf conf;
	struct registry_model model;
	struct registry_property properties[REGISTRY_MAX_PROPERTIES];
};

/*
 * Fill *ret from the options, the environment and what the initializers left, and check
 * it, before anything is uploaded to `uri`. ERR_USAGE, or as registry_check().
 */
MUST_CHECK int export_register_plan(struct export_register *ret, struct arena *arena,
				    const struct register_opts *o, const char *uri,
				    struct error *err);

/*
 * Is the version free for `what`, before that is uploaded? ERR_CONFLICT: it exists with
 * other files. 0 where the registry does not say: export_register_run() asks again.
 */
MUST_CHECK int export_register_probe(struct export_register *e,
				     const struct upload_conf *upload, const char *what,
				     struct error *err);

/* Register what was uploaded by `upload` from `what`; the arena has *ret's strings. */
MUST_CHECK int export_register_run(struct export_register *e,
				   const struct upload_conf *upload, const char *what,
				   struct registry_result *ret, struct error *err);

#endif
