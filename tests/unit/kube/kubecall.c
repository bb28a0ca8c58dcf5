/*
 * kubecall.c - calls of core/kube, one a run, for tests/cluster/test_client.sh.
 *
 *   kubecall get|delete APIVERSION KIND NAMESPACE NAME
 *   kubecall create|update|apply|dry-run < OBJECT
 *   kubecall list APIVERSION KIND NAMESPACE PAGE [FIELD_SELECTOR]: the names
 *   kubecall call METHOD PATH
 *
 * The server is that of the environment (kube_config_load). "" stands for absent. A
 * failure is told as "KIND CODE MESSAGE" and exit status 1.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kube/kube.h"

static const char *none_if_empty(const char *s)
{
	return s && *s ? s : NULL;
}

static int print_name(void *ctx, cJSON *take_obj, struct error *err)
{
	puts(json_str(take_obj, "metadata", "name"));
	cJSON_Delete(take_obj);
	return 0;
}

static int write_object(struct kube *k, const char *verb, cJSON **ret, struct error *err)
{
	cleanup_buf struct buf text = { .max = 1024 * 1024 };
	cleanup_json cJSON *obj = NULL, *warnings = NULL;
	struct kube_write how = { .manager = "kubecall", .ret_warnings = &warnings };
	const cJSON *w;
	int rc;

	if (file_read_fd(&text, STDIN_FILENO, "stdin", err) ||
	    json_parse(&obj, text.data, text.len, err))
		return -1;
	if (!strcmp(verb, "update")) {
		rc = kube_update(k, obj, &how, ret, err);
	} else if (!strcmp(verb, "apply")) {
		how.force = true;
		rc = kube_apply(k, obj, &how, ret, err);
	} else {
		how.dry_run = !strcmp(verb, "dry-run");
		rc = kube_create(k, obj, &how, ret, err);
	}
	json_each(w, warnings)
		printf("warning: %s\n", w->valuestring);
	return rc;
}

static int call(struct kube *k, char **argv, cJSON **ret, struct error *err)
{
	struct kube_ref ref = { 0 };
	struct kube_select select = { 0 };
	struct kube_sink sink = { .on_item = print_name };

	if (str_in(argv[1],
		   (const char *const[]){ "create", "update", "apply", "dry-run", NULL }))
		return write_object(k, argv[1], ret, err);
	if (!argv[2] || !argv[3])
		return error_set(err, ERR_USAGE, "what?");
	if (!strcmp(argv[1], "call"))
		return kube_call(k, argv[2], argv[3], NULL, ret, err);
	if (!argv[4] || !argv[5])
		return error_set(err, ERR_USAGE, "what?");
	ref = (struct kube_ref){ argv[2], argv[3], none_if_empty(argv[4]),
				 none_if_empty(argv[5]) };
	if (!strcmp(argv[1], "get"))
		return kube_get(k, &ref, ret, err);
	if (!strcmp(argv[1], "delete"))
		return kube_delete(k, &ref, "Background", NULL, err);
	ref.name = NULL;
	select.page = strtol(argv[5], NULL, 10);
	select.field_selector = argv[6];
	return kube_list(k, &ref, &select, &sink, NULL, err);
}

int main(int argc, char **argv)
{
	cleanup_kube_config struct kube_config config = { 0 };
	const struct kube_opts opts = { 0 };
	cleanup_json cJSON *got = NULL;
	struct error err = { 0 };
	struct kube *k = NULL;
	int rc;

	if (argc < 2)
		return 2;
	rc = kube_config_load(&config, NULL, &err) ||
	     kube_new(&k, &config, &opts, &err) || call(k, argv, &got, &err);
	if (rc) {
		printf("%s %d %s\n", error_kind_name(err.kind), err.code, err.msg);
	} else if (got) {
		cleanup_free char *text = json_text(got);

		puts(text);
	}
	kube_free(k);
	return rc ? 1 : 0;
}
