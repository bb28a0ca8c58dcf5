/* nvml.c - read devices' properties and health from NVML (gpu/helper/helper.h). */
#include <string.h>

#include "gpu/helper/helper.h"

enum { TEXT = 128, MAX_PROCESSES = 64 };

static int nvml_ready(struct helper *h)
{
	if (h->nvml_ready)
		return 0;
	if ((!h->library[NVML] && lib_open(h, NVML)) || TRY(h, NVML, nvmlInit_v2))
		return -1;
	h->nvml_ready = true;
	return 0;
}

static int handle(struct helper *h, uint32_t number, nvmlDevice_t *ret)
{
	if (nvml_ready(h))
		return -1;
	return TRY(h, NVML, nvmlDeviceGetHandleByIndex_v2, number, ret);
}

int op_system(struct helper *h, const struct gpu_request *q)
{
	char text[TEXT] = "";
	unsigned int n = 0;
	int version = 0;

	if (nvml_ready(h) || TRY(h, NVML, nvmlDeviceGetCount_v2, &n))
		return -1;
	if (ASK(h, NVML, nvmlSystemGetDriverVersion, text, TEXT))
		reply_str(&h->reply, "driver", text);
	if (ASK(h, NVML, nvmlSystemGetNVMLVersion, text, TEXT))
		reply_str(&h->reply, "nvml", text);
	if (ASK(h, NVML, nvmlSystemGetCudaDriverVersion_v2, &version))
		reply_num(&h->reply, "cudaVersion", (unsigned int)version);
	reply_num(&h->reply, "devices", n);
	return 0;
}

/* ---- one device ------------------------------------------------------------------------ */

/* For values that some devices do not have: `key` is then absent. */
#define SAY_IF(h, key, call, device)                         \
	do {                                                 \
		unsigned int value_ = 0;                     \
		if (ASK(h, NVML, call, device, &value_))     \
			reply_num(&(h)->reply, key, value_); \
	} while (0)

static void put_pci(struct helper *h, nvmlDevice_t device)
{
	nvmlPciInfo_t pci = { .busId = "" };

	if (ASK(h, NVML, nvmlDeviceGetPciInfo_v3, device, &pci)) {
		pci.busId[sizeof(pci.busId) - 1] = 0;
		reply_str(&h->reply, "busId", pci.busId);
	}
	SAY_IF(h, "generation", nvmlDeviceGetCurrPcieLinkGeneration, device);
	SAY_IF(h, "maxGeneration", nvmlDeviceGetMaxPcieLinkGeneration, device);
	SAY_IF(h, "width", nvmlDeviceGetCurrPcieLinkWidth, device);
	SAY_IF(h, "maxWidth", nvmlDeviceGetMaxPcieLinkWidth, device);
}

static void put_ecc_errors(struct helper *h, nvmlDevice_t device)
{
	static const struct {
		const char *key;
		int type, counter;
	} rows[] = {
		{ "corrected", NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC },
		{ "uncorrected", NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC },
		{ "correctedEver", NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC },
		{ "uncorrectedEver", NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
		  NVML_AGGREGATE_ECC },
	};
	unsigned long long n = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (ASK(h, NVML, nvmlDeviceGetTotalEccErrors, device, rows[i].type,
			rows[i].counter, &n))
			reply_num(&h->reply, rows[i].key, n);
}

static void put_ecc(struct helper *h, nvmlDevice_t device)
{
	nvmlEnableState_t now = 0, later = 0;

	if (!ASK(h, NVML, nvmlDeviceGetEccMode, device, &now, &later))
		return;
	reply_begin(&h->reply, "ecc", '{');
	reply_num(&h->reply, "enabled", now != 0);
	if (now)
		put_ecc_errors(h, device);
	reply_end(&h->reply, '}');
}

/* Older devices retire pages, newer ones remap rows. */
static void put_retired(struct helper *h, nvmlDevice_t device)
{
	unsigned int corrected = 0, uncorrected = 0, pending = 0, failed = 0, n;

	if (ASK(h, NVML, nvmlDeviceGetRemappedRows, device, &corrected, &uncorrected,
		&pending, &failed)) {
		reply_begin(&h->reply, "remappedRows", '{');
		reply_num(&h->reply, "corrected", corrected);
		reply_num(&h->reply, "uncorrected", uncorrected);
		reply_num(&h->reply, "pending", pending);
		reply_num(&h->reply, "failed", failed);
		reply_end(&h->reply, '}');
		return;
	}
	for (int cause = 0; h->f.nvmlDeviceGetRetiredPages && cause < 2; cause++) {
		int code;

		n = 0;
		call_begin(h, NVML, "nvmlDeviceGetRetiredPages", true);
		code = h->f.nvmlDeviceGetRetiredPages(device, cause, &n, NULL);
		if (code == 0 || code == NVML_ERROR_INSUFFICIENT_SIZE)
			reply_num(&h->reply,
				  cause ? "retiredUncorrected" : "retiredCorrected", n);
	}
}

static void put_nvlinks(struct helper *h, nvmlDevice_t device)
{
	nvmlEnableState_t active = 0;

	reply_begin(&h->reply, "nvlinks", '[');
	for (unsigned int i = 0; i < NVML_NVLINK_MAX_LINKS; i++)
		if (ASK(h, NVML, nvmlDeviceGetNvLinkState, device, i, &active))
			reply_num(&h->reply, NULL, active != 0);
	reply_end(&h->reply, ']');
}

static void put_processes(struct helper *h, nvmlDevice_t device)
{
	nvmlProcessInfo_t list[MAX_PROCESSES] = { { 0 } };
	unsigned int n = MAX_PROCESSES;

	if (!ASK(h, NVML, nvmlDeviceGetComputeRunningProcesses_v3, device, &n, list))
		return;
	reply_begin(&h->reply, "processes", '[');
	for (unsigned int i = 0; i < n && i < MAX_PROCESSES; i++) {
		reply_begin(&h->reply, NULL, '{');
		reply_num(&h->reply, "pid", list[i].pid);
		if (list[i].usedGpuMemory != ~0ULL)
			reply_num(&h->reply, "memory", list[i].usedGpuMemory);
		reply_end(&h->reply, '}');
	}
	reply_end(&h->reply, ']');
}

/* Add the values without which a device or MIG instance is broken. */
static int put_identity(struct helper *h, nvmlDevice_t device)
{
	char text[TEXT] = "";
	nvmlMemory_t memory = { 0 };

	if (TRY(h, NVML, nvmlDeviceGetUUID, device, text, TEXT))
		return -1;
	reply_str(&h->reply, "uuid", text);
	if (TRY(h, NVML, nvmlDeviceGetName, device, text, TEXT))
		return -1;
	reply_str(&h->reply, "name", text);
	if (TRY(h, NVML, nvmlDeviceGetMemoryInfo, device, &memory))
		return -1;
	reply_begin(&h->reply, "memory", '{');
	reply_num(&h->reply, "total", memory.total);
	reply_num(&h->reply, "used", memory.used);
	reply_num(&h->reply, "free", memory.free);
	reply_end(&h->reply, '}');
	return 0;
}

static int put_mig(struct helper *h, nvmlDevice_t device)
{
	unsigned int now = 0, later = 0, max = 0;
	nvmlDevice_t instance;

	if (!ASK(h, NVML, nvmlDeviceGetMigMode, device, &now, &later) || !now)
		return 0;
	if (!ASK(h, NVML, nvmlDeviceGetMaxMigDeviceCount, device, &max))
		return 0;
	reply_begin(&h->reply, "mig", '[');
	for (unsigned int i = 0; i < max; i++) {
		if (!ASK(h, NVML, nvmlDeviceGetMigDeviceHandleByIndex, device, i,
			 &instance))
			continue;
		reply_begin(&h->reply, NULL, '{');
		if (put_identity(h, instance))
			return -1;
		reply_end(&h->reply, '}');
	}
	reply_end(&h->reply, ']');
	return 0;
}

int op_device(struct helper *h, const struct gpu_request *q)
{
	nvmlDevice_t device;
	unsigned long long throttle = 0;
	int major = 0, minor = 0;

	if (handle(h, q->device, &device) || put_identity(h, device) ||
	    put_mig(h, device))
		return -1;
	SAY_IF(h, "minor", nvmlDeviceGetMinorNumber, device);
	if (ASK(h, NVML, nvmlDeviceGetCudaComputeCapability, device, &major, &minor)) {
		reply_num(&h->reply, "major", (unsigned int)major);
		reply_num(&h->reply, "minorCapability", (unsigned int)minor);
	}
	reply_begin(&h->reply, "pcie", '{');
	put_pci(h, device);
	reply_end(&h->reply, '}');
	put_ecc(h, device);
	put_retired(h, device);
	if (ASK(h, NVML, nvmlDeviceGetCurrentClocksThrottleReasons, device, &throttle))
		reply_num(&h->reply, "throttle", throttle);
	put_nvlinks(h, device);
	put_processes(h, device);
	return 0;
}

/* ---- links ----------------------------------------------------------------------- */

/*
 * The number of NVLinks between two devices; through a switch, all active ones of the
 * first.
 */
static uint64_t nvlinks_between(struct helper *h, nvmlDevice_t a, nvmlDevice_t b)
{
	nvmlPciInfo_t other = { .busId = "" }, remote = { .busId = "" };
	uint64_t active = 0, direct = 0;
	int works = -1;

	if (!ASK(h, NVML, nvmlDeviceGetP2PStatus, a, b, NVML_P2P_CAPS_INDEX_NVLINK,
		 &works) ||
	    works != 0 || !ASK(h, NVML, nvmlDeviceGetPciInfo_v3, b, &other))
		return 0;
	for (unsigned int i = 0; i < NVML_NVLINK_MAX_LINKS; i++) {
		nvmlEnableState_t state = 0;

		if (!ASK(h, NVML, nvmlDeviceGetNvLinkState, a, i, &state) || !state)
			continue;
		active++;
		if (ASK(h, NVML, nvmlDeviceGetNvLinkRemotePciInfo_v2, a, i, &remote))
			direct +=
				!strncmp(remote.busId, other.busId, sizeof(other.busId));
	}
	return direct ? direct : active;
}

/* A lost device has no links. */
static void put_link(struct helper *h, unsigned int from, unsigned int to)
{
	nvmlDevice_t a;
	nvmlDevice_t b;
	int level = 0;

	if (!ASK(h, NVML, nvmlDeviceGetHandleByIndex_v2, from, &a) ||
	    !ASK(h, NVML, nvmlDeviceGetHandleByIndex_v2, to, &b))
		return;
	reply_begin(&h->reply, NULL, '{');
	reply_num(&h->reply, "from", from);
	reply_num(&h->reply, "to", to);
	reply_num(&h->reply, "nvlinks", nvlinks_between(h, a, b));
	if (ASK(h, NVML, nvmlDeviceGetTopologyCommonAncestor, a, b, &level))
		reply_num(&h->reply, "level", (unsigned int)level);
	reply_end(&h->reply, '}');
}

int op_links(struct helper *h, const struct gpu_request *q)
{
	unsigned int n = 0;

	if (nvml_ready(h) || TRY(h, NVML, nvmlDeviceGetCount_v2, &n))
		return -1;
	reply_begin(&h->reply, "links", '[');
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = i + 1; j < n; j++)
			put_link(h, i, j);
	reply_end(&h->reply, ']');
	return 0;
}
