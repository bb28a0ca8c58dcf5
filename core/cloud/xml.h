/*
 * xml.h - answers in XML (expat): what elements hold, as they end.
 *
 * Attributes, comments and prefixes of names are passed over. ERR_FORMAT: not well
 * formed, not all there, or with a document type (nothing that we read has one, and
 * entities of one's own are a way to do harm); ERR_LIMIT: too deep, too long.
 */
#ifndef CLOUD_XML_H
#define CLOUD_XML_H

#include "base/error.h"

enum { XML_MAX_DEPTH = 16, XML_MAX_TEXT = 64 * 1024 };

/*
 * An element has ended. `path` names it and those around it, without the root's:
 * "Contents/Key"; "" is the root. `text` is its own, without line breaks at the
 * ends and the white space there.
 * -1 with err filled ends the reading.
 */
struct xml_reader {
	int (*end)(void *ctx, const char *path, const char *text, struct error *err);
	void *ctx;
};

MUST_CHECK int xml_read(const void *data, size_t len, const struct xml_reader *reader,
			struct error *err);

#endif
