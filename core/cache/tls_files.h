/*
 * tls_files.h - the certificate of the data cache's servers: two files, PEM.
 *
 * The files are checked every 2 s. After a change, new connections get the new
 * certificate, and open ones continue; a certificate that cannot be used is logged, and
 * the last one remains in use.
 */
#ifndef CACHE_TLS_FILES_H
#define CACHE_TLS_FILES_H

#include "crypto/tls.h"

struct tls_files;

/* Borrows the names. ERR_FORMAT: not a certificate and its key. */
MUST_CHECK int tls_files_new(struct tls_files **ret, const char *cert, const char *key,
			     struct error *err);
struct tls_server *tls_files_server(struct tls_files *f);
/* If tls_files_watch() was called, only after stop_request(). NULL is fine. */
void tls_files_free(struct tls_files *f);
MUST_CHECK int tls_files_watch(struct tls_files *f, struct error *err);

#endif
