/*
 * content.h - recognize what is often stored in a file's place: what a Git without LFS
 * checks out, and the page that a web server shows to who is not logged in.
 */
#ifndef STORE_CONTENT_H
#define STORE_CONTENT_H

#include <stddef.h>

enum { CONTENT_HEAD_BYTES = 64 }; /* of a file's beginning, which suffice */

/* What it is instead, and what to do; NULL: no such thing. `head`: how the file begins. */
const char *content_instead(const char *path, const void *head, size_t len);

#endif
