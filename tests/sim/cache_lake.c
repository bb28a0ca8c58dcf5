/* cache_lake.c - a table of numbers, and its rows in memory, without files. */
#include <stdlib.h>

#include "base/str.h"
#include "base/xmalloc.h"
#include "tests/sim/cache.h"

static void make_message(struct lake *l, size_t i)
{
	struct rows rows = l->units[i].rows;
	struct array column = { .field = &l->column, .n = rows.end };
	struct batch b = { .columns = &column, .n_columns = 1, .n = rows.end };
	struct message *msg = &l->messages[i];
	struct ipc_plan plan = { 0 };
	uint8_t *data;
	size_t head;

	column.values.data = (uint8_t *)l->values;
	ipc_plan(&plan, &b, rows.first, rows.end - rows.first, (struct ipc_form){ 0 });
	head = message_head(NULL, &plan, &msg->metadata);
	data = xcalloc(head + plan.body + BLOCK_SLACK, 1);
	message_head(data, &plan, &msg->metadata);
	ipc_body(&plan, data + head);
	msg->data = data;
	msg->n_metadata = (uint32_t)plan.metadata.len;
	msg->body = (uint32_t)head;
	msg->len = (uint32_t)(head + plan.body);
	msg->first = rows.first;
	msg->n = rows.end - rows.first;
	ipc_plan_release(&plan);
}

static void add_unit(struct lake *l, int64_t rows, int file)
{
	struct table *t = &l->table;
	struct unit *u = &l->units[t->n_units];

	*u = (struct unit){ &l->files[file], t->n_units, { t->rows, t->rows + rows } };
	make_message(l, t->n_units++);
	t->rows += rows;
}

static void lake_begin(struct lake *l, int64_t base)
{
	static char name[] = "row",
		    paths[2][CACHE_FILES][2] = { { "a", "b", "c" }, { "d", "e", "f" } };
	struct table *t = &l->table;

	l->base = base;
	l->column =
		(struct field){ .name = name, .kind = ARROW_INT64, .id = -1, .width = 8 };
	t->columns = &l->column;
	t->n_columns = 1;
	t->files = l->files;
	t->n = CACHE_FILES;
	t->units = l->units;
	for (int i = 0; i < CACHE_FILES; i++)
		l->files[i].path = paths[base != 0][i];
	for (size_t i = 0; i < N_ELEMENTS(l->values); i++)
		l->values[i] = base + (int64_t)i;
}

void lake_init(struct lake *l, struct sim *sim)
{
	int n = (int)sim_dice(sim, CACHE_UNITS + 1), file = 0;

	lake_begin(l, 0);
	for (int i = 0; i < n; i++) {
		file += file + 1 < CACHE_FILES && i && !sim_dice(sim, 3);
		add_unit(l, 1 + sim_dice(sim, 10), file);
	}
}

void lake_init_next(struct lake *l, const struct lake *before, struct sim *sim)
{
	lake_begin(l, 1000);
	if (sim_dice(sim, 2))
		add_unit(l, 1 + sim_dice(sim, 10), 0);
	for (size_t i = 0; i < before->table.n_units && l->table.n_units < CACHE_UNITS;
	     i++) {
		struct rows r = before->units[i].rows;

		add_unit(l, r.end - r.first,
			 (int)(before->units[i].file - before->files));
	}
}

void lake_release(struct lake *l)
{
	for (size_t i = 0; i < l->table.n_units; i++)
		free((void *)(uintptr_t)l->messages[i].data);
}

/* The rows of a holding's files, which are successive ones. */
static struct rows rows_of_files(const struct lake *l, const struct holding *it)
{
	struct rows ret = { it->rows.first, it->rows.first };

	for (size_t i = 0; i < l->table.n_units; i++)
		for (size_t k = 0; k < it->n_files; k++)
			if (str_eq(l->units[i].file->path, it->files[k]))
				ret.end = l->units[i].rows.end;
	return ret;
}

struct memtable *lake_load(struct cache *c, const struct holding *it)
{
	const struct lake *l = c->lake;
	const struct table *t = &l->table;
	struct rows rows = it->files ? rows_of_files(l, it) : it->rows;
	struct memtable *m = xcalloc(1, sizeof(*m));

	m->refs = 2; /* the worker's, and the world's */
	m->fields = t->columns;
	m->n_fields = t->n_columns;
	m->rows = rows;
	m->messages = xcalloc(t->n_units + 1, sizeof(*m->messages));
	memtable_schema(&m->schema, m->fields, m->n_fields, m->form);
	for (size_t i = 0; i < t->n_units; i++)
		if (rows_meet(t->units[i].rows, rows).end) {
			m->messages[m->n++] = l->messages[i];
			m->bytes += l->messages[i].len;
		}
	c->tables = xreallocarray(c->tables, c->n_tables + 1, sizeof(struct memtable *));
	c->tables[c->n_tables++] = m;
	return m;
}

void lake_check(struct cache *c)
{
	int held = 0, known = 0;

	for (int i = 0; i < CACHE_WORKERS; i++)
		for (size_t k = 0; c->nodes[i] && k < c->nodes[i]->worker.holdings->now.n;
		     k++)
			known += c->nodes[i]->worker.holdings->now.list[k].table != NULL;
	for (int i = 0; i < c->n_consumers; i++)
		known += c->consumers[i].call && c->consumers[i].call->reading;
	for (size_t i = 0; i < c->n_tables; i++) {
		int others = atomic_load(&c->tables[i]->refs) - 1;

		held += others;
		if (others)
			continue;
		memtable_unref(c->tables[i]);
		c->tables[i--] = c->tables[--c->n_tables];
	}
	if (held != known)
		sim_broken(c->sim, "%d references to rows, but %d of workers and streams",
			   held, known);
}
