/*
 * xml.h - read XML (expat): a callback with the text of each element at its end.
 *
 * Attributes, comments and namespace prefixes are ignored. ERR_FORMAT: malformed,
 * incomplete, or with a document type, which no peer sends and whose entities can be used
 * for attacks; ERR_LIMIT: too deep or too long.
 */
#ifndef CLOUD_XML_H
#define CLOUD_XML_H

#include "base/error.h"

enum { XML_MAX_DEPTH = 16, XML_MAX_TEXT = 64 * 1024 };

/*
 * Called at the end of an element. `path` has its name and its ancestors' without the
 * root's: "Contents/Key"; "" is the root. `text` is its own text, without line breaks and
 * indentation around it. -1 with err filled stops the reader.
 */
struct xml_reader {
	int (*end)(void *ctx, const char *path, const char *text, struct error *err);
	void *ctx;
};

MUST_CHECK int xml_read(const void *data, size_t len, const struct xml_reader *reader,
			struct error *err);

#endif
