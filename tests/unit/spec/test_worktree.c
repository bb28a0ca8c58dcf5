/* The commit of a work tree, which may be a stranger's. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/base/base_test.h"

#include "base/file.h"
#include "base/str.h"
#include "spec/worktree.h"

static char dir[] = "/tmp/kft-worktree-XXXXXX";

static int set_up(void **state)
{
	return mkdtemp(dir) ? chdir(dir) : -1;
}

static int tear_down(void **state)
{
	return chdir("/") ? -1 : dir_remove(dir, IGNORED);
}

static void sh(const char *script)
{
	if (system(script))
		fail_msg("%s", script);
}

#define GIT "git -C repo -c user.name=a -c user.email=b "
#define NEW                                                                           \
	"rm -rf repo ran && git init -q repo && echo 1 >repo/a && echo 2 >repo/b && " \
	"git -C repo add . && " GIT "commit -qm x && "

/* "": none; "clean", "dirty": the commit without, with "-dirty". */
static const char *kind_of(const char *commit)
{
	return !commit ? "" : str_ends(commit, "-dirty") ? "dirty" : "clean";
}

static void check(const char *script, const char *want)
{
	cleanup_arena struct arena arena = { 0 };
	const char *got;

	sh(arena_printf(&arena, "{ %s; } >out 2>&1", script));
	got = worktree_commit(&arena, "repo");
	check_text(script, kind_of(got), want);
	if (file_exists("ran"))
		fail_msg("%s: a program was run", script);
	if (got && file_exists("repo/.git"))
		sh(arena_printf(&arena, "test \"$(git -C repo rev-parse HEAD)\" = %.40s",
				got));
}

TEST(test_what_differs)
{
	static const char *const rows[][2] = {
		{ "rm -rf repo && mkdir repo", "" },
		{ "rm -rf repo && git init -q repo", "" },
		{ "rm -rf repo && git init -q --bare repo", "" },
		{ NEW "true", "clean" },
		{ NEW "touch -d 2001-01-01 repo/a", "clean" },
		{ NEW "echo new >repo/new", "clean" },
		{ NEW "echo 3 >repo/a", "dirty" },
		{ NEW "rm repo/a", "dirty" },
		{ NEW "chmod +x repo/a", "dirty" },
		{ NEW "echo new >repo/new && git -C repo add new", "dirty" },
		{ NEW "mv repo real && git -C real worktree add -q ../repo", "clean" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		sh("rm -rf real");
		check(rows[i][0], rows[i][1]);
	}
}

/* Each with a file whose time differs, so that its content is looked at. */
TEST(test_no_program_is_run)
{
#define EVIL                                                                            \
	NEW "printf '#!/bin/sh\\ntouch %s/ran; exit 1\\n' \"$PWD\" >repo/.git/evil && " \
	    "chmod +x repo/.git/evil && touch -d 2001-01-01 repo/a && "
#define CONFIG "git -C repo config "
#define ALL    "echo '* filter=x' >repo/.git/info/attributes"
	static const char *const rows[][2] = {
		{ EVIL CONFIG "core.fsmonitor .git/evil", "clean" },
		{ EVIL CONFIG "filter.x.clean .git/evil && " ALL, "clean" },
		{ EVIL CONFIG "filter.x.process .git/evil && " ALL, "clean" },
		{ EVIL CONFIG "filter.x.clean .git/evil && " CONFIG
			      "filter.x.required true && " ALL,
		  "clean" },
		{ EVIL CONFIG "filter.a=b.clean .git/evil && "
			      "echo '* filter=a=b' >repo/.git/info/attributes",
		  "" },
		{ EVIL CONFIG "extensions.worktreeConfig true && " CONFIG
			      "--worktree filter.x.clean .git/evil && " ALL,
		  "clean" },
		{ EVIL CONFIG "-f repo/.git/more filter.x.clean .git/evil; " CONFIG
			      "include.path more && " CONFIG
			      "-f .git/more filter.x.clean .git/evil && " ALL,
		  "clean" },
		{ EVIL CONFIG "core.hooksPath .git && "
			      "cp repo/.git/evil repo/.git/post-index-change",
		  "clean" },
		{ EVIL CONFIG "filter.x.clean .git/evil && "
			      "echo '* filter=x' >repo/.gitattributes && echo 3 >repo/a",
		  "dirty" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		check(rows[i][0], rows[i][1]);
}

/* A partial clone fetches what is missing, by a program of its configuration. */
TEST(test_nothing_is_fetched)
{
	check(EVIL CONFIG "remote.o.url ssh://evil/x && " CONFIG
			  "remote.o.promisor true && " CONFIG
			  "core.repositoryFormatVersion 1 && " CONFIG
			  "extensions.partialClone o && " CONFIG
			  "core.sshCommand \"$PWD/repo/.git/evil\" && "
			  "rm -rf repo/.git/objects/$(git -C repo rev-parse "
			  "'HEAD^{tree}' | cut -c1-2)",
	      "");
}

RUN_TESTS(set_up, tear_down)
