/*
 * ports.h - reserves addresses, ports and GPUs of this machine for one job.
 *
 * All jobs share the machine's network, so a job needs its own TCP port in
 * place of 29500 and loopback addresses of its own (Linux answers to all of
 * 127.0.0.0/8). The lock is a name in the abstract Unix socket namespace: its
 * scope is the network namespace, as a port's; it is acquired by one bind(), and
 * the kernel releases it when the process ends, however it ends. Jobs of other
 * users and of containers that share the host's network are excluded, too.
 */
#ifndef KUBELET_PORTS_H
#define KUBELET_PORTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { PORT_ADDRESS_SIZE = 16 };

/*
 * A TCP port on which no process listens, if possible outside the range of outgoing
 * connections (ip_local_port_range). Reserved while *ret_lock is open; the caller
 * closes it.
 */
MUST_CHECK int ports_reserve(int *ret_port, int *ret_lock, struct error *err);

/*
 * A block of addresses: 127.b.c.1 to 127.b.c.254. Reserved while *ret_lock is open.
 * ret_block becomes "127.b.c.".
 */
MUST_CHECK int ports_reserve_addresses(char ret_block[PORT_ADDRESS_SIZE], int *ret_lock,
				       struct error *err);

/* Is the loopback interface down, as in a new network namespace? */
bool ports_loopback_is_down(void);

/*
 * Reserve the GPU of that id (gpu.h) while the returned descriptor is open; -1: another
 * run has it.
 */
int ports_reserve_gpu(const char *id);

/*
 * If `value` is the pipeline's text with the rendezvous port `from`, return it with `to`
 * instead; otherwise return `value`. `name` is the environment variable's; NULL: an
 * argument. Only the variables and arguments of a table are changed (upstream:
 * pkg/constants, plugins torch, jax, xgboost): a user's own 29500 remains.
 */
struct arena;
const char *port_replace(struct arena *arena, const char *name, const char *value,
			 int from, int to);

#endif
