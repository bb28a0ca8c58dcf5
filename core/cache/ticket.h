/*
 * ticket.h - what names rows between head, client and worker, as upstream encodes it.
 *
 * Two numbers, the first row and the last one, in bincode 2's standard form: each a byte
 * up to 250, else 251, 252 or 253 and 2, 4 or 8 bytes. Bytes after them are ignored. No
 * rows: the first after the last.
 */
#ifndef CACHE_TICKET_H
#define CACHE_TICKET_H

#include "cache/table.h"

enum { TICKET_MAX = 18 };

size_t ticket_write(uint8_t to[TICKET_MAX], struct rows rows);

/* ERR_FORMAT. What has no rows is { 0, 0 }. */
MUST_CHECK int ticket_read(struct rows *ret, const void *data, size_t len,
			   struct error *err);

#endif
