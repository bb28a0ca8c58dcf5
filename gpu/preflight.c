/* preflight.c - run the checks; the checks of single devices (gpu/preflight.h). */
#include "gpu/preflight.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "gpu/discover.h"
#include "gpu/expect.h"

enum { CUDA_OUT_OF_MEMORY = 2, ANSWER_BYTES = 4096 };
static const uint64_t QUICK_BYTES = 1 << 30, COPY_BYTES = 128 << 20;

/* ---- rows ------------------------------------------------------------------------------ */

static const char *grade_name(enum gpu_grade grade)
{
	switch (grade) {
	case GPU_PASS:
		return "pass";
	case GPU_WARNING:
		return "warning";
	case GPU_RETRY:
		return "retry";
	default:
		return "fatal";
	}
}

static double rounded(double value)
{
	return value < 1e15 ? (double)(int64_t)(value * 100 + 0.5) / 100 : value;
}

void preflight_report(struct preflight *p, struct preflight_row r)
{
	cleanup_json cJSON *row = cJSON_CreateObject();
	int64_t now = clock_ms();

	json_put_str(row, r.check, "check");
	json_put_str(row, p->node, "node");
	if (r.device)
		json_put_str(row, r.device, "device");
	json_put_str(row, grade_name(r.grade), "result");
	if (r.unit) {
		json_put(row, cJSON_CreateNumber(rounded(r.value)), "value");
		json_put_str(row, r.unit, "unit");
		if (r.expected > 0)
			json_put(row, cJSON_CreateNumber(rounded(r.expected)),
				 "expected");
	}
	json_put_str(row, r.message, "message");
	json_put_int(row, now - p->began, "ms");
	p->began = now;
	if (r.grade > p->worst)
		p->worst = r.grade;
	p->report(p->ctx, row);
}

void preflight_relay(struct preflight *p, const cJSON *row)
{
	static const enum gpu_grade grades[] = { GPU_PASS, GPU_WARNING, GPU_RETRY,
						 GPU_FATAL };
	const char *result = json_str(row, "result");

	for (size_t i = 0; i < N_ELEMENTS(grades); i++)
		if (str_eq(result, grade_name(grades[i])) && grades[i] > p->worst)
			p->worst = grades[i];
	p->report(p->ctx, row);
}

int preflight_ask(struct preflight *p, struct gpu_request request, cJSON **ret,
		  struct error *err)
{
	if (!p->helper.pid && gpu_helper_start(&p->helper, p->call_ms, err))
		return -1;
	p->helper.deadline = p->deadline;
	return gpu_helper_call(&p->helper, &request, ret, err);
}

void preflight_failed(struct preflight *p, const char *check, const char *device,
		      const struct error *err)
{
	bool full = err->kind == ERR_IO && err->code == CUDA_OUT_OF_MEMORY;
	char message[sizeof(err->msg) + 80];

	snprintf(message, sizeof(message), "%s%s", err->msg,
		 full ? "; 'kftrainer gpu -o wide' shows which processes hold memory"
		      : "");
	preflight_report(p, (struct preflight_row){ .check = check,
						    .grade = full ? GPU_RETRY : GPU_FATAL,
						    .device = device,
						    .message = message });
}

void preflight_rate(struct preflight *p, struct preflight_row row, int64_t rate,
		    const char *kind, const char *key)
{
	row.unit = "GB/s";
	row.value = (double)rate / 1e9;
	row.expected = gpu_expected(p->expect, kind, key);
	row.grade = row.value * 2 < row.expected ? GPU_FATAL
		    : row.value < row.expected   ? GPU_WARNING
						 : GPU_PASS;
	preflight_report(p, row);
}

/* ---- devices --------------------------------------------------------------------------- */

uint32_t preflight_devices(const struct preflight *p)
{
	const cJSON *list = json_get(p->cuda, "devices");

	return list ? (uint32_t)cJSON_GetArraySize(list) : 0;
}

static const cJSON *cuda_device(const struct preflight *p, uint32_t ordinal)
{
	const cJSON *device;

	json_each(device, json_get(p->cuda, "devices"))
		if (!ordinal--)
			return device;
	return NULL;
}

/* Compare without the prefix: NVML has GPU- and MIG-, CUDA only one. */
static bool same_uuid(const cJSON *a, const cJSON *b)
{
	const char *x = json_str(a, "uuid"), *y = json_str(b, "uuid");

	return x && y && strlen(x) > 4 && strlen(y) > 4 && str_eq(x + 4, y + 4);
}

const char *preflight_label(struct arena *arena, const struct preflight *p,
			    uint32_t ordinal)
{
	const cJSON *cuda = cuda_device(p, ordinal), *device, *instance;

	json_each(device, json_get(p->found, "devices")) {
		int64_t index = json_int(device, 0, "index");
		int at = 0;

		if (same_uuid(device, cuda))
			return arena_printf(arena, "%" PRId64, index);
		json_each(instance, json_get(device, "mig")) {
			if (same_uuid(instance, cuda))
				return arena_printf(arena, "%" PRId64 ":%d", index, at);
			at++;
		}
	}
	return arena_printf(arena, "%u", ordinal);
}

const char *preflight_kind(const struct preflight *p, uint32_t ordinal)
{
	const char *name = json_str(cuda_device(p, ordinal), "name");

	return name ? name : "";
}

static bool shown_by_cuda(const struct preflight *p, const cJSON *device)
{
	const cJSON *list = json_get(p->cuda, "devices"), *shown, *instance;

	json_each(shown, list) {
		if (same_uuid(device, shown))
			return true;
		json_each(instance, json_get(device, "mig"))
			if (same_uuid(instance, shown))
				return true;
	}
	return false;
}

/* Report devices that fail, or that CUDA does not list; others' devices are skipped. */
static void check_found(struct preflight *p)
{
	const cJSON *device;

	json_each(device, json_get(p->found, "devices")) {
		char index[24];
		const char *error = json_str(device, "error");

		snprintf(index, sizeof(index), "%" PRId64, json_int(device, 0, "index"));
		if (!error &&
		    (!json_bool(device, false, "usable") || shown_by_cuda(p, device)))
			continue;
		preflight_report(
			p, (struct preflight_row){
				   .check = "devices",
				   .grade = GPU_FATAL,
				   .device = index,
				   .message = error ? error : "not visible to CUDA" });
	}
}

static void check_devices(struct preflight *p)
{
	uint32_t n = preflight_devices(p);

	check_found(p);
	for (uint32_t i = 0; i < n; i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *answer = NULL;
		const char *label = preflight_label(&arena, p, i);
		const struct gpu_request q = { .op = GPU_OP_MEMORY,
					       .device = i,
					       .arg = { ANSWER_BYTES, 1 } };
		struct error err;

		if (preflight_ask(p, q, &answer, &err))
			preflight_failed(p, "devices", label, &err);
		else
			preflight_report(p,
					 (struct preflight_row){ .check = "devices",
								 .device = label,
								 .message = "answers" });
	}
	if (n < p->wanted)
		preflight_report(p, (struct preflight_row){
					    .check = "devices",
					    .grade = GPU_FATAL,
					    .message = "fewer devices than requested",
					    .unit = "devices",
					    .value = n,
					    .expected = (double)p->wanted });
}

/* ---- the driver ----------------------------------------------------------------------- */

/* 12080 is 12.8. Since CUDA 11 a driver supports all of its major version. */
static void check_driver(struct preflight *p)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *answer = NULL;
	struct preflight_row row = { .check = "driver" };
	int64_t driver, runtime;
	struct error err;

	if (preflight_ask(p, (struct gpu_request){ .op = GPU_OP_RUNTIME }, &answer,
			  &err)) {
		row.message = err.msg;
		row.grade = err.kind == ERR_NOT_FOUND && strstr(err.msg, "libcudart")
				    ? GPU_WARNING
				    : GPU_FATAL;
		preflight_report(p, row);
		return;
	}
	driver = json_int(answer, 0, "driverVersion");
	runtime = json_int(answer, 0, "runtimeVersion");
	row.grade = runtime / 1000 > driver / 1000 ? GPU_FATAL : GPU_PASS;
	row.message = arena_printf(
		&arena,
		"the driver supports CUDA %" PRId64 ".%" PRId64 ", the image has %" PRId64
		".%" PRId64 "%s",
		driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10,
		row.grade ? ": update the driver, or use an image with an older CUDA"
			  : "");
	preflight_report(p, row);
}

/* ---- health --------------------------------------------------------------------------- */

static bool chosen(const struct preflight *p, const char *check)
{
	return !p->only || str_in(check, p->only);
}

static void check_health(struct preflight *p)
{
	const cJSON *device;

	json_each(device, json_get(p->found, "devices")) {
		struct gpu_finding found[GPU_FINDINGS_MAX];
		size_t n = gpu_findings(device, found);
		char index[24];

		snprintf(index, sizeof(index), "%" PRId64, json_int(device, 0, "index"));
		for (size_t i = 0; i < n; i++)
			preflight_report(p, (struct preflight_row){
						    found[i].check, found[i].grade,
						    found[i].message, index, "counted",
						    (double)found[i].value,
						    (double)found[i].expected });
		if (!n && !json_get(device, "error"))
			preflight_report(
				p,
				(struct preflight_row){
					.check = "health",
					.device = index,
					.message =
						"no errors counted, links at full width" });
	}
}

/* ---- memory and copies ----------------------------------------------------------------- */

static void check_memory(struct preflight *p)
{
	static const uint64_t patterns[] = {
		[PREFLIGHT_QUICK] = 1, [PREFLIGHT_NORMAL] = 2, [PREFLIGHT_FULL] = 6
	};
	uint64_t bytes = p->depth == PREFLIGHT_QUICK ? QUICK_BYTES : 0;

	for (uint32_t i = 0; i < preflight_devices(p); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *answer = NULL;
		const struct gpu_request q = { .op = GPU_OP_MEMORY,
					       .device = i,
					       .arg = { bytes, patterns[p->depth] } };
		struct preflight_row row = { .check = "memory",
					     .device = preflight_label(&arena, p, i),
					     .unit = "bytes" };
		struct error err;
		int64_t wrong;

		if (preflight_ask(p, q, &answer, &err)) {
			preflight_failed(p, "memory", row.device, &err);
			continue;
		}
		wrong = json_int(answer, 0, "wrongPages");
		row.value = (double)json_int(answer, 0, "bytes");
		row.grade = wrong ? GPU_FATAL : GPU_PASS;
		row.message =
			wrong ? arena_printf(&arena,
					     "%" PRId64
					     " pages of 4 KiB were read back wrong, "
					     "the first at %" PRId64
					     ": replace the device",
					     wrong, json_int(answer, 0, "firstWrong"))
			      : "read back as written";
		preflight_report(p, row);
	}
}

static void check_bandwidth(struct preflight *p)
{
	static const struct {
		const char *key, *message;
	} ways[] = { { "hostToDevice", "host to device" },
		     { "deviceToHost", "device to host" },
		     { "deviceToDevice", "device to device, read and written" } };

	for (uint32_t i = 0; i < preflight_devices(p); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *answer = NULL;
		const struct gpu_request q = { .op = GPU_OP_COPY,
					       .device = i,
					       .arg = { COPY_BYTES } };
		const char *label = preflight_label(&arena, p, i);
		struct error err;

		if (preflight_ask(p, q, &answer, &err)) {
			preflight_failed(p, "bandwidth", label, &err);
			continue;
		}
		for (size_t w = 0; w < N_ELEMENTS(ways); w++)
			preflight_rate(
				p,
				(struct preflight_row){ .check = "bandwidth",
							.device = label,
							.message = ways[w].message },
				json_int(answer, 0, ways[w].key), preflight_kind(p, i),
				ways[w].key);
	}
}

/* ---- all of them ------------------------------------------------------------------------ */

static void (*const checks[])(struct preflight *p) = {
	check_devices,   check_driver,    check_health,   check_memory,
	check_bandwidth, preflight_peers, preflight_nccl, preflight_job,
};
const char *const preflight_checks[] = { "devices", "driver",    "health",
					 "memory",  "bandwidth", "peers",
					 "nccl",    "job",       NULL };

static void run_checks(struct preflight *p)
{
	for (size_t i = 0; preflight_checks[i]; i++) {
		if (!chosen(p, preflight_checks[i]) ||
		    (!p->cuda && checks[i] != preflight_job))
			continue;
		p->began = clock_ms();
		p->deadline = p->began + p->check_ms;
		checks[i](p);
	}
}

static int find(struct preflight *p, struct error *err)
{
	if (gpu_discover(&p->found, p->dev, p->call_ms, err))
		return -1;
	if (gpu_mark_visible(p->found, err))
		return -1;
	return preflight_ask(p, (struct gpu_request){ .op = GPU_OP_CUDA }, &p->cuda, err);
}

enum gpu_grade preflight_run(struct preflight *p)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err;

	p->began = clock_ms();
	p->deadline = p->began + p->check_ms;
	if (!gpu_present(p->dev)) {
		preflight_report(p, (struct preflight_row){
					    .check = "devices",
					    .grade = p->wanted ? GPU_FATAL : GPU_PASS,
					    .message = gpu_absence(&arena, p->dev),
					    .unit = p->wanted ? "devices" : NULL,
					    .expected = (double)p->wanted });
	} else {
		if (find(p, &err))
			preflight_failed(p, "devices", NULL, &err);
	}
	run_checks(p);
	gpu_helper_stop(&p->helper);
	cJSON_Delete(p->found);
	cJSON_Delete(p->cuda);
	p->found = p->cuda = NULL;
	return p->worst;
}
