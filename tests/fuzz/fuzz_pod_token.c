/*
 * A pod's token on this machine: whatever its claims, all of what is read of them is there
 * or the token is none; and what is made for a pod is read back.
 */
#include <string.h>

#include "api/meta.h"
#include "apiserver/pod_token.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "crypto/jwt.h"
#include "tests/fuzz/fuzz.h"

#define KEY "key"

static void check_read(const char *token)
{
	struct pod_token t;

	if (pod_token_read(&t, KEY, token)) {
		FUZZ_CHECK(t.claims && t.ns && t.pod && t.uid && t.audience);
		cJSON_Delete(t.claims);
	} else {
		FUZZ_CHECK(!t.claims && !t.ns && !t.pod && !t.uid && !t.audience);
	}
}

static void check_made(const cJSON *pod)
{
	cleanup_buf struct buf token = { .max = 1 << 20 };
	struct pod_token t;

	if (!meta_namespace(pod) || !meta_name(pod) || !meta_uid(pod))
		return;
	pod_token_make(&token, KEY, pod, "a");
	FUZZ_CHECK(pod_token_read(&t, KEY, (const char *)token.data));
	FUZZ_CHECK(str_eq(t.ns, meta_namespace(pod)) && str_eq(t.pod, meta_name(pod)) &&
		   str_eq(t.uid, meta_uid(pod)) && str_eq(t.audience, "a"));
	cJSON_Delete(t.claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf token = { .max = 1 << 20 };
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };

	check_read(str_slice(&arena, (const char *)data, size));
	if (json_parse(&doc, data, size, &err) || size > 8192)
		return 0;
	jwt_make(&token, KEY, doc);
	check_read((const char *)token.data);
	if (cJSON_IsObject(doc))
		check_made(doc);
	return 0;
}
