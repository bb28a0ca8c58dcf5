/*
 * Bytes of a stranger in place of a peer with the key, to either end: the handshake never
 * succeeds, and it ends.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "crypto/psk.h"
#include "tests/fuzz/fuzz.h"

static struct psk *new_psk(enum psk_side side)
{
	static const unsigned char key[PSK_KEY_SIZE] = "a key";
	struct error err = { 0 };
	struct psk *p = NULL;

	FUZZ_CHECK(!psk_new(&p, side, key, "name", &err));
	return p;
}

static void try_end(struct psk *p, const uint8_t *data, size_t size)
{
	enum psk_state state = PSK_WANT_READ;
	struct error err = { 0 };
	struct psk_conn *c;
	int fds[2];

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	FUZZ_CHECK(!psk_conn_new(&c, p, fds[0], &err));
	if (size && write(fds[1], data, size) < 0)
		size = 0;
	shutdown(fds[1], SHUT_WR);
	for (int i = 0; i < 100 && (state == PSK_WANT_READ || state == PSK_WANT_WRITE);
	     i++)
		state = psk_handshake(c, &err);
	FUZZ_CHECK(state == PSK_FAILED || state == PSK_END);
	FUZZ_CHECK(state != PSK_FAILED || err.kind);
	psk_conn_free(c);
	close(fds[0]);
	close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct psk *ends[2];

	for (int i = 0; i < 2; i++) {
		if (!ends[i])
			ends[i] = new_psk(i ? PSK_SERVER : PSK_CLIENT);
		try_end(ends[i], data, size < 65536 ? size : 65536);
	}
	return 0;
}
