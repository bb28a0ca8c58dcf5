/* dataset.c - opens a table, and divides its rows (cache/dataset.h). */
#include "cache/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

struct dataset {
	struct budget budget;
	struct locations *locations;
	struct table *table;
	char *location;
	struct ipc_form form;
};

int dataset_open(struct dataset **ret, const struct dataset_conf *conf, struct error *err)
{
	const struct locations_conf where = { .env = conf->env, .ctx = conf->env_ctx };
	cleanup_dataset struct dataset *d = xcalloc(1, sizeof(*d));
	struct table_conf table = { .budget = &d->budget, .uris = &d->location, .n = 1 };

	table.snapshot = conf->snapshot;
	if (conf->only) {
		table.only = conf->only->at;
		table.n_only = conf->only->n;
	}
	d->location = xstrdup(conf->location);
	d->budget.limit = conf->memory;
	d->form.iceberg = strstr(conf->location, ".metadata.json") != NULL;
	table.locations = d->locations = locations_new(&where);
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
	locations_free(d->locations);
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

uint64_t dataset_memory(const struct dataset *d)
{
	return d->budget.limit;
}

static bool is_file_end(const struct table *t, size_t i)
{
	return i + 1 == table_units(t) ||
	       !str_eq(table_unit(t, i).file, table_unit(t, i + 1).file);
}

/* The boundary of a unit or file that is nearest to that row. */
static int64_t nearest_edge(const struct table *t, struct rows rows, int64_t row,
			    bool files)
{
	int64_t best = rows.first;

	for (size_t i = 0; i < table_units(t); i++) {
		int64_t end = table_unit(t, i).rows.end;

		if (end > rows.first && end < rows.end && (!files || is_file_end(t, i)) &&
		    llabs(end - row) < llabs(best - row))
			best = end;
	}
	return llabs(rows.end - row) < llabs(best - row) ? rows.end : best;
}

static struct rows part(const struct table *t, struct rows rows, int64_t i, int64_t n,
			bool files)
{
	struct rows even = table_shard(rows.end - rows.first, i, n);
	int64_t first = rows.first + even.first, end = rows.first + even.end;

	return (struct rows){ i ? nearest_edge(t, rows, first, files) : rows.first,
			      i + 1 < n ? nearest_edge(t, rows, end, files) : rows.end };
}

struct rows dataset_part(const struct dataset *d, struct rows rows, int64_t i, int64_t n)
{
	return part(d->table, rows, i, n, false);
}

struct rows dataset_file_part(const struct dataset *d, int64_t i, int64_t n)
{
	return part(d->table, (struct rows){ 0, table_rows(d->table) }, i, n, true);
}
