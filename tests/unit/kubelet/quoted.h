/* quoted.h - documents of a test, written with ' in place of ". */
#ifndef TESTS_UNIT_KUBELET_QUOTED_H
#define TESTS_UNIT_KUBELET_QUOTED_H

#include "base/cleanup.h"
#include "base/json.h"
#include "tests/unit/unit.h"

/* The caller's. */
static inline cJSON *parse(const char *text)
{
	struct error err = { 0 };
	cleanup_buf struct buf b = { .max = 65536 };
	cJSON *doc = NULL;

	buf_adds(&b, text);
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] == '\'')
			b.data[i] = '"';
	if (json_parse(&doc, b.data, b.len, &err))
		fail_msg("%s: %s", text, err.msg);
	return doc;
}

#endif
