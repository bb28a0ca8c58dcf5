/*
 * Counts work (cost.h). The linker sends calls of libc and cJSON here (WRAPPED in the
 * Makefile).
 */
#include "tests/unit/cost.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"

static __thread uint64_t count;

uint64_t cost_now(void)
{
	return count;
}

bool cost_is_linear(const char *what, uint64_t (*cost)(const void *ctx, size_t n),
		    const void *ctx, size_t n)
{
	uint64_t few = cost(ctx, n), many = cost(ctx, 16 * n);

	if (few < n)
		fail_msg("%s: %zu cost %" PRIu64
			 ": was it compiled without the count? Run "
			 "rm -r build/san",
			 what, n, few);
	if (many <= 32 * few)
		return true;
	print_error("%s: %zu cost %" PRIu64 ", %zu cost %" PRIu64
		    ": %.1f times as much\n",
		    what, n, few, 16 * n, many, (double)many / (double)few);
	return false;
}

/* ---- documents with many elements ------------------------------------------------- */

static void add_element(struct buf *out, const char *text, size_t len, size_t i, size_t n)
{
	for (const char *p = text; p < text + len; p++)
		if (*p == '#')
			buf_printf(out, "%zu", i);
		else if (*p == '^')
			buf_printf(out, "%zu", n - 1 - i);
		else
			buf_add(out, *p == '\'' ? "\"" : p, 1);
}

cJSON *cost_doc(const char *text, size_t n)
{
	cleanup_buf struct buf out = { .max = JSON_MAX_BYTES };
	cJSON *doc = NULL;
	struct error err = { 0 };

	while (*text) {
		size_t plain = strcspn(text, "<"), len;

		add_element(&out, text, plain, 0, 1);
		text += plain;
		if (!*text)
			break;
		len = strcspn(++text, ">");
		for (size_t i = 0; i < n; i++) {
			buf_adds(&out, i ? "," : "");
			add_element(&out, text, len, i, n);
		}
		text += len + 1;
	}
	if (json_parse(&doc, out.data, out.len, &err))
		fail_msg("%s", err.msg);
	return doc;
}

/* ---- what the compiler calls ------------------------------------------------------ */

void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, const uint32_t *stop);
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, const uint32_t *stop)
{
}

void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
	count++;
}

/* ---- libc: by bytes --------------------------------------------------------------- */

enum { BYTES = 16 };

/* RESULT NAME(PARAMETERS) costs as many BYTES as `bytes` says, an expression with `ret`. */
#define WRAP(result, name, parameters, arguments, bytes) \
	result __real_##name parameters;                 \
	result __wrap_##name parameters;                 \
	result __wrap_##name parameters                  \
	{                                                \
		result ret = __real_##name arguments;    \
                                                         \
		count += (uint64_t)(bytes) / BYTES;      \
		return ret;                              \
	}

static size_t same(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

static size_t same_bytes(const char *a, const char *b, size_t max)
{
	size_t n = 0;

	while (n < max && a[n] == b[n])
		n++;
	return n;
}

WRAP(void *, __asan_memcpy, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, __asan_memmove, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, __asan_memset, (void *to, int c, size_t n), (to, c, n), n)
WRAP(size_t, strlen, (const char *s), (s), ret)
WRAP(char *, strchr, (const char *s, int c), (s, c), ret ? ret - s : (long)strlen(s))
WRAP(char *, strstr, (const char *s, const char *what), (s, what),
     ret ? ret - s : (long)strlen(s))
WRAP(void *, memchr, (const void *s, int c, size_t n), (s, c, n),
     ret ? (const char *)ret - (const char *)s : (long)n)
WRAP(int, strcmp, (const char *a, const char *b), (a, b), same(a, b))
WRAP(int, strncmp, (const char *a, const char *b, size_t n), (a, b, n),
     same_bytes(a, b, strnlen(a, n)))
WRAP(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n),
     same_bytes(a, b, n))

/* ---- cJSON: by elements ----------------------------------------------------------- */

#undef WRAP
/* FIRST: where it begins to go over elements, up to `last` of them. */
#define WRAP(result, name, parameters, arguments, first, last) \
	result __real_##name parameters;                       \
	result __wrap_##name parameters;                       \
	result __wrap_##name parameters                        \
	{                                                      \
		walk(first, last);                             \
		return __real_##name arguments;                \
	}

static void walk(const cJSON *parent, int64_t most)
{
	const cJSON *child;

	json_each(child, parent) {
		if (most-- <= 0)
			return;
		count++;
	}
}

/* The place of a member, from 1; all of them where there is no such member. */
static int64_t up_to(const cJSON *parent, const char *name)
{
	const cJSON *child;
	int64_t n = 0;

	json_each(child, parent) {
		n++;
		if (child->string && !strcmp(child->string, name))
			break;
	}
	return n;
}

WRAP(int, cJSON_GetArraySize, (const cJSON *list), (list), list, INT64_MAX)
WRAP(cJSON *, cJSON_GetArrayItem, (const cJSON *list, int i), (list, i), list, i)
WRAP(cJSON *, cJSON_DetachItemFromArray, (cJSON * list, int i), (list, i), list, i)
WRAP(void, cJSON_DeleteItemFromArray, (cJSON * list, int i), (list, i), list, i)
WRAP(cJSON_bool, cJSON_InsertItemInArray, (cJSON * list, int i, cJSON *item),
     (list, i, item), list, i)
WRAP(cJSON_bool, cJSON_ReplaceItemInObjectCaseSensitive,
     (cJSON * object, const char *name, cJSON *item), (object, name, item), object,
     up_to(object, name))
WRAP(cJSON *, cJSON_DetachItemFromObjectCaseSensitive, (cJSON * object, const char *name),
     (object, name), object, up_to(object, name))
WRAP(void, cJSON_DeleteItemFromObjectCaseSensitive, (cJSON * object, const char *name),
     (object, name), object, up_to(object, name))
