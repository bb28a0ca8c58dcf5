/*
 * mbedTLS's only source of entropy (MBEDTLS_ENTROPY_HARDWARE_ALT): getrandom(2). Its own
 * asks the kernel with glibc alone; with musl it reads /dev/urandom, which a bare root
 * directory lacks.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/random.h>

#include <mbedtls/entropy.h>

int mbedtls_hardware_poll(void *data, unsigned char *output, size_t len, size_t *olen);

int mbedtls_hardware_poll(void *data, unsigned char *output, size_t len, size_t *olen)
{
	ssize_t n;

	(void)data;
	do {
		n = getrandom(output, len, 0);
	} while (n < 0 && errno == EINTR);
	*olen = n < 0 ? 0 : (size_t)n;
	return n < 0 ? MBEDTLS_ERR_ENTROPY_SOURCE_FAILED : 0;
}
