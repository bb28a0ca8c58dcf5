/*
 * s3_upload.h - upload to a bucket: scheme_s3.put.
 *
 * Several parts at once, each with its checksums (s3_put.h). Not sent: objects of the
 * same size whose ETag is the MD5 of our bytes, or of our parts; and parts of an
 * unfinished upload of ours (upload_log.h) that the server lists.
 */
#ifndef STORE_S3_UPLOAD_H
#define STORE_S3_UPLOAD_H

#include "store/put.h"
#include "store/store.h"

MUST_CHECK int s3_upload(const struct put_conf *conf, struct error *err);

#endif
