/* dataset.c - opens a table with its storage clients (cache/dataset.h). */
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
