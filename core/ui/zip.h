/*
 * zip.h - bodies as gzip (RFC 9110, 8.4.1.3), for browsers that accept it.
 */
#ifndef UI_ZIP_H
#define UI_ZIP_H

#include "net/httpd.h"

/* Replaces the body, and adds the header, unless it is small or not accepted. */
void zip_body(const struct httpd_request *req, struct httpd_response *resp);

#endif
