/* content.c - recognize what is no model or table (store/content.h). */
#include "store/content.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

/* Suffixes of files that are never HTML. */
static const char *const binary[] = {
	".arrow", ".bin",         ".ckpt", ".gguf", ".gz",   ".h5",      ".json",
	".jsonl", ".msgpack",     ".npy",  ".npz",  ".onnx", ".parquet", ".pt",
	".pth",   ".safetensors", ".tar",  ".tgz",  ".zip",  ".zst",     NULL
};

static bool is_binary(const char *path)
{
	for (size_t i = 0; binary[i]; i++)
		if (str_ends(path, binary[i]))
			return true;
	return false;
}

static bool begins(const char *head, size_t len, const char *with)
{
	return len >= strlen(with) && !strncasecmp(head, with, strlen(with));
}

const char *content_unexpected(const char *path, const void *head, size_t len)
{
	const char *text = head;

	if (begins(text, len, "version https://git-lfs.github.com/spec/"))
		return "it is a Git LFS pointer, not the file itself: run 'git lfs pull' "
		       "where it comes from";
	if (begins(text, len, STR_BOM)) {
		text += strlen(STR_BOM);
		len -= strlen(STR_BOM);
	}
	for (; len && *text && strchr(" \t\r\n", *text); len--)
		text++;
	if (is_binary(path) &&
	    (begins(text, len, "<!doctype html") || begins(text, len, "<html")))
		return "it is an HTML page, not the file itself: check the address, and "
		       "whether one has to log in";
	return NULL;
}
