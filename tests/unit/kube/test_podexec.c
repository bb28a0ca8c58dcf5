/*
 * The end of a command in a pod, as API servers, kubelets and container runtimes word it.
 */
#include <string.h>

#include "kube/podexec.h"
#include "tests/unit/unit.h"

#define FAILED "{\"status\":\"Failure\",\"message\":\"m\","

static const struct {
	const char *status;
	int code; /* -1: it has none */
	int why;  /* err->code then */
} ends[] = {
	{ "{\"metadata\":{},\"status\":\"Success\"}", 0, 0 },
	{ FAILED "\"reason\":\"NonZeroExitCode\",\"details\":{\"causes\":[{\"reason\":"
		 "\"ExitCode\",\"message\":\"41\"}]}}",
	  41, 0 },
	{ FAILED
	  "\"details\":{\"causes\":[{},1,{\"reason\":\"Other\",\"message\":\"1\"},{"
	  "\"reason\":\"ExitCode\",\"message\":\"255\"}]}}",
	  255, 0 },
	{ FAILED
	  "\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"256\"}]}}",
	  -1, 0 },
	{ FAILED
	  "\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"-1\"}]}}",
	  -1, 0 },
	{ FAILED "\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":7}]}}",
	  -1, 0 },
	{ FAILED "\"details\":{\"causes\":7}}", -1, 0 },
	{ "{\"status\":\"Failure\",\"message\":\"exec: \\\"x\\\": executable file not found in "
	  "$PATH: unknown\"}",
	  -1, PODEXEC_NOT_FOUND },
	{ "{\"status\":\"Failure\",\"message\":\"exec: \\\"/x\\\": stat /x: no such file or "
	  "directory\"}",
	  -1, PODEXEC_NOT_FOUND },
	{ "{\"status\":\"Failure\",\"message\":\"exec /x: permission denied\"}", -1,
	  PODEXEC_NOT_EXECUTABLE },
	{ "{\"status\":7}", -1, 0 },
	{ "[]", -1, 0 },
	{ "", -1, 0 },
	{ "command terminated with exit code 1", -1, 0 },
};

TEST(end_of_a_command)
{
	for (size_t i = 0; i < N_ELEMENTS(ends); i++) {
		struct error err = { 0 };
		int code = -1;
		int rc = podexec_status(ends[i].status, strlen(ends[i].status), &code,
					&err);

		assert_int_equal(rc, ends[i].code < 0 ? -1 : 0);
		assert_int_equal(code, ends[i].code);
		assert_int_equal(err.code, ends[i].why);
		assert_int_equal(err.kind != ERR_NONE, rc != 0);
	}
}

RUN_TESTS(NULL, NULL)
