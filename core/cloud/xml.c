/* Reads XML with expat; see xml.h. */
#include "cloud/xml.h"

#include <ctype.h>
#include <expat.h>
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"

enum { MAX_PATH_TEXT = 1024 };

struct reading {
	const struct xml_reader *to;
	XML_Parser parser;
	struct error *err;
	bool failed;
	int depth;
	char path[MAX_PATH_TEXT];    /* "Contents/Key" */
	size_t ends[XML_MAX_DEPTH];  /* length of the path before each element */
	size_t texts[XML_MAX_DEPTH]; /* where each element's text begins */
	struct buf text;             /* the texts of all open elements */
};

static void stop(struct reading *r)
{
	r->failed = true;
	XML_StopParser(r->parser, XML_FALSE);
}

static void on_doctype(void *ctx, const XML_Char *name, const XML_Char *system,
		       const XML_Char *public, int internal)
{
	struct reading *r = ctx;

	(void)name, (void)system, (void)public, (void)internal;
	error_set(r->err, ERR_FORMAT, "XML with a document type is not accepted");
	stop(r);
}

static void on_start(void *ctx, const XML_Char *name, const XML_Char **attributes)
{
	struct reading *r = ctx;
	const char *local = strrchr(name, ':');
	size_t len = strlen(r->path);

	if (r->failed)
		return;
	local = local && local[1] ? local + 1 : name; /* "a:" is all of a name */
	if (r->depth == XML_MAX_DEPTH || len + strlen(local) + 2 > sizeof(r->path)) {
		error_set(r->err, ERR_LIMIT, "XML is deeper than %d elements",
			  XML_MAX_DEPTH);
		stop(r);
		return;
	}
	r->ends[r->depth] = len;
	r->texts[r->depth] = r->text.len;
	if (r->depth++)
		snprintf(r->path + len, sizeof(r->path) - len, "%s%s", len ? "/" : "",
			 local);
}

static void on_text(void *ctx, const XML_Char *text, int len)
{
	struct reading *r = ctx;

	if (r->failed)
		return;
	buf_add(&r->text, text, (size_t)len);
	if (!buf_check(&r->text, "an XML element's text", r->err))
		return;
	stop(r);
}

/*
 * Remove line breaks and indentation around a text, but keep blanks: a key may end with
 * one.
 */
static char *trimmed(char *s)
{
	size_t end = strlen(s), begin = 0;

	while (end && isspace((unsigned char)s[end - 1]))
		end--;
	while (begin < end && isspace((unsigned char)s[begin]))
		begin++;
	if (strchr(s + end, '\n'))
		s[end] = 0;
	return memchr(s, '\n', begin) ? s + begin : s;
}

static void on_end(void *ctx, const XML_Char *name)
{
	struct reading *r = ctx;
	size_t start;

	if (r->failed)
		return;
	start = r->texts[--r->depth];
	buf_adds(&r->text, ""); /* avoid a NULL pointer */
	if (r->to->end(r->to->ctx, r->path, trimmed((char *)r->text.data + start),
		       r->err)) {
		stop(r);
		return;
	}
	r->text.len = start;
	r->text.data[start] = 0;
	r->path[r->ends[r->depth]] = 0;
}

int xml_read(const void *data, size_t len, const struct xml_reader *reader,
	     struct error *err)
{
	struct reading r = { .to = reader, .err = err, .text.max = XML_MAX_TEXT };
	enum XML_Status status;

	if (len > INT_MAX)
		return error_set(err, ERR_LIMIT, "XML exceeds 2 GiB");
	/* Some servers send white space, as a keepalive, before the declaration. */
	for (; len && isspace(*(const unsigned char *)data); len--)
		data = (const char *)data + 1;
	r.parser = XML_ParserCreate("UTF-8");
	if (!r.parser)
		return error_set(err, ERR_IO, "cannot start expat");
	XML_SetUserData(r.parser, &r);
	XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
	XML_SetElementHandler(r.parser, on_start, on_end);
	XML_SetCharacterDataHandler(r.parser, on_text);
	status = XML_Parse(r.parser, data, (int)len, XML_TRUE);
	if (status != XML_STATUS_OK && !r.failed) {
		r.failed = true;
		error_set(err, ERR_FORMAT, "line %lu: invalid XML: %s",
			  (unsigned long)XML_GetCurrentLineNumber(r.parser),
			  XML_ErrorString(XML_GetErrorCode(r.parser)));
	}
	XML_ParserFree(r.parser);
	buf_release(&r.text);
	return r.failed ? -1 : 0;
}
