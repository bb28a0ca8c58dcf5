/* Which checkpoints are complete, and which one is the newest. */
#include "runs/checkpoint.h"

#include "tests/unit/base/base_test.h"

#define SUM "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define HEAD(files, bytes)                                                    \
	"{\"layout\":1,\"name\":\"checkpoint-500\",\"step\":500,\"time\":"    \
	"\"2026-11-27T11:42:00Z\",\"attempt\":2,\"nodes\":2,\"files\":" files \
	",\"bytes\":" bytes ",\"single\":false}\n"
#define FILE_(rank, path, size)                                                  \
	"{\"rank\":" rank ",\"path\":\"" path "\",\"size\":" size ",\"sha256\":" \
	"\"" SUM "\"}\n"

TEST(test_names)
{
	static const struct {
		const char *name;
		bool ok;
		int64_t step;
	} rows[] = {
		{ "checkpoint-500", true, 500 },
		{ "epoch=3-step=40.ckpt", true, 40 },
		{ "last.ckpt", true, -1 },
		{ "step_7", true, 7 },
		{ "v1.5", true, -1 },
		{ "step=10-v6.ckpt", true, 10 },
		{ "7-v1.ckpt", true, 7 },
		{ "sample-epoch=02-val_loss=0.32.ckpt", true, -1 },
		{ "epoch=2-acc=93-step=700.ckpt", true, 700 },
		{ "epoch=02.ckpt", true, 2 },
		{ "epoch=2-acc=93.ckpt", true, -1 },
		{ "iter-1080000-ckpt.pth", true, 1080000 },
		{ "global_step100", true, 100 },
		{ "iteration_0000012", true, 12 },
		{ "stepwise", true, -1 },
		{ "efficientdet-d0_3_5000.pth", true, 5000 },
		{ "\xc3\xa9 7", true, 7 },
		{ "99999999999999999999", true, -1 },
		{ "", false, -1 },
		{ ".hidden", false, -1 },
		{ "..", false, -1 },
		{ "a/b-1", false, 1 },
		{ "a\nb", false, -1 },
		{ "\xff", false, -1 },
		{ "a.complete", false, -1 },
		{ "a.rank-1", false, -1 },
		{ "a.files", false, -1 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		check_int(rows[i].name, checkpoint_name_valid(rows[i].name), rows[i].ok);
		check_int(rows[i].name, checkpoint_step(rows[i].name), rows[i].step);
	}
}

TEST(test_round_trip)
{
	static const char text[] = HEAD("3", "6") FILE_("0", "a", "1")
		FILE_("0", "dir/b c*", "2") FILE_("1", "a", "3");
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf out = { .max = 10000 };
	struct error err = { 0 };
	struct checkpoint_manifest c;

	if (checkpoint_read_manifest(&c, &arena, text, strlen(text), &err))
		fail_msg("%s", err.msg);
	checkpoint_print(&out, &c.head);
	for (int64_t i = 0; i < c.head.files; i++)
		checkpoint_print_file(&out, &c.files[i]);
	check_text("printed", (const char *)out.data, text);
	for (size_t len = 0; len < strlen(text); len++)
		if (!checkpoint_read_manifest(&c, &arena, text, len, IGNORED))
			fail_msg("the first %zu bytes are accepted", len);
}

TEST(test_refused)
{
	static const char *const rows[] = {
		"",
		"\n",
		"{}\n",
		HEAD("0", "0"),
		HEAD("1", "2") FILE_("0", "a", "1"),
		HEAD("2", "2") FILE_("0", "a", "1") FILE_("0", "a", "1"),
		HEAD("2", "2") FILE_("1", "a", "1") FILE_("0", "a", "1"),
		HEAD("1", "1") FILE_("2", "a", "1"),
		HEAD("1", "1") FILE_("0", "../a", "1"),
		HEAD("1", "1") FILE_("0", "/a", "1"),
		HEAD("1", "1") FILE_("-1", "a", "1"),
		HEAD("1", "-1") FILE_("0", "a", "-1"),
		HEAD("1000000000", "1") FILE_("0", "a", "1"),
		HEAD("1", "1") FILE_("0", "a", "1") "x\n",
		HEAD("1", "1") FILE_("0", "a", "1") FILE_("0", "b", "0"),
		HEAD("1",
		     "1") "{\"rank\":0,\"path\":\"a\",\"size\":1,\"sha256\":\"x\"}\n",
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct checkpoint_manifest c;

		check_int(rows[i],
			  checkpoint_read_manifest(&c, &arena, rows[i], strlen(rows[i]),
						   &err),
			  -1);
		check_int(rows[i], err.kind, ERR_FORMAT);
	}
}

TEST(test_newest)
{
	const struct checkpoint order[] = {
		{ .name = "a", .attempt = 3, .step = 1, .time = 1 },
		{ .name = "c", .attempt = 2, .step = 100, .time = 9 },
		{ .name = "d", .attempt = 2, .step = -1, .time = 9 },
		{ .name = "g", .attempt = 2, .step = -1, .time = 8, .us = 2 },
		{ .name = "e", .attempt = 2, .step = -1, .time = 8, .us = 1 },
		{ .name = "c", .attempt = 2, .step = -1, .time = 8 },
		{ .name = "b", .attempt = 2, .step = 900, .time = 3 },
		{ .name = "f", .attempt = 1, .step = 999, .time = 99 },
	};

	for (size_t i = 0; i < N_ELEMENTS(order); i++)
		for (size_t k = 0; k < N_ELEMENTS(order); k++) {
			int sign = checkpoint_compare(&order[i], &order[k]);

			check_int(order[i].name, sign < 0 ? -1 : sign > 0,
				  i < k ? -1 : i > k);
		}
}

/* As pickles have them: protocols 4 and 2, the name of another directory, no such name. */
TEST(test_lacks)
{
	static const char text[] = HEAD("3", "3") FILE_("0", "__0_0.distcp", "1")
		FILE_("0", "opt/.metadata", "1") FILE_("1", "opt/__12_3.distcp", "1");
	static const struct {
		const char *path, *metadata, *lacks;
	} rows[] = {
		{ ".metadata", "}\x8c\x0c__0_0.distcp\x94s", NULL },
		{ ".metadata", "}\x8c\x0c__0_0.distcp\x94\x8c\x0c__1_0.distcp\x94",
		  "__1_0.distcp" },
		{ ".metadata", "X\r___12_3.distcpq", "__12_3.distcp" },
		{ "opt/.metadata", "X\r__12_3.distcpq", NULL },
		{ "opt/.metadata", "__0_0.distcp", "opt/__0_0.distcp" },
		{ ".metadata", "../step-1/__7_0.distcp", NULL },
		{ ".metadata", "____0.distcp __0_.distcp __0_1.distc __0_1", NULL },
		{ ".metadata", "whole", NULL },
	};
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct checkpoint_manifest c;

	if (checkpoint_read_manifest(&c, &arena, text, strlen(text), &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check_text(rows[i].metadata,
			   checkpoint_missing(&c, &arena, rows[i].path, rows[i].metadata,
					      strlen(rows[i].metadata)),
			   rows[i].lacks);
}

RUN_TESTS(NULL, NULL)
