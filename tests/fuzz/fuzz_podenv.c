/*
 * A container's environment and arguments from whatever document; files of variables
 * from whatever bytes a job wrote; $(NAME) against a slow and simple reference.
 *
 * The input is a JSON object {pod, container, objects}; or, when it is none, text.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kubelet/envfile.h"
#include "kubelet/podenv.h"
#include "tests/fuzz/fuzz.h"

static const char *const names[] = { "A", "B", "PET_MASTER_PORT", NULL };
static const char *const values[] = { "a", "$(A)", "29500" };

/* One character at a time, as the rule reads. */
static void expand_slowly(struct buf *out, const char *s)
{
	while (*s) {
		bool done = false;

		if (s[0] == '$' && s[1] == '$') {
			buf_adds(out, "$");
			s += 2;
			continue;
		}
		for (size_t i = 0; names[i] && !done; i++) {
			size_t n = strlen(names[i]);

			if (s[0] == '$' && s[1] == '(' && !strncmp(s + 2, names[i], n) &&
			    s[2 + n] == ')') {
				buf_adds(out, values[i]);
				s += 3 + n;
				done = true;
			}
		}
		if (done)
			continue;
		/* A reference to nothing stays, whole: what is in it is not looked at. */
		if (s[0] == '$' && s[1] == '(' && strchr(s, ')')) {
			size_t n = (size_t)(strchr(s, ')') - s) + 1;

			buf_add(out, s, n);
			s += n;
			continue;
		}
		buf_add(out, s, 1);
		if (*s++ == '$' && *s)
			buf_add(out, s++, 1);
	}
}

static void check_text(struct arena *a, const char *text)
{
	cleanup_map struct map vars = { 0 };
	cleanup_buf struct buf slow = { .max = 1 << 20 };
	const char *value = NULL;
	struct error err = { 0 };

	for (size_t i = 0; names[i]; i++)
		map_put(&vars, names[i], (void *)(uintptr_t)values[i]);
	expand_slowly(&slow, text);
	FUZZ_CHECK(str_eq(podenv_expand(a, text, &vars),
			  slow.data ? (char *)slow.data : ""));
	if (envfile_get(a, text, "K", &value, &err))
		FUZZ_CHECK(str_starts(err.msg, "line ") && !value);
	/* What it read can be written down and read again. */
	if (value && !strchr(value, '\'')) {
		const char *again = NULL;

		FUZZ_CHECK(!envfile_get(a, arena_printf(a, "K='%s'\n", value), "K",
					&again, &err));
		FUZZ_CHECK(str_eq(again, value));
	}
}

static void check_pod(struct arena *a, const cJSON *doc)
{
	static const char *const callers[] = { "HOME=/", "A=1", "odd", NULL };
	struct podenv_host host = { .environ = callers,
				    .objects = json_get(doc, "objects"),
				    .node_name = "n",
				    .cpus = 2,
				    .memory = 1 << 30,
				    .port_from = 29500,
				    .port_to = 30000 };
	struct podenv_pod pod = { .pod = json_get(doc, "pod"),
				  .container = json_get(doc, "container"),
				  .ip = "127.1.1.1",
				  .hostname = "h",
				  .volumes = "/nonexistent",
				  .gpus = "0,1" };
	struct podenv env = { 0 };
	struct error err = { 0 };

	if (podenv_build(a, &host, &pod, &env, &err)) {
		FUZZ_CHECK(err.kind != ERR_NONE && err.msg[0]);
		return;
	}
	for (size_t i = 0; env.envp[i]; i++)
		for (size_t j = 0; j < i && i < 64; j++) {
			size_t n = strcspn(env.envp[i], "=");

			FUZZ_CHECK(env.envp[i][n] == '=');
			FUZZ_CHECK(strncmp(env.envp[i], env.envp[j], n + 1) != 0);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };

	if (size > 65536)
		return 0;
	if (json_parse(&doc, data, size, &err) == 0 && cJSON_IsObject(doc))
		check_pod(&arena, doc);
	else
		check_text(&arena, str_slice(&arena, (const char *)data,
					     strnlen((const char *)data, size)));
	return 0;
}
