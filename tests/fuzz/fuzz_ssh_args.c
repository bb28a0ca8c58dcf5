/* The command lines of launchers, a word a line: read, or refused with a message. */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "mpi/ssh_args.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_WORDS = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = { 0 };
	size_t n = 0;
	char **words = str_split(&a, str_slice(&a, (const char *)data, size), '\n', &n);
	struct ssh_args args = { 0 };
	struct error err = { 0 };

	if (n > MAX_WORDS)
		return 0;
	if (ssh_args_parse(&args, &a, (int)n, words, &err)) {
		FUZZ_CHECK(err.msg[0] && !args.host && !args.wait_file);
		return 0;
	}
	FUZZ_CHECK(args.wait_file || args.watch_file ? !args.host
						     : args.host && args.host[0]);
	FUZZ_CHECK(args.command && args.port >= 0 && args.port <= 65535);
	FUZZ_CHECK(args.timeout_ms >= 0 && args.connect_timeout_s >= 0);
	/* The command is what the words end with, whatever is in them. */
	if (n && args.command[0])
		FUZZ_CHECK(str_ends(args.command, words[n - 1]));
	return 0;
}
