/* hosts.c - write the hosts file of a pod (kubelet/hosts.h). */
#include "kubelet/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/pod.h"

enum { MAX_NAME = 253 };

bool hosts_name_valid(const char *name)
{
	size_t n = 0;

	if (!name || !*name || *name == '.' || *name == '-' || strstr(name, ".."))
		return false;
	for (; name[n]; n++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789.-", name[n]))
			return false;
	return n <= MAX_NAME;
}

void hosts_begin(struct buf *hosts)
{
	cleanup_buf struct buf own = { .max = HOSTS_MAX };
	struct error err;

	hosts->max = HOSTS_MAX;
	if (file_read(&own, "/etc/hosts", &err) == 0 && own.data && !own.overflowed)
		buf_add(hosts, own.data, own.len);
	else
		buf_adds(hosts, "127.0.0.1 localhost\n::1 localhost\n");
	if (hosts->len && hosts->data[hosts->len - 1] != '\n')
		buf_adds(hosts, "\n");
}

/* The pod's own name is first, because the first matching line counts. */
int hosts_write(struct pod *p, struct error *err)
{
	const cJSON *alias, *name;
	const char *sub = json_str(p->doc, "spec", "subdomain");
	const char *ns = meta_namespace(p->doc);
	cleanup_buf struct buf b = { .max = HOSTS_MAX };

	buf_printf(&b, "%s\t", p->ip);
	if (sub && hosts_name_valid(sub))
		buf_printf(&b, "%s.%s.%s.svc.cluster.local ", p->hostname, sub,
			   ns ? ns : "default");
	buf_printf(&b, "%s\n", p->hostname);
	json_each(alias, json_get(p->doc, "spec", "hostAliases")) {
		const char *ip = json_str(alias, "ip");

		json_each(name, json_get(alias, "hostnames"))
			if (ip && cJSON_IsString(name))
				buf_printf(&b, "%s\t%s\n", ip, name->valuestring);
	}
	buf_add(&b, p->k->hosts.data, p->k->hosts.len);
	if (buf_check(&b, "the hosts file", err) < 0)
		return -1;
	return file_write_scratch(p->hosts, b.data, b.len, 0644, err);
}

const char *hosts_nsswitch(struct arena *arena, const char *dir)
{
	static const char text[] = "hosts: files dns\n";
	cleanup_buf struct buf b = { .max = 65536 };
	const char *line, *path;

	if (file_read(&b, "/etc/nsswitch.conf", IGNORED) < 0 || !b.data)
		return NULL;
	line = strstr((const char *)b.data, "\nhosts:");
	if (!line)
		return NULL;
	line += strlen("\nhosts:");
	line += strspn(line, " \t");
	if (str_starts(line, "files"))
		return NULL;
	path = path_join(arena, dir, "nsswitch.conf");
	return file_write_scratch(path, text, strlen(text), 0644, IGNORED) ? NULL : path;
}
