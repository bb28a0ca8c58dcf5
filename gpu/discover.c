/* discover.c - describe this machine's GPUs by the helper's answers (gpu/discover.h). */
#include "gpu/discover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "gpu/helper.h"

enum { MAX_DEVICES = 64, SMALL_FILE = 4096 };

/* NVML's nvmlClocksThrottleReason..., by bit. */
static const char *const throttle_reasons[] = {
	"idle",       "application-clocks", "power-cap",      "hw-slowdown", "sync-boost",
	"sw-thermal", "hw-thermal",         "hw-power-brake", "display",
};

/* NVML's nvmlGpuTopologyLevel_t, as nvidia-smi abbreviates it. */
static const struct {
	int64_t level;
	const char *name;
} levels[] = {
	{ 0, "PIX" },  { 10, "PIX" },  { 20, "PXB" },
	{ 30, "PHB" }, { 40, "NODE" }, { 50, "SYS" },
};
enum { THROTTLE_BITS = N_ELEMENTS(throttle_reasons) };

/* ---- without a driver ------------------------------------------------------------------ */

const char *gpu_dev(void)
{
	const char *dev = getenv("KFTRAINER_GPU_DEV");

	return dev && *dev ? dev : "/dev";
}

bool gpu_present(const char *dev)
{
	DIR *dir = opendir(dev);
	const struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir)) != NULL)
		found = str_starts(e->d_name, "nvidia");
	if (dir)
		closedir(dir);
	return found;
}

const char *gpu_absence(struct arena *arena, const char *dev)
{
	static const struct {
		const char *file, *vendor;
	} others[] = {
		{ "kfd", "AMD" },
		{ "accel/accel0", "Intel" },
		{ "neuron0", "AWS Neuron" },
		{ "davinci_manager", "Huawei Ascend" },
	};

	for (size_t i = 0; i < N_ELEMENTS(others); i++)
		if (file_exists(path_join(arena, dev, others[i].file)))
			return arena_printf(arena,
					    "no NVIDIA GPU: %s/nvidia* not found (%s/%s: "
					    "%s devices are not supported)",
					    dev, dev, others[i].file, others[i].vendor);
	return arena_printf(arena, "no NVIDIA GPU: %s/nvidia* not found", dev);
}

/* ---- a device ------------------------------------------------------------------------- */

/* A small file of sysfs without its newline, or NULL. */
static const char *sysfs(struct arena *arena, const char *bus, const char *name)
{
	cleanup_buf struct buf text = { .max = SMALL_FILE };

	if (file_read(&text, arena_printf(arena, "/sys/bus/pci/devices/%s/%s", bus, name),
		      IGNORED))
		return NULL;
	return str_trim(arena, text.data ? (const char *)text.data : "");
}

/* Add the NUMA node and CPUs. NVML's "00000000:65:00.0" is "0000:65:00.0" in sysfs. */
static void add_place(cJSON *device)
{
	cleanup_arena struct arena arena = { 0 };
	const char *id = json_str(device, "pcie", "busId"), *text;
	int64_t node;
	struct error err;
	char *bus;

	if (!id || strlen(id) < 12 || strchr(id, '/'))
		return;
	bus = arena_strdup(&arena, id + strlen(id) - 12);
	for (char *c = bus; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	text = sysfs(&arena, bus, "numa_node");
	if (text && !str_int(&node, text, 0, 65535, &err))
		json_put_int(device, node, "numaNode");
	text = sysfs(&arena, bus, "local_cpulist");
	if (text && *text)
		json_put_str(device, text, "cpus");
}

static void shape_throttle(cJSON *device)
{
	int64_t mask = json_int(device, -1, "throttle");
	cJSON *list;

	if (mask < 0)
		return;
	json_del(device, JSON_PATH("throttle"));
	list = json_list(device, "throttle");
	for (size_t i = 0; i < THROTTLE_BITS; i++)
		if (mask >> i & 1)
			cJSON_AddItemToArray(list,
					     cJSON_CreateString(throttle_reasons[i]));
}

static void shape_nvlinks(cJSON *device)
{
	const cJSON *links = json_get(device, "nvlinks"), *link;
	int64_t active = 0, total = 0;

	json_each(link, links) {
		total++;
		active += cJSON_IsNumber(link) && link->valuedouble > 0;
	}
	json_del(device, JSON_PATH("nvlinks"));
	if (!total)
		return;
	json_put_int(device, active, "nvlinks", "active");
	json_put_int(device, total, "nvlinks", "total");
}

static void move(cJSON *device, const char *from, const char *group, const char *to)
{
	int64_t value = json_int(device, -1, from);

	if (value >= 0)
		json_put_int(device, value, group, to);
	json_del(device, JSON_PATH(from));
}

static void shape(cJSON *device)
{
	cleanup_arena struct arena arena = { 0 };
	int64_t major = json_int(device, -1, "major"),
		minor = json_int(device, 0, "minorCapability");

	json_del(device, JSON_PATH("major"));
	json_del(device, JSON_PATH("minorCapability"));
	if (major >= 0)
		json_put_str(device,
			     arena_printf(&arena, "%lld.%lld", (long long)major,
					  (long long)minor),
			     "computeCapability");
	if (json_get(device, "ecc"))
		json_put_bool(device, json_int(device, 0, "ecc", "enabled"), "ecc",
			      "enabled");
	move(device, "retiredCorrected", "retiredPages", "corrected");
	move(device, "retiredUncorrected", "retiredPages", "uncorrected");
	shape_throttle(device);
	shape_nvlinks(device);
	add_place(device);
}

/* EPERM: the container's cgroup denies devices that the device plugin did not allow. */
static void add_usable(cJSON *device, const char *dev)
{
	cleanup_arena struct arena arena = { 0 };
	int64_t minor = json_int(device, -1, "minor");
	const char *path = arena_printf(&arena, "%s/nvidia%lld", dev, (long long)minor);
	int fd = -1;

	if (minor >= 0)
		fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	json_put_bool(device, minor < 0 || fd >= 0, "usable");
	if (minor >= 0 && fd < 0)
		json_put_str(device,
			     arena_printf(&arena, "%s: %s", path,
					  errno == EPERM ? "denied by the cgroup"
							 : strerror(errno)),
			     "notUsable");
	if (fd >= 0)
		close(fd);
}

/* ---- all of them ------------------------------------------------------------------------ */

struct discovery {
	struct gpu_helper helper;
	const char *dev;
	int64_t call_ms;
	cJSON *doc;
	int64_t n;
};

static int ask(struct discovery *d, enum gpu_op op, uint32_t device, cJSON **ret,
	       struct error *err)
{
	struct gpu_request q = { .op = op, .device = device };

	if (!d->helper.pid && gpu_helper_start(&d->helper, d->call_ms, err))
		return -1;
	return gpu_helper_call(&d->helper, &q, ret, err);
}

static void add_device(struct discovery *d, uint32_t index)
{
	cJSON *device = cJSON_CreateObject();
	cleanup_json cJSON *answer = NULL;
	const cJSON *item;
	struct error err;

	json_put_int(device, index, "index");
	if (ask(d, GPU_OP_DEVICE, index, &answer, &err)) {
		json_put_str(device, err.msg, "error");
		json_put_bool(device, false, "usable");
	} else {
		json_each(item, answer)
			json_put_at(device, JSON_PATH(item->string), json_dup(item));
		shape(device);
		add_usable(device, d->dev);
	}
	cJSON_AddItemToArray(json_list(d->doc, "devices"), device);
}

static const char *link_name(struct arena *arena, const cJSON *link)
{
	int64_t nvlinks = json_int(link, 0, "nvlinks"),
		level = json_int(link, -1, "level");

	if (nvlinks > 0)
		return arena_printf(arena, "NV%lld", (long long)nvlinks);
	for (size_t i = 0; i < N_ELEMENTS(levels); i++)
		if (levels[i].level == level)
			return levels[i].name;
	return "?";
}

/* Add the matrix of links; the answer has each pair of devices once. */
static void shape_links(struct discovery *d, const cJSON *answer)
{
	cleanup_arena struct arena arena = { 0 };
	const char *names[MAX_DEVICES][MAX_DEVICES] = { { NULL } };
	const cJSON *link;
	cJSON *rows = json_list(d->doc, "links"), *row;

	json_each(link, json_get(answer, "links")) {
		int64_t from = json_int(link, -1, "from"), to = json_int(link, -1, "to");

		if (from < 0 || to < 0 || from >= d->n || to >= d->n)
			continue;
		names[from][to] = names[to][from] = link_name(&arena, link);
	}
	for (int64_t i = 0; i < d->n; i++) {
		row = cJSON_CreateArray();
		for (int64_t j = 0; j < d->n; j++)
			cJSON_AddItemToArray(row, cJSON_CreateString(i == j ? "X"
								     : names[i][j]
									     ? names[i][j]
									     : "?"));
		cJSON_AddItemToArray(rows, row);
	}
}

static int discover(struct discovery *d, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *system = NULL, *links = NULL;
	int64_t version;

	if (ask(d, GPU_OP_SYSTEM, 0, &system, err))
		return -1;
	d->n = json_int(system, 0, "devices");
	d->n = d->n < 0 ? 0 : d->n > MAX_DEVICES ? MAX_DEVICES : d->n;
	version = json_int(system, 0, "cudaVersion");
	json_put(d->doc, json_dup(json_get(system, "driver")), "driver");
	if (version > 0)
		json_put_str(d->doc,
			     arena_printf(&arena, "%lld.%lld", (long long)version / 1000,
					  (long long)version % 1000 / 10),
			     "cuda");
	json_put(d->doc, json_dup(json_get(system, "nvml")), "nvml");
	json_list(d->doc, "devices");
	for (int64_t i = 0; i < d->n; i++)
		add_device(d, (uint32_t)i);
	/* A lost device has no links. Failures are ignored: the matrix is optional. */
	if (!ask(d, GPU_OP_LINKS, 0, &links, IGNORED))
		shape_links(d, links);
	return 0;
}

int gpu_discover(cJSON **ret, const char *dev, int64_t call_ms, struct error *err)
{
	struct discovery d = { .dev = dev,
			       .call_ms = call_ms,
			       .doc = cJSON_CreateObject() };
	int result = discover(&d, err);

	gpu_helper_stop(&d.helper);
	if (result)
		cJSON_Delete(d.doc);
	else
		*ret = d.doc;
	return result;
}
