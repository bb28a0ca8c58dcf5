/*
 * xml.h - XML (expat): the text of each element as it ends.
 *
 * Attributes, comments and prefixes of names are skipped. ERR_FORMAT: malformed,
 * incomplete, or with a document type (none of our peers sends one, and its entities are
 * an attack); ERR_LIMIT: too deep, too long.
 */
#ifndef CLOUD_XML_H
#define CLOUD_XML_H

#include "base/error.h"

enum { XML_MAX_DEPTH = 16, XML_MAX_TEXT = 64 * 1024 };

/*
 * An element has ended. `path` is its name and its ancestors', without the root's:
 * "Contents/Key"; "" is the root. `text` is its own, without line breaks and indentation
 * at the ends. -1 with err filled stops the reader.
 */
struct xml_reader {
	int (*end)(void *ctx, const char *path, const char *text, struct error *err);
	void *ctx;
};

MUST_CHECK int xml_read(const void *data, size_t len, const struct xml_reader *reader,
			struct error *err);

#endif
