/* convert_test.h - the schemas that convert reads jobs by. */
#ifndef TESTS_UNIT_CONVERT_CONVERT_TEST_H
#define TESTS_UNIT_CONVERT_CONVERT_TEST_H

#include "base/cleanup.h"
#include "base/file.h"
#include "convert/convert.h"
#include "tests/unit/unit.h"

static struct schema *ours;
static struct convert_conf conf;

static struct schema *load(const char *path, const struct schema *base)
{
	cleanup_buf struct buf text = { .max = 1 << 20 };
	struct schema *ret = NULL;
	struct error err = { 0 };

	if (file_read(&text, path, &err) ||
	    schema_load_on(&ret, base, text.data, text.len, &err))
		fail_msg("%s", err.msg);
	return ret;
}

static int group_setup(void **state)
{
	ours = load("core/assets/schema.yaml", NULL);
	conf.v1 = load("core/assets/v1.yaml", ours);
	conf.v2beta1 = load("core/assets/v2beta1.yaml", conf.v1);
	return 0;
}

static int group_teardown(void **state)
{
	schema_free((struct schema *)conf.v1);
	schema_free((struct schema *)conf.v2beta1);
	schema_free(ours);
	return 0;
}

#endif
