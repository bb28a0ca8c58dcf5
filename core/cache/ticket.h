/*
 * ticket.h - what names rows between head, client and worker, as upstream encodes it.
 *
 * Two numbers, the first row and the last one, in bincode 2's standard form: each a byte
 * up to 250, else 251, 252 or 253 and 2, 4 or 8 bytes. Bytes after them are ignored. No
 * rows: the first after the last. Ours may have a view (view.h) behind them, its JSON
 * after TICKET_VIEW.
 */
#ifndef CACHE_TICKET_H
#define CACHE_TICKET_H

#include <sys/uio.h>

#include "cache/table.h"

enum { TICKET_MAX = 18 };
#define TICKET_VIEW "\nkftrainer view "

size_t ticket_write(uint8_t to[TICKET_MAX], struct rows rows);

/* ERR_FORMAT. What has no rows is { 0, 0 }. */
MUST_CHECK int ticket_read(struct rows *ret, const void *data, size_t len,
			   struct error *err);

/* The view's JSON within a ticket that was read; iov_len 0: it has none. */
struct iovec ticket_view(const void *data, size_t len);

#endif
