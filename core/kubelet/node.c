/* node.c - describe this machine as a v1 Node (kubelet/node.h). */
#include "kubelet/node.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"

enum { MAX_PODS = 110 };

const char *node_name(struct arena *arena)
{
	char host[64] = "";
	char *name, *end;

	(void)!gethostname(host, sizeof(host) - 1);
	name = arena_strdup(arena, host);
	for (char *c = name; *c; c++)
		*c = isalnum((unsigned char)*c) || *c == '.' ? (char)tolower(*c) : '-';
	while (*name && !isalnum((unsigned char)*name))
		name++;
	for (end = name + strlen(name); end > name && !isalnum((unsigned char)end[-1]);)
		*--end = 0;
	return *name ? name : "localhost";
}

static void put_resources(cJSON *status, const char *key)
{
	cleanup_arena struct arena a = { 0 };
	struct sysinfo info = { 0 };
	unsigned long long kib;

	(void)sysinfo(&info);
	kib = (unsigned long long)info.totalram * info.mem_unit / 1024;
	json_put_str(status, arena_printf(&a, "%ld", sysconf(_SC_NPROCESSORS_ONLN)), key,
		     "cpu");
	json_put_str(status, arena_printf(&a, "%lluKi", kib), key, "memory");
	json_put_str(status, arena_printf(&a, "%d", MAX_PODS), key, "pods");
}

static void put_pair(cJSON *list, const char *key, const char *value, const char *type)
{
	cJSON *e = cJSON_CreateObject();

	json_put_str(e, type, "type");
	json_put_str(e, value, key);
	cJSON_AddItemToArray(list, e);
}

/* All required members of v1 NodeSystemInfo: clients check them. */
static void put_info(struct arena *a, cJSON *status, const char *version)
{
	struct utsname kernel = { 0 };
	const char *id = file_first_line(a, "/etc/machine-id");
	const char *const info[][2] = {
		{ "machineID", id },
		{ "systemUUID", id },
		{ "bootID", file_first_line(a, "/proc/sys/kernel/random/boot_id") },
		{ "kernelVersion", kernel.release },
		{ "osImage", "Linux" },
		{ "containerRuntimeVersion", "kftrainer://" VERSION },
		{ "kubeletVersion", version },
		{ "kubeProxyVersion", "" },
		{ "operatingSystem", "linux" },
		{ "architecture", kernel.machine },
	};

	(void)uname(&kernel);
	for (size_t i = 0; i < N_ELEMENTS(info); i++)
		json_put_str(status, info[i][1], "nodeInfo", info[i][0]);
}

cJSON *node_object(const char *version)
{
	cleanup_arena struct arena a = { 0 };
	const char *name = node_name(&a);
	cJSON *node = meta_new("v1", "Node", NULL, name), *status, *ready;
	char now[TIME_TEXT_SIZE];

	meta_set_label(node, "kubernetes.io/hostname", name);
	meta_set_label(node, "kubernetes.io/os", "linux");
	json_obj(node, "spec");
	status = json_obj(node, "status");
	put_resources(status, "capacity");
	put_resources(status, "allocatable");
	put_pair(json_list(status, "conditions"), "status", "True", "Ready");
	ready = json_list(status, "conditions")->child;
	json_put_str(ready, "KubeletReady", "reason");
	json_put_str(ready, "this machine runs pods as processes", "message");
	json_put_str(ready, time_text(clock_now(), now), "lastHeartbeatTime");
	json_put_str(ready, now, "lastTransitionTime");
	put_pair(json_list(status, "addresses"), "address", "127.0.0.1", "InternalIP");
	put_pair(json_list(status, "addresses"), "address", name, "Hostname");
	put_info(&a, status, version);
	return node;
}
