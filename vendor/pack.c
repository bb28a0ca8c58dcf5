/*
 * pack.c - standard input as one zstd frame on standard output: what the build embeds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

enum { MOST = 16 << 20, LEVEL = 19 };

int main(void)
{
	size_t bound = ZSTD_compressBound(MOST), n, len;
	char *in = malloc(MOST), *out = malloc(bound);

	if (!in || !out)
		return 1;
	len = fread(in, 1, MOST, stdin);
	if (ferror(stdin) || len == MOST)
		return 1;
	n = ZSTD_compress(out, bound, in, len, LEVEL);
	return ZSTD_isError(n) || fwrite(out, 1, n, stdout) != n || fflush(stdout);
}
