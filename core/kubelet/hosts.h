/*
 * hosts.h - the hosts file of a pod, which resolves the names of all pods of the run.
 *
 * Every pod has its own file, pod.hosts, which its containers see as /etc/hosts: its
 * own name, its hostAliases, then the lines of this machine and the names of all pods
 * of the run (kubelet_add_name()). The first match counts.
 */
#ifndef KUBELET_HOSTS_H
#define KUBELET_HOSTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"

struct pod;

enum { HOSTS_MAX = 16 << 20 };

/* Append the lines of this machine's /etc/hosts; without one, those of localhost. */
void hosts_begin(struct buf *hosts);

/* Write the pod's file: ERR_LIMIT, ERR_IO. */
MUST_CHECK int hosts_write(struct pod *p, struct error *err);

/*
 * This machine's nsswitch.conf may name a daemon before the hosts file, and daemons cannot
 * resolve the names of pods. Then write a file for all pods into `dir`: its path, else
 * NULL.
 */
const char *hosts_nsswitch(struct arena *arena, const char *dir);

/* Is `name` a DNS subdomain (RFC 1123), and thus also a valid file name? */
bool hosts_name_valid(const char *name);

#endif
