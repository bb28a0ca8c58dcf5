/* bio.c - mbedTLS's callbacks with send(2) and recv(2) (crypto/bio.h). */
#include "crypto/bio.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>

static bool would_block(int errnum)
{
	return errnum == EAGAIN || errnum == EWOULDBLOCK || errnum == EINTR;
}

int bio_send(void *fd, const unsigned char *data, size_t len)
{
	ssize_t n = send(*(const int *)fd, data, len, MSG_NOSIGNAL);

	if (n >= 0)
		return (int)n;
	return would_block(errno) ? MBEDTLS_ERR_SSL_WANT_WRITE
				  : MBEDTLS_ERR_NET_CONN_RESET;
}

int bio_receive(void *fd, unsigned char *data, size_t len)
{
	ssize_t n = recv(*(const int *)fd, data, len, 0);

	if (n >= 0)
		return (int)n;
	return would_block(errno) ? MBEDTLS_ERR_SSL_WANT_READ
				  : MBEDTLS_ERR_NET_CONN_RESET;
}
