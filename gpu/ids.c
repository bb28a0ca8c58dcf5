/* ids.c - select the devices that local jobs may use, by UUID (gpu/discover.h). */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "gpu/discover.h"
#include "gpu/health.h"

enum { MAX_IDS = 1024 };

struct ids {
	struct arena *arena;
	const cJSON *found;
	const char **list;
	size_t n;
};

static const cJSON *instances(const cJSON *device)
{
	return json_get(device, "mig");
}

static void add(struct ids *ids, const char *uuid)
{
	for (size_t i = 0; i < ids->n; i++)
		if (str_eq(ids->list[i], uuid))
			return;
	if (uuid && ids->n < MAX_IDS)
		ids->list[ids->n++] = arena_strdup(ids->arena, uuid);
}

static bool works(const cJSON *device)
{
	return json_bool(device, false, "usable") && !gpu_fault(device);
}

/* With MIG enabled, only the instances can be used, not the device itself. */
static void add_device(struct ids *ids, const cJSON *device, bool first_only)
{
	const cJSON *instance;

	if (!works(device))
		return;
	if (!instances(device)) {
		add(ids, json_str(device, "uuid"));
		return;
	}
	json_each(instance, instances(device)) {
		add(ids, json_str(instance, "uuid"));
		if (first_only)
			return;
	}
}

/* The device whose UUID, or whose instance's, begins with `text`; *ret_n: the matches. */
static const cJSON *by_uuid(const struct ids *ids, const char *text, size_t *ret_n,
			    const cJSON **ret_instance)
{
	const cJSON *device, *instance, *match = NULL;
	const char *uuid;

	*ret_n = 0;
	json_each(device, json_get(ids->found, "devices")) {
		uuid = json_str(device, "uuid");
		if (uuid && str_starts(uuid, text)) {
			match = device;
			*ret_instance = NULL;
			++*ret_n;
		}
		json_each(instance, instances(device)) {
			uuid = json_str(instance, "uuid");
			if (uuid && str_starts(uuid, text)) {
				match = device;
				*ret_instance = instance;
				++*ret_n;
			}
		}
	}
	return match;
}

static int add_uuid(struct ids *ids, const char *text, struct error *err)
{
	const cJSON *instance = NULL, *device;
	size_t n;

	device = by_uuid(ids, text, &n, &instance);
	if (n != 1)
		return error_set(err, ERR_INVALID,
				 "CUDA_VISIBLE_DEVICES: %s devices with UUID %.80s; "
				 "'kftrainer gpu' lists them",
				 n ? "several" : "no", text);
	if (!instance)
		add_device(ids, device, true);
	else if (works(device))
		add(ids, json_str(instance, "uuid"));
	return 0;
}

/*
 * CUDA numbers the fastest devices first: NVML's order, if all are of one model.
 * Otherwise the number remains in the list, and CUDA resolves it.
 */
static bool numbered_alike(const cJSON *found)
{
	const cJSON *device, *devices = json_get(found, "devices");
	const char *order = getenv("CUDA_DEVICE_ORDER");

	if (str_eq(order, "PCI_BUS_ID"))
		return true;
	json_each(device, devices)
		if (!str_eq(json_str(device, "name"), json_str(devices->child, "name")))
			return false;
	return true;
}

static int add_number(struct ids *ids, const char *text, bool *ret_end, struct error *err)
{
	const cJSON *device;
	int64_t number, at = 0;

	if (str_int(&number, text, 0, 1 << 20, err))
		return error_wrap(err, "CUDA_VISIBLE_DEVICES");
	if (!numbered_alike(ids->found)) {
		add(ids, text);
		return 0;
	}
	json_each(device, json_get(ids->found, "devices"))
		if (at++ == number) {
			add_device(ids, device, true);
			return 0;
		}
	*ret_end = true; /* CUDA, too, ignores everything after an invalid number */
	return 0;
}

static int add_listed(struct ids *ids, const char *value, struct error *err)
{
	char **parts = str_split(ids->arena, value, ',', NULL);
	bool end = false;

	for (; *parts && !end; parts++) {
		const char *id = str_trim(ids->arena, *parts);

		if (!*id || *id == '-' || str_eq(id, "NoDevFiles"))
			return 0;
		if (strchr(id, '/')) { /* MIG-GPU-UUID/1/0: drivers before R470 */
			add(ids, id);
		} else if (str_starts(id, "GPU-") || str_starts(id, "MIG-")) {
			if (add_uuid(ids, id, err))
				return -1;
		} else if (add_number(ids, id, &end, err)) {
			return -1;
		}
	}
	return 0;
}

int gpu_ids(struct arena *arena, const char *const **ret, const cJSON *found,
	    const char *cuda_visible_devices, struct error *err)
{
	struct ids ids = { .arena = arena, .found = found };
	const cJSON *device;

	ids.list = arena_alloc(arena, (MAX_IDS + 1) * sizeof(*ids.list));
	if (cuda_visible_devices) {
		if (add_listed(&ids, cuda_visible_devices, err))
			return -1;
	} else {
		json_each(device, json_get(found, "devices"))
			add_device(&ids, device, false);
	}
	*ret = ids.list;
	return 0;
}

int gpu_mark_visible(cJSON *found, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *value = getenv("CUDA_VISIBLE_DEVICES");
	const char *const *ids;
	cJSON *device;

	if (!value)
		return 0;
	if (gpu_ids(&arena, &ids, found, value, err))
		return -1;
	json_each(device, json_get(found, "devices")) {
		const char *uuid = json_str(device, "uuid");

		if (!uuid || instances(device) || !json_bool(device, false, "usable") ||
		    str_in(uuid, ids))
			continue;
		json_put_bool(device, false, "usable");
		json_put_str(device, "not in CUDA_VISIBLE_DEVICES", "notUsable");
	}
	return 0;
}
