/*
 * tls_files.h - the certificate of the data cache's servers: two files, PEM.
 *
 * They are looked at every 2 s. When one has changed, new connections get the new
 * certificate, and those that are open stay; what cannot be used is logged and leaves the
 * last certificate in place.
 */
#ifndef CACHE_TLS_FILES_H
#define CACHE_TLS_FILES_H

#include "net/tls.h"

struct tls_files;

/* Borrows the names. ERR_FORMAT: not a certificate and its key. */
MUST_CHECK int tls_files_new(struct tls_files **ret, const char *cert, const char *key,
			     struct error *err);
struct tls_server *tls_files_server(struct tls_files *f);
/* After stop_request(), if a thread looks at the files; NULL is fine. */
void tls_files_free(struct tls_files *f);
MUST_CHECK int tls_files_watch(struct tls_files *f, struct error *err);

#endif
