#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/thread.h"
#include "cmd/ui/fetchview.h"
#include "tests/unit/unit.h"

enum { TIMES = 2000 };
#define ERASE "\033[K"

static void *say_often(void *view)
{
	for (int i = 0; i < TIMES; i++)
		fetchview_say(view, "note");
	return NULL;
}

/* Draws the bar often, while a thread says something; standard error as text. */
static void show_both(struct buf *ret)
{
	const struct fetch_progress now = { .files = 2, .bytes = 100, .bytes_done = 50 };
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	struct fetchview view;
	pthread_t thread;

	fetchview_begin(&view, VIEW_BAR, "test");
	dup2(fileno(file), STDERR_FILENO);
	assert_int_equal(thread_start(&thread, say_often, &view, IGNORED), 0);
	for (int i = 0; i < TIMES; i++)
		fetchview_tick(&view, &now);
	pthread_join(thread, NULL);
	dup2(before, STDERR_FILENO);
	close(before);
	lseek(fileno(file), 0, SEEK_SET);
	assert_int_equal(file_read_fd(ret, fileno(file), "output", IGNORED), 0);
	buf_add(ret, "", 1);
	fclose(file);
}

/* Connections report in their threads: nothing is printed behind the bar. */
TEST(test_bar_and_notes)
{
	cleanup_buf struct buf out = { .max = 4 * 1024 * 1024 };
	int notes = 0;

	show_both(&out);
	for (char *line = (char *)out.data, *end; (end = strchr(line, '\n'));
	     line = end + 1) {
		char *shown = line;

		*end = 0;
		for (char *p = line; (p = strstr(p, ERASE));)
			shown = p += strlen(ERASE);
		assert_string_equal(shown, "note");
		notes++;
	}
	assert_int_equal(notes, TIMES);
}

RUN_TESTS(NULL, NULL)
