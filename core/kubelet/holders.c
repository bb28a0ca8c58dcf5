/* holders.c - list the users of bound sockets by sock_diag(7) (kubelet/holders.h). */
#include "kubelet/holders.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SHOW_UID 0x40 /* UDIAG_SHOW_UID and UNIX_DIAG_UID, of Linux 5.3 */
enum { ATTR_UID = 7 };
enum { MAX_SOCKETS = 100000, MAX_USERS = 16, NAME_SIZE = 32, ANSWER_SIZE = 32768 };

struct users {
	struct {
		uid_t uid;
		size_t names;
	} list[MAX_USERS];
	size_t n;
	size_t sockets; /* seen */
};

static void count(struct users *u, uid_t uid)
{
	size_t i = 0;

	while (i < u->n && u->list[i].uid != uid)
		i++;
	if (i == MAX_USERS)
		return;
	if (i == u->n)
		u->list[u->n++].uid = uid;
	u->list[i].names++;
}

/* One socket: its attributes follow the message. */
static void read_socket(struct users *u, const struct nlmsghdr *h, const char *prefix)
{
	size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg)), len = strlen(prefix);
	const char *bytes = (const char *)h;
	bool named = false, owned = false;
	uint32_t uid = 0;

	while (at + sizeof(struct nlattr) <= h->nlmsg_len) {
		struct nlattr a;
		const char *value = bytes + at + sizeof(a);
		size_t size;

		memcpy(&a, bytes + at, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > h->nlmsg_len - at)
			return;
		size = a.nla_len - sizeof(a);
		if (a.nla_type == UNIX_DIAG_NAME) /* a NUL, and the abstract name */
			named = size > len && !*value && !memcmp(value + 1, prefix, len);
		if (a.nla_type == ATTR_UID && size == sizeof(uid)) {
			memcpy(&uid, value, sizeof(uid));
			owned = true;
		}
		at += NLA_ALIGN(a.nla_len);
	}
	if (named && owned && uid != geteuid())
		count(u, uid);
}

/* Count the sockets of one answer. False: it was the last answer. */
static bool read_answer(struct users *u, const char *bytes, size_t len,
			const char *prefix)
{
	while (len >= sizeof(struct nlmsghdr)) {
		const struct nlmsghdr *h = (const void *)bytes;
		size_t step = NLMSG_ALIGN(h->nlmsg_len);

		if (h->nlmsg_len < sizeof(*h) || h->nlmsg_len > len ||
		    h->nlmsg_type != SOCK_DIAG_BY_FAMILY || ++u->sockets > MAX_SOCKETS)
			return false;
		read_socket(u, h, prefix);
		bytes += step;
		len -= step < len ? step : len;
	}
	return true;
}

static void ask(struct users *u, const char *prefix)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req req;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.req = { .sdiag_family = AF_UNIX,
			 .udiag_states = UINT32_MAX,
			 .udiag_show = UDIAG_SHOW_NAME | SHOW_UID },
	};
	const struct timeval patience = { .tv_sec = 1 };
	cleanup_fd int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	_Alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
	ssize_t n;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    send(fd, &ask, sizeof(ask), 0) != (ssize_t)sizeof(ask))
		return;
	do
		n = recv(fd, answer, sizeof(answer), 0);
	while (n > 0 && read_answer(u, answer, (size_t)n, prefix));
}

const char *holders_text(const char *kind, char text[HOLDERS_TEXT_SIZE])
{
	struct users u = { 0 };
	char prefix[NAME_SIZE];
	size_t most = 0;

	snprintf(prefix, sizeof(prefix), HOLDERS_PREFIX "%s/", kind);
	ask(&u, prefix);
	for (size_t i = 1; i < u.n; i++)
		if (u.list[i].names > u.list[most].names)
			most = i;
	*text = 0;
	if (u.n)
		snprintf(text, HOLDERS_TEXT_SIZE, "; user %u holds %zu of them",
			 (unsigned)u.list[most].uid, u.list[most].names);
	return text;
}
