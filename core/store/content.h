/*
 * content.h - recognize files that are not what their names promise: Git LFS pointers, and
 * the HTML pages that servers send to users who are not logged in.
 */
#ifndef STORE_CONTENT_H
#define STORE_CONTENT_H

#include <stddef.h>

enum { CONTENT_HEAD_BYTES = 64 };

/*
 * A clause that says what the file is instead, and what to do; NULL: nothing unexpected.
 * `head`: its first bytes, at most CONTENT_HEAD_BYTES of which are needed.
 */
const char *content_unexpected(const char *path, const void *head, size_t len);

#endif
