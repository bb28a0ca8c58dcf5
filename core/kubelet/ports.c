/* ports.c - reserve ports, loopback addresses and GPUs among runs (kubelet/ports.h). */
#include "kubelet/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kubelet/holders.h"
#include "trainer/peers.h"

enum { FIRST_PORT = 20000, LAST_PORT = 65000, PORT_TRIES = 2000 };
enum { BLOCK_TRIES = 2000 };

/* Reserve a name: returns the descriptor that holds the name; -1 with errno: in use. */
static int reserve_name(const char *kind, const char *which)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int n, held;

	if (fd < 0)
		return -1;
	n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, HOLDERS_PREFIX "%s/%.60s",
		     kind, which);
	if (bind(fd, (const void *)&a,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) < 0)
		return -1;
	held = fd;
	fd = -1;
	return held;
}

static int reserve_number(const char *kind, unsigned number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return reserve_name(kind, text);
}

int ports_reserve_gpu(const char *id)
{
	return reserve_name("gpu", id);
}

static bool is_free(int family, const void *addr, socklen_t len)
{
	cleanup_fd int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return errno == EAFNOSUPPORT;
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* Without SO_REUSEADDR: a port in TIME_WAIT counts as in use. */
	if (bind(fd, addr, len) == 0)
		return true;
	return errno == EADDRNOTAVAIL;
}

static bool port_is_free(int port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons((uint16_t)port) };

	return is_free(AF_INET, &v4, sizeof(v4)) && is_free(AF_INET6, &v6, sizeof(v6));
}

/* The kernel's range for outgoing connections: [low, high]; [0, 0] if unknown. */
static void outgoing_range(int *low, int *high)
{
	cleanup_fd int fd =
		open("/proc/sys/net/ipv4/ip_local_port_range", O_RDONLY | O_CLOEXEC);
	char text[64] = "";
	char *end;

	*low = *high = 0;
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return;
	*low = (int)strtol(text, &end, 10);
	*high = (int)strtol(end, NULL, 10);
	/* The range leaves few ports: accept one inside it. */
	if (*low - FIRST_PORT < 1000 && LAST_PORT - *high < 1000)
		*low = *high = 0;
}

static unsigned random_number(void)
{
	unsigned r = 0;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = (unsigned)getpid() * 2654435761U;
	return r;
}

/* Did the last call lack a descriptor? Then no other number would be found free. */
static bool is_out_of_descriptors(void)
{
	return errno == EMFILE || errno == ENFILE;
}

static int no_descriptors(const char *what, struct error *err)
{
	return error_errno(err, errno, "cannot reserve %s; check 'ulimit -n'", what);
}

int ports_reserve(int *ret_port, int *ret_lock, struct error *err)
{
	char held[HOLDERS_TEXT_SIZE];
	int low, high;
	int port = FIRST_PORT + (int)(random_number() % (LAST_PORT - FIRST_PORT));

	outgoing_range(&low, &high);
	for (int i = 0; i < PORT_TRIES; i++, port++) {
		int lock;

		if (low && port >= low && port <= high)
			port = high + 1;
		if (port > LAST_PORT)
			port = FIRST_PORT;
		lock = reserve_number("port", (unsigned)port);
		if (lock >= 0 && port_is_free(port)) {
			*ret_port = port;
			*ret_lock = lock;
			return 0;
		}
		if (lock >= 0)
			close(lock);
		if (is_out_of_descriptors())
			return no_descriptors("a port", err);
	}
	return error_set(err, ERR_BUSY, "no free TCP port found among %d tried%s",
			 PORT_TRIES, holders_text("port", held));
}

/* Can addresses of the block be bound? Always on Linux, but not in every sandbox. */
static bool block_works(unsigned block)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(127U << 24 | block << 8 | 1);
	return fd >= 0 && bind(fd, (const void *)&a, sizeof(a)) == 0;
}

int ports_reserve_addresses(char ret_block[PORT_ADDRESS_SIZE], int *ret_lock,
			    struct error *err)
{
	/* Not 127.0.*: resolvers and distributions have addresses there. */
	unsigned first = random_number();
	char held[HOLDERS_TEXT_SIZE];

	for (unsigned i = 0; i < BLOCK_TRIES; i++) {
		unsigned block = 256 + (first + i) % (65536 - 256);
		int lock;

		if ((block >> 8) == 255)
			continue;
		lock = reserve_number("address", block);
		if (lock >= 0 && block_works(block)) {
			snprintf(ret_block, PORT_ADDRESS_SIZE, "127.%u.%u.", block >> 8,
				 block & 255);
			*ret_lock = lock;
			return 0;
		}
		if (lock >= 0)
			close(lock);
		if (is_out_of_descriptors())
			return no_descriptors("loopback addresses", err);
		if (lock >= 0)
			return error_set(
				err, ERR_UNSUPPORTED,
				"the loopback interface does not answer to 127.%u.%u.1",
				block >> 8, block & 255);
	}
	return error_set(err, ERR_BUSY, "no free block of loopback addresses found%s",
			 holders_text("address", held));
}

bool ports_loopback_is_down(void)
{
	cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo" };

	return fd >= 0 && !ioctl(fd, SIOCGIFFLAGS, &lo) && !(lo.ifr_flags & IFF_UP);
}

struct port_place {
	const char *env;    /* the name of a variable */
	const char *prefix; /* or the beginning of an argument */
	bool after_colon; /* the port ends the value, after a ':'; else it is the value */
	int port;         /* expected instead of `from`; 0: `from` */
};

static const struct port_place port_places[] = {
	{ .env = "PET_MASTER_PORT" },
	{ .env = "DMLC_TRACKER_PORT" },
	/* Variables of V1, which `convert` writes. */
	{ .env = "MASTER_PORT" },
	{ .env = "WORKER_PORT" },
	{ .env = "COORDINATOR_PORT" },
	{ .env = "PET_RDZV_ENDPOINT", .after_colon = true },
	{ .env = "PADDLE_MASTER", .after_colon = true, .port = PADDLE_PORT },
	{ .env = "JAX_COORDINATOR_ADDRESS", .after_colon = true },
	{ .prefix = "--rdzv_endpoint=", .after_colon = true },
};

const char *port_replace(struct arena *arena, const char *name, const char *value,
			 int from, int to)
{
	for (size_t i = 0; i < N_ELEMENTS(port_places); i++) {
		const struct port_place *p = &port_places[i];
		const char *at = value;
		char text[16];

		if (p->env ? !str_eq(name, p->env)
			   : name || !str_starts(value, p->prefix))
			continue;
		if (p->after_colon)
			at = strrchr(value, ':') ? strrchr(value, ':') + 1 : "";
		snprintf(text, sizeof(text), "%d", p->port ? p->port : from);
		if (!str_eq(at, text))
			continue;
		return arena_printf(arena, "%.*s%d", (int)(at - value), value, to);
	}
	return value;
}
