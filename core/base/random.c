/* random.c - reads random bytes of the kernel (base/random.h). */
#include "base/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/str.h"

int random_bytes(void *data, size_t len, struct error *err)
{
	unsigned char *to = data;

	while (len) {
		ssize_t n = getrandom(to, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "getrandom");
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

int random_key(char ret[RANDOM_KEY_SIZE], struct error *err)
{
	cleanup_buf struct buf text = { .max = RANDOM_KEY_SIZE };
	unsigned char bytes[RANDOM_KEY_SIZE / 2];

	if (random_bytes(bytes, sizeof(bytes), err))
		return -1;
	hex_encode(&text, bytes, sizeof(bytes));
	memcpy(ret, text.data, RANDOM_KEY_SIZE - 1);
	ret[RANDOM_KEY_SIZE - 1] = 0;
	return 0;
}
