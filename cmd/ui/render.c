/* render.c - print objects in the format that -o names (cmd/ui/render.h). */
#include "cmd/ui/render.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "cmd/cmd.h"

const char *const render_formats[] = { "yaml", "json", "table", "name", NULL };

static void print_table(const cJSON *items)
{
	cleanup_out_table struct out_table table = { .columns = 4 };
	const cJSON *obj;

	OUT_ROW(&table, "APIVERSION", "KIND", "NAMESPACE", "NAME");
	json_each(obj, items) {
		const char *ns = meta_namespace(obj);

		OUT_ROW(&table, meta_api_version(obj), meta_kind(obj), ns ? ns : "",
			meta_name(obj));
	}
	out_table(&table);
}

int render_objects(const cJSON *items, const cJSON *doc, const char *format,
		   struct error *err)
{
	const cJSON *obj;

	switch (out_format(format)) {
	case OUT_TABLE:
		print_table(items);
		return 0;
	case OUT_NAME:
		json_each(obj, items)
			out_name(meta_api_version(obj), meta_kind(obj), meta_name(obj));
		return 0;
	default:
		return out_doc(out_format(format), doc, err);
	}
}

int render_jobs(struct job_set *set, const char *format, struct error *err)
{
	cJSON *items = cJSON_CreateArray();
	cleanup_json cJSON *list = out_list(items);
	const cJSON *obj;

	for (size_t i = 0; i < set->n; i++)
		while ((obj = set->list[i].objects->child))
			cJSON_AddItemToArray(
				items, cJSON_DetachItemViaPointer(set->list[i].objects,
								  (cJSON *)obj));
	return render_objects(items, list, format, err);
}
