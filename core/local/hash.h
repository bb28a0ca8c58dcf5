/*
 * hash.h - SHA-1 (RFC 3174), for names and labels that Kubernetes derives so.
 *
 * The label jobset.sigs.k8s.io/job-key is the SHA-1 of "<namespace>/<job>".
 * Nothing is protected by it.
 */
#ifndef LOCAL_HASH_H
#define LOCAL_HASH_H

#include <stddef.h>

void sha1(const void *data, size_t len, unsigned char ret[20]);

#endif
