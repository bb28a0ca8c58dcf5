/* Opens the table that a place names: dataset.h. */
#include "cache/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"

struct dataset {
	struct budget budget;
	struct places *places;
	struct table *table;
	char *location;
	struct ipc_form form;
};

int dataset_open(struct dataset **ret, const struct dataset_conf *conf, struct error *err)
{
	const struct places_conf where = { .env = conf->env, .ctx = conf->env_ctx };
	cleanup_dataset struct dataset *d = xcalloc(1, sizeof(*d));
	struct table_conf table = { .budget = &d->budget, .uris = &d->location, .n = 1 };

	d->location = xstrdup(conf->location);
	d->budget.limit = conf->memory;
	d->form.iceberg = strstr(conf->location, ".metadata.json") != NULL;
	table.places = d->places = places_new(&where);
	if (table_open(&d->table, &table, err))
		return -1;
	*ret = STEAL(d);
	return 0;
}

void dataset_free(struct dataset *d)
{
	if (!d)
		return;
	table_free(d->table);
	places_free(d->places);
	free(d->location);
	free(d);
}

const struct table *dataset_table(const struct dataset *d)
{
	return d->table;
}

struct ipc_form dataset_form(const struct dataset *d)
{
	return d->form;
}

/* Where a unit begins or ends, as near as possible to that row. */
static int64_t nearest_edge(const struct table *t, int64_t row)
{
	int64_t best = 0;

	for (size_t i = 0; i < table_units(t); i++) {
		int64_t end = table_unit(t, i).rows.end;

		if (llabs(end - row) < llabs(best - row))
			best = end;
	}
	return best;
}

struct rows dataset_part(const struct dataset *d, int64_t i, int64_t n)
{
	struct rows even = table_shard(table_rows(d->table), i, n);

	return (struct rows){ i ? nearest_edge(d->table, even.first) : 0,
			      i + 1 < n ? nearest_edge(d->table, even.end)
					: table_rows(d->table) };
}
