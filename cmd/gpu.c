/* gpu.c - list the GPUs of this machine (gpu/discover.h). */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ui/out.h"
#include "gpu/discover.h"
#include "gpu/health.h"

struct gpu_opts {
	int output;
	int64_t timeout_ms;
};

enum { WIDE = 1 };
static const char *const formats[] = { "table", "wide", "yaml", "json", NULL };

static const struct opt opts_table[] = {
	OPT_ENUM('o', "output", "FORMAT", "output format", struct gpu_opts, output,
		 formats),
	OPT_DURATION(0, "timeout", "TIME",
		     "limit for each call of NVIDIA's libraries (default: 10s)",
		     struct gpu_opts, timeout_ms, 1, OPT_LONGEST),
	{ .type = OPT_END },
};

/* ---- columns ---------------------------------------------------------------------- */

static const char *text(struct arena *arena, const cJSON *device, const char *key)
{
	const cJSON *node = json_member(device, key);
	char number[JSON_MAX_NUMBER + 1];

	if (cJSON_IsString(node))
		return node->valuestring;
	return cJSON_IsNumber(node) ? arena_strdup(arena, json_number_text(node, number))
				    : NULL;
}

static const char *memory(struct arena *arena, const cJSON *device, const char *key)
{
	int64_t bytes = json_int(device, -1, "memory", key);

	return bytes < 0 ? NULL : str_size(arena, bytes);
}

/* "gen 4 of 5, x16": the current and, if higher, the maximum generation and width. */
static const char *pcie(struct arena *arena, const cJSON *device, const char *unused)
{
	int64_t gen = json_int(device, 0, "pcie", "generation"),
		max_gen = json_int(device, gen, "pcie", "maxGeneration"),
		width = json_int(device, 0, "pcie", "width"),
		max_width = json_int(device, width, "pcie", "maxWidth");

	if (!gen || !width)
		return NULL;
	return arena_printf(arena, "%" PRId64 "/%" PRId64 " x%" PRId64 "/%" PRId64, gen,
			    max_gen, width, max_width);
}

static const char *nvlinks(struct arena *arena, const cJSON *device, const char *unused)
{
	int64_t total = json_int(device, 0, "nvlinks", "total");

	if (!total)
		return NULL;
	return arena_printf(arena, "%" PRId64 "/%" PRId64,
			    json_int(device, 0, "nvlinks", "active"), total);
}

static const char *holders(struct arena *arena, const cJSON *device, const char *unused)
{
	cleanup_buf struct buf pids = { .max = 4096 };
	const cJSON *process;

	json_each(process, json_get(device, "processes"))
		buf_printf(&pids, "%s%" PRId64, pids.len ? "," : "",
			   json_int(process, 0, "pid"));
	return pids.len ? arena_strdup(arena, (const char *)pids.data) : NULL;
}

static const char *state(struct arena *arena, const cJSON *device, const char *unused)
{
	struct gpu_finding findings[GPU_FINDINGS_MAX];
	const char *fault = gpu_fault(device), *why = json_str(device, "notUsable");

	if (fault)
		return fault;
	if (why)
		return why;
	return gpu_findings(device, findings) ? findings[0].message : "ok";
}

static const struct {
	const char *head;
	const char *(*cell)(struct arena *arena, const cJSON *device, const char *key);
	const char *key;
	bool wide;
} columns[] = {
	{ "INDEX", text, "index", false },
	{ "UUID", text, "uuid", false },
	{ "NAME", text, "name", false },
	{ "MEMORY", memory, "total", false },
	{ "USED", memory, "used", false },
	{ "COMPUTE", text, "computeCapability", true },
	{ "PCIE", pcie, NULL, true },
	{ "NVLINK", nvlinks, NULL, true },
	{ "NUMA", text, "numaNode", true },
	{ "CPUS", text, "cpus", true },
	{ "PIDS", holders, NULL, true },
	{ "STATE", state, NULL, false },
};
enum { N_COLUMNS = N_ELEMENTS(columns) };

static void add_row(struct out_table *t, const cJSON *device, bool wide)
{
	cleanup_arena struct arena arena = { 0 };
	const char *cells[N_COLUMNS + 1];
	size_t n = 0;

	for (size_t i = 0; i < N_COLUMNS; i++)
		if (wide || !columns[i].wide) {
			const char *cell =
				device ? columns[i].cell(&arena, device, columns[i].key)
				       : columns[i].head;

			cells[n++] = cell ? cell : "-";
		}
	t->columns = n;
	cells[n] = NULL;
	out_row(t, cells);
}

/* An instance as a row below its device. */
static void add_instances(struct out_table *t, const cJSON *device, bool wide)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *instance;
	int at = 0;

	json_each(instance, json_get(device, "mig")) {
		cleanup_json cJSON *row = json_dup(instance);

		json_put_str(row,
			     arena_printf(&arena, "%" PRId64 ":%d",
					  json_int(device, 0, "index"), at++),
			     "index");
		add_row(t, row, wide);
	}
}

static void print_links(const cJSON *links)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_out_table struct out_table t = { 0 };
	const cJSON *row, *cell;
	size_t n = 0, at = 0;
	const char **cells;

	json_each(row, links)
		n++;
	if (n < 2)
		return;
	t.columns = n + 1;
	cells = arena_alloc(&arena, (n + 2) * sizeof(*cells));
	cells[0] = "LINK";
	for (size_t i = 0; i < n; i++)
		cells[i + 1] = arena_printf(&arena, "%zu", i);
	out_row(&t, cells);
	json_each(row, links) {
		size_t i = 1;

		cells[0] = arena_printf(&arena, "%zu", at++);
		json_each(cell, row)
			cells[i++] = cell->valuestring;
		out_row(&t, cells);
	}
	printf("\n");
	out_table(&t);
}

static void print_table(const cJSON *doc, bool wide)
{
	cleanup_out_table struct out_table t = { 0 };
	const char *driver = json_str(doc, "driver"), *cuda = json_str(doc, "cuda");
	const cJSON *device;

	printf("driver %s, CUDA %s\n", driver ? driver : "-", cuda ? cuda : "-");
	add_row(&t, NULL, wide);
	json_each(device, json_get(doc, "devices")) {
		add_row(&t, device, wide);
		add_instances(&t, device, wide);
	}
	out_table(&t);
	if (wide)
		print_links(json_get(doc, "links"));
}

/* ---- the command -------------------------------------------------------------------- */

static int show_absence(enum out_format format, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *doc = cJSON_CreateObject();
	const char *why = gpu_absence(&arena, gpu_dev());

	if (format == OUT_TABLE) {
		printf("%s\n", why);
		return EXIT_OK;
	}
	json_list(doc, "devices");
	json_put_str(doc, why, "message");
	return out_doc(format, doc, err);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct gpu_opts *opts = values;
	cleanup_json cJSON *doc = NULL;
	enum out_format format =
		opts->output == WIDE ? OUT_TABLE : out_format(formats[opts->output]);

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (!gpu_present(gpu_dev()))
		return show_absence(format, err);
	if (gpu_discover(&doc, gpu_dev(),
			 opts->timeout_ms ? opts->timeout_ms : GPU_CALL_MS, err) ||
	    gpu_mark_visible(doc, err))
		return -1;
	if (format != OUT_TABLE)
		return out_doc(format, doc, err);
	print_table(doc, opts->output == WIDE);
	return EXIT_OK;
}

const struct cmd cmd_gpu = {
	.name = "gpu",
	.args = "",
	.summary = "show the NVIDIA GPUs of this machine and their health",
	.about =
		"Uses NVIDIA's management library, which comes with the driver. The state of a\n"
		"device that hangs or is broken describes the problem. Without a GPU it prints\n"
		"one line.",
	.opts = opts_table,
	.opts_size = sizeof(struct gpu_opts),
	.example = "kftrainer gpu\n"
		   "kftrainer gpu -o wide\n"
		   "kftrainer gpu -o json",
	.run = run,
};
