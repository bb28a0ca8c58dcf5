/* A checkpoint whose ranks have different files of the same names, back on a node. */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "crypto/digest.h"
#include "runs/resume.h"
#include "tests/unit/base/base_test.h"

enum { RANKS = 2, MANY = 1200 };

struct run {
	struct arena arena;
	char dir[32];
	struct checkpoint head;
	struct buf lines[RANKS];
};

static const char *no_env(void *ctx, const char *name)
{
	return NULL;
}

static void say(void *ctx, const char *text)
{
	fail_msg("%s", text);
}

static void write_file(struct run *r, const char *dir, const char *name, const char *text)
{
	struct error err = { 0 };

	assert_int_equal(dir_make(dir, 0700, &err), 0);
	assert_int_equal(file_write(path_join(&r->arena, dir, name), text, strlen(text),
				    0600, &err),
			 0);
}

static void add(struct run *r, uint32_t rank, const char *name, const char *text)
{
	char hex[DIGEST_HEX_SIZE];
	const struct checkpoint_file f = { rank, name, (int64_t)strlen(text),
					   digest_hex_of(DIGEST_SHA256, text,
							 strlen(text), hex) };

	write_file(r,
		   arena_printf(&r->arena,
				rank ? "%s/run/checkpoints/c.rank-%u"
				     : "%s/run/checkpoints/c",
				r->dir, rank),
		   name, text);
	checkpoint_print_file(&r->lines[rank], &f);
	r->head.files++;
	r->head.bytes += f.size;
}

static void finish(struct run *r)
{
	cleanup_buf struct buf text = { .max = CHECKPOINT_MANIFEST_MAX };

	checkpoint_print(&text, &r->head);
	for (int i = 0; i < RANKS; i++) {
		buf_add(&text, r->lines[i].data, r->lines[i].len);
		buf_release(&r->lines[i]);
	}
	write_file(r, arena_printf(&r->arena, "%s/run/checkpoints", r->dir),
		   "c" CHECKPOINT_COMPLETE, (const char *)text.data);
}

static void check_file(struct run *r, const char *name, const char *text)
{
	cleanup_buf struct buf got = { .max = 1000 };

	check_int(name,
		  file_read(&got, arena_printf(&r->arena, "%s/node/c/%s", r->dir, name),
			    IGNORED),
		  0);
	check_text(name, (const char *)got.data, text);
}

static struct run begin(void)
{
	struct run r = { .dir = "/tmp/kft-resume-XXXXXX",
			 .head = { .name = "c", .nodes = RANKS, .step = -1, .time = 1 } };

	for (int i = 0; i < RANKS; i++)
		r.lines[i].max = CHECKPOINT_MANIFEST_MAX;
	assert_non_null(mkdtemp(r.dir));
	return r;
}

/* Rank 0 has the checkpoint on its node. */
static void resume(struct run *r)
{
	const struct resume_conf conf = { .dir = arena_printf(&r->arena, "%s/node",
							      r->dir),
					  .ranks = RANKS,
					  .attempt = 1,
					  .say = say };
	struct rundir p;
	struct error err = { 0 };
	const char *name;

	assert_int_equal(rundir_open(&p, arena_printf(&r->arena, "file://%s/run", r->dir),
				     no_env, NULL, &err),
			 0);
	check_int("resume", resume_prepare(&conf, &p, &r->arena, &name, &err), 0);
	check_text("the checkpoint", name, "c");
	rundir_close(&p);
}

static void end(struct run *r)
{
	assert_int_equal(dir_remove(r->dir, &(struct error){ 0 }), 0);
	arena_clear(&r->arena);
}

/* Whatever else another rank has, only the files that are its alone are fetched from it. */
TEST(test_many_files)
{
	struct run r = begin();

	add(&r, 0, "args.json", "of rank 0");
	add(&r, 1, "args.json", "of rank 1");
	for (int i = 0; i < MANY; i++)
		add(&r, 1, arena_printf(&r.arena, "shard-%04d", i), "x");
	finish(&r);
	resume(&r);
	check_file(&r, "args.json", "of rank 0");
	check_file(&r, "shard-1199", "x");
	end(&r);
}

TEST(test_names_that_end_in_another)
{
	struct run r = begin();

	add(&r, 0, "10.pt", "of rank 0");
	add(&r, 1, "0.pt", "of rank 1");
	add(&r, 1, "10.pt", "10 of rank 1");
	finish(&r);
	write_file(&r, arena_printf(&r.arena, "%s/node/c", r.dir), "10.pt", "of rank 0");
	resume(&r);
	check_file(&r, "0.pt", "of rank 1");
	check_file(&r, "10.pt", "of rank 0");
	end(&r);
}

RUN_TESTS(NULL, NULL)
