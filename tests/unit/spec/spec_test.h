/*
 * spec_test.h - what the tests of spec/ share: files to read, and the lines reported.
 */
#ifndef SPEC_TEST_H
#define SPEC_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "spec/reporter.h"
#include "tests/unit/unit.h"

#define JOB_HEAD "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"

/* The tests run in a folder of their own, so that messages have plain names. */
static char folder[] = "/tmp/kftrainer-spec-XXXXXX";

static inline int enter_folder(void **state)
{
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static inline int leave_folder(void **state)
{
	struct error err = { 0 };

	return chdir("/") || dir_remove(folder, &err) ? -1 : 0;
}

static inline void write_file(const char *name, const void *data, size_t len)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline void write_text(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

struct lines {
	char text[65536];
	size_t n;
};

static inline void add_line(void *ctx, const char *text)
{
	struct lines *l = ctx;
	size_t len = strlen(l->text);

	l->n++;
	snprintf(l->text + len, sizeof(l->text) - len, "%s\n", text);
}

#endif
