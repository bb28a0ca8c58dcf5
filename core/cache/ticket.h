/*
 * ticket.h - Flight tickets: rows as upstream encodes them for head, client and worker.
 *
 * Two numbers, the first and the last row, in bincode 2's standard form: each one byte up
 * to 250, else 251, 252 or 253 and 2, 4 or 8 bytes. No rows: the first is greater than
 * the last. Bytes after them are ignored; ours append a view (view.h) as JSON after
 * TICKET_VIEW.
 */
#ifndef CACHE_TICKET_H
#define CACHE_TICKET_H

#include <sys/uio.h>

#include "cache/table.h"

enum { TICKET_MAX = 18 };
#define TICKET_VIEW "\nkftrainer view "

size_t ticket_write(uint8_t to[TICKET_MAX], struct rows rows);

/* ERR_FORMAT. Without rows: { 0, 0 }. All rows from 2^63 - 2 on count as one row. */
MUST_CHECK int ticket_read(struct rows *ret, const void *data, size_t len,
			   struct error *err);

/* The view's JSON within a valid ticket; iov_len 0: none. */
struct iovec ticket_view(const void *data, size_t len);

#endif
