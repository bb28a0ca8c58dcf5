/* What is in a file's place: a pointer of Git LFS, a page of HTML. */
#include <string.h>

#include "store/content.h"
#include "tests/unit/unit.h"

#define POINTER "version https://git-lfs.github.com/spec/v1\noid sha256:"

TEST(test_what_a_file_is_instead)
{
	static const struct {
		const char *path, *head, *like; /* NULL: nothing */
	} rows[] = {
		{ "model.safetensors", POINTER, "Git LFS pointer" },
		{ "notes", POINTER, "Git LFS pointer" },
		{ "notes", "version https://git-lfs.github", NULL },
		{ "a/model.safetensors", "<!DOCTYPE html><html>", "HTML page" },
		{ "train.parquet", "<html lang=en>", "HTML page" },
		{ "data.json", "\xef\xbb\xbf \r\n\t<!doctype HTML>", "HTML page" },
		{ "index.html", "<!DOCTYPE html>", NULL },
		{ "page", "<html>", NULL },
		{ "model.safetensors", "\x10\0\0\0\0\0\0\0{\"a\"", NULL },
		{ "model.bin", "", NULL },
		{ "model.bin", "   ", NULL },
		{ "model.bin", "<htm", NULL },
		{ "model.bin", "\xef\xbb\xbf", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *got = content_unexpected(rows[i].path, rows[i].head,
						     strlen(rows[i].head));

		if (!got != !rows[i].like || (got && !strstr(got, rows[i].like)))
			fail_msg("%zu: %s", i, got ? got : "nothing");
	}
	assert_null(content_unexpected("x.npy", "\0\0 <html>", 9));
}

RUN_TESTS(NULL, NULL)
