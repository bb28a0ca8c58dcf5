/*
 * What an hf:// URI means, and what the hub's answers do.
 */

#include "base/cleanup.h"
#include "base/str.h"
#include "store/hf_hub.h"
#include "store/hf_tree.h"
#include "store/hf_uri.h"
#include "tests/unit/unit.h"

static const struct {
	const char *uri;
	bool model;
	const char *kind, *id, *revision, *folder;
} good[] = {
	{ "hf://org/name", true, "models", "org/name", "main", "" },
	{ "hf://org/name", false, "datasets", "org/name", "main", "" },
	{ "HF://org/name/", true, "models", "org/name", "main", "" },
	{ "hf://gpt2", true, "models", "gpt2", "main", "" },
	{ "hf://squad///", false, "datasets", "squad", "main", "" },
	/* Upstream's data sets: the first two parts; its SDK looks in the folder then. */
	{ "hf://tatsu-lab/alpaca/data", false, "datasets", "tatsu-lab/alpaca", "main",
	  "data" },
	{ "hf://org/name/a/b.parquet", false, "datasets", "org/name", "main",
	  "a/b.parquet" },
	/* As huggingface_hub's parse_hf_uri(): paths are names, revisions are decoded. */
	{ "hf://org/name/a%20b", false, "datasets", "org/name", "main", "a%20b" },
	{ "hf://org/name/c#", true, "models", "org/name", "main", "c#" },
	{ "hf://org/name/a #1?.txt", true, "models", "org/name", "main", "a #1?.txt" },
	{ "hf://org/name/a+b%\\c;d", true, "models", "org/name", "main", "a+b%\\c;d" },
	{ "hf://org/name/a@b", true, "models", "org/name", "main", "a@b" },
	{ "hf://org/name/a?revision=v2", true, "models", "org/name", "main",
	  "a?revision=v2" },
	{ "hf://org/name/a%2F..%2F..", true, "models", "org/name", "main",
	  "a%2F..%2F.." },
	{ "hf://org/name@v1#x/a", true, "models", "org/name", "v1#x", "a" },
	{ "hf://org/name@a%23b/c#", true, "models", "org/name", "a#b", "c#" },
	{ "hf://org/name@refs%2Fpr%2F1/a#b", true, "models", "org/name", "refs/pr/1",
	  "a#b" },
	{ "hf://org/name@a@b/c", true, "models", "org/name", "a@b", "c" },
	{ "hf://org/name@v1.0", true, "models", "org/name", "v1.0", "" },
	{ "hf://org/name@v1.0/sub", true, "models", "org/name", "v1.0", "sub" },
	{ "hf://gpt2@abc/onnx", true, "models", "gpt2", "abc", "onnx" },
	{ "hf://org/name@refs/pr/7/sub", true, "models", "org/name", "refs/pr/7", "sub" },
	{ "hf://org/name@refs/convert/parquet", false, "datasets", "org/name",
	  "refs/convert/parquet", "" },
	{ "hf://org/name@refs%2Fpr%2F7", true, "models", "org/name", "refs/pr/7", "" },
	{ "hf://org/name@feature%2Fx/sub", true, "models", "org/name", "feature/x",
	  "sub" },
	{ "hf://org/name?revision=v2", true, "models", "org/name", "v2", "" },
	{ "hf://org/name?revision=v2/sub", true, "models", "org/name", "v2", "sub" },
	{ "hf://datasets/org/name", true, "datasets", "org/name", "main", "" },
	{ "hf://datasets/squad", true, "datasets", "squad", "main", "" },
	{ "hf://datasets/org/name@v1/data", false, "datasets", "org/name", "v1", "data" },
	{ "hf://models/org/name", false, "models", "org/name", "main", "" },
	{ "hf://org/datasets", true, "models", "org/datasets", "main", "" },
	/* A folder may be called refs. */
	{ "hf://org/name/refs/pr/1", true, "models", "org/name", "main", "refs/pr/1" },
	{ "hf://org/name@refs/x", true, "models", "org/name", "refs", "x" },
};

static const struct {
	const char *uri, *says;
} bad[] = {
	{ "hf://", "no repository name" },
	{ "hf:///name", "no repository name" },
	{ "hf://datasets", "no repository name" },
	{ "hf://datasets/", "no repository name" },
	{ "hf://org//name", "invalid repository name" },
	{ "hf://spaces/org/name", "not a model or dataset" },
	{ "hf://org/na me", "invalid repository name" },
	{ "hf://o rg/name", "space" },
	{ "hf://org/na%20me", "invalid repository name" },
	{ "hf://org/na--me", "invalid repository name" },
	{ "hf://../etc", "invalid repository name" },
	{ "hf://org/..", "invalid repository name" },
	{ "hf://org/name.git", "invalid repository name" },
	{ "hf://-org/name", "invalid repository name" },
	{ "hf://org/name@", "revision after '@'" },
	{ "hf://org/name@%ff", "revision after '@'" },
	{ "hf://org/name@%00", "" },
	{ "hf://org/name#x", "invalid repository name" },
	{ "hf://org/name?a=b", "invalid repository name" },
	{ "hf://org/name/../x", "invalid directory" },
	{ "hf://org/name/a//b", "invalid directory" },
	{ "hf://me:secret-token@huggingface.co/org/name", "invalid repository name" },
};

TEST(test_uris)
{
	for (size_t i = 0; i < N_ELEMENTS(good); i++) {
		cleanup_arena struct arena a = { 0 };
		struct hf_repo r = { 0 };
		struct error err = { 0 };

		if (hf_repo_parse(&r, &a, good[i].uri, good[i].model, &err))
			fail_msg("%s: %s", good[i].uri, err.msg);
		assert_string_equal(r.kind, good[i].kind);
		assert_string_equal(r.id, good[i].id);
		assert_string_equal(r.revision, good[i].revision);
		assert_string_equal(r.folder, good[i].folder);
	}
}

TEST(test_uris_refused)
{
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		cleanup_arena struct arena a = { 0 };
		struct hf_repo r = { 0 };
		struct error err = { 0 };

		if (!hf_repo_parse(&r, &a, bad[i].uri, true, &err))
			fail_msg("%s: repository %s", bad[i].uri, r.id);
		if (!strstr(err.msg, bad[i].says) || strstr(err.msg, "secret-token"))
			fail_msg("%s: %s", bad[i].uri, err.msg);
	}
}

#define SHA1   "0123456789012345678901234567890123456789"
#define SHA256 "0123456789012345678901234567890123456789012345678901234567890123"
#define LFS(path)                                                             \
	"{\"type\":\"file\",\"oid\":\"" SHA1 "\",\"size\":9,\"path\":\"" path \
	"\",\"lfs\":{\"oid\":\"" SHA256 "\",\"size\":7,\"pointerSize\":134}}"
#define BLOB(path) \
	"{\"type\":\"file\",\"oid\":\"" SHA1 "\",\"size\":5,\"path\":\"" path "\"}"
#define DIR(path) \
	"{\"type\":\"directory\",\"oid\":\"" SHA1 "\",\"size\":0,\"path\":\"" path "\"}"

static const struct {
	const char *page, *folder, *file;
	const char *paths; /* joined by ' '; or what the error says */
	bool refused;
} trees[] = {
	{ "[]", "", NULL, "", false },
	{ "[" BLOB("b") "," DIR("d") "," LFS("a/c") "]", "", NULL, "a/c b", false },
	{ "[" BLOB("data/x") "," BLOB("data2/x") "," BLOB("data") "]", "data", NULL,
	  "data/x", false },
	{ "[" BLOB("a") "," BLOB("b") "]", "", "b", "b", false },
	{ "[" BLOB("skip/a") "," BLOB("b") "]", "", NULL, "b", false },
	/* The engine looks at names. */
	{ "[" BLOB("d/../../evil") "," BLOB("b") "]", "", NULL, "b d/../../evil", false },
	{ "[" BLOB("a") "," BLOB("a") "]", "", NULL, "twice", true },
	{ "{}", "", NULL, "not a list", true },
	{ "[", "", NULL, "", true },
	{ "[1]", "", NULL, "without type", true },
	{ "[{\"type\":\"file\",\"path\":\"a\",\"oid\":\"" SHA1 "\",\"size\":-2}]", "",
	  NULL, "invalid size -2", true },
	{ "[{\"type\":\"file\",\"path\":\"a\",\"size\":1e300}]", "", NULL, "a", false },
	/* Of hubs that are not the real one. */
	{ "[{\"type\":\"file\",\"path\":\"a\"}]", "", NULL, "a", false },
	{ "[{\"type\":\"file\",\"path\":\"a\",\"oid\":\"x\",\"size\":1}]", "", NULL, "a",
	  false },
};

static bool not_skipped(void *ctx, const char *name, bool named)
{
	return !str_starts(name, "skip/");
}

TEST(test_trees)
{
	for (size_t i = 0; i < N_ELEMENTS(trees); i++) {
		struct hf_tree_want want = { .folder = trees[i].folder,
					     .file = trees[i].file,
					     .wanted = not_skipped };
		cleanup_buf struct buf paths = { .max = 1000 };
		struct store_listing l = { 0 };
		struct error err = { 0 };
		int rc = hf_tree_page(&l, trees[i].page, strlen(trees[i].page), &want,
				      &err);

		rc = rc ? rc : hf_tree_end(&l, &err);
		for (size_t j = 0; j < l.n; j++)
			buf_printf(&paths, "%s%s", j ? " " : "", l.objects[j].path);
		buf_adds(&paths, "");
		if (trees[i].refused ? !rc || !strstr(err.msg, trees[i].paths)
				     : rc || strcmp((char *)paths.data, trees[i].paths))
			fail_msg("row %zu: %s, '%s'", i, paths.data, err.msg);
		store_listing_release(&l);
	}
}

TEST(test_lists_that_never_end)
{
	static const struct {
		const char *pages[6];
		const char *says; /* of the last one; NULL: nothing */
	} rows[] = {
		{ { "[" BLOB("a") "]", "[]", "[]", "[" BLOB("b") "]", "[]" }, NULL },
		{ { "[" BLOB("a") "]", "[" BLOB("b") "]", "[" BLOB("a") "]" },
		  "'a' again" },
		{ { "[" BLOB("a") "]", "[]", "[]", "[]", "[]" }, "empty pages" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct hf_tree_walk walk = { 0 };
		struct hf_tree_want want = { .folder = "none", .walk = &walk };
		struct store_listing l = { 0 };
		struct error err = { 0 };

		for (const char *const *page = rows[i].pages; *page; page++)
			assert_int_equal(
				hf_tree_page(&l, *page, strlen(*page), &want, &err),
				page[1] || !rows[i].says ? 0 : -1);
		if (rows[i].says)
			assert_non_null(strstr(err.msg, rows[i].says));
		hf_tree_walk_release(&walk);
		store_listing_release(&l);
	}
}

/* LFS's size and sum are the contents', those beside it are the pointer's. */
TEST(test_sums)
{
	static const char page[] =
		"[" LFS("a") "," BLOB("b") ",{\"type\":\"file\",\"path\":\"c\",\"lfs\":{"
					   "\"oid\":\"sha256:" SHA256
					   "\"}},{\"type\":\"file\",\"path\":\"d\"}]";
	struct hf_tree_want want = { .folder = "" };
	struct store_listing l = { 0 };
	struct error err = { 0 };

	assert_int_equal(hf_tree_page(&l, page, sizeof(page) - 1, &want, &err), 0);
	assert_int_equal(hf_tree_end(&l, &err), 0);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.objects[0].digest, STORE_SHA256);
	assert_string_equal(l.objects[0].sum, SHA256);
	assert_int_equal(l.objects[0].size, 7);
	assert_int_equal(l.objects[1].digest, STORE_GIT_SHA1);
	assert_string_equal(l.objects[1].sum, SHA1);
	assert_int_equal(l.objects[1].size, 5);
	assert_int_equal(l.objects[2].digest, STORE_SHA256);
	assert_string_equal(l.objects[2].sum, SHA256);
	assert_int_equal(l.objects[2].size, -1);
	assert_int_equal(l.objects[3].digest, STORE_DIGEST_NONE);
	store_listing_release(&l);
}

static const struct {
	const char *header, *next;
} links[] = {
	{ "<https://h/x?cursor=a>; rel=\"next\"", "https://h/x?cursor=a" },
	{ "<https://h/x>; rel=next", "https://h/x" },
	{ "</x?a,b>; REL=\"next\"; title=\"y\"", "/x?a,b" },
	{ "<https://h/p>; rel=\"prev\", <https://h/n>; rel=\"next\"", "https://h/n" },
	{ "<https://h/n>; rel=\"last next\"", "https://h/n" },
	{ "<https://h/p>; rel=\"prev\"", NULL },
	{ "<https://h/p>; rel=\"nextish\"", NULL },
	{ "<https://h/p", NULL },
	{ "<>", NULL },
	{ "", NULL },
};

TEST(test_links)
{
	assert_null(hf_tree_next(NULL, NULL));
	for (size_t i = 0; i < N_ELEMENTS(links); i++) {
		cleanup_arena struct arena a = { 0 };
		const char *next = hf_tree_next(&a, links[i].header);

		if (!str_eq(next, links[i].next))
			fail_msg("%s: %s", links[i].header, next ? next : "nothing");
	}
}

/* Of the environment: "NAME=value" rows. */
static const char *env_of(void *ctx, const char *name)
{
	for (const char *const *row = ctx; *row; row++) {
		const char *value = str_after(*row, name);

		if (value && *value == '=')
			return value + 1;
	}
	return NULL;
}

static const struct {
	const char *env[5];
	const char *from, *endpoint; /* NULL: the error says `says` */
	const char *says;
} hubs[] = {
	{ { NULL }, "", "https://huggingface.co", NULL },
	{ { "ACCESS_TOKEN=hf_a", "HF_TOKEN=hf_b" },
	  "ACCESS_TOKEN",
	  "https://huggingface.co",
	  NULL },
	{ { "ACCESS_TOKEN=", "HF_TOKEN=hf_b\n" },
	  "HF_TOKEN",
	  "https://huggingface.co",
	  NULL },
	{ { "HF_TOKEN=hf_b", "HF_HUB_DISABLE_IMPLICIT_TOKEN=1" },
	  "",
	  "https://huggingface.co",
	  NULL },
	{ { "HUGGING_FACE_HUB_TOKEN=hf_b" },
	  "HUGGING_FACE_HUB_TOKEN",
	  "https://huggingface.co",
	  NULL },
	{ { "HF_HOME=/nonexistent" }, "", "https://huggingface.co", NULL },
	{ { "HF_ENDPOINT=http://127.0.0.1:8080/hub/" },
	  "",
	  "http://127.0.0.1:8080/hub",
	  NULL },
	{ { "HF_ENDPOINT=huggingface.co" }, NULL, NULL, "HF_ENDPOINT" },
	{ { "HF_ENDPOINT=ftp://huggingface.co" }, NULL, NULL, "invalid address" },
	{ { "HF_ENDPOINT=https://me:pw@h" }, NULL, NULL, "invalid address" },
	{ { "HF_TOKEN=hf_secret\nX: y" }, NULL, NULL, "the token in HF_TOKEN" },
	{ { "HF_HUB_OFFLINE=1" }, NULL, NULL, "HF_HUB_OFFLINE" },
};

TEST(test_hubs)
{
	for (size_t i = 0; i < N_ELEMENTS(hubs); i++) {
		struct store_conf conf = { .env = env_of, .ctx = (void *)hubs[i].env };
		cleanup_arena struct arena a = { 0 };
		struct error err = { 0 };
		struct hf_hub hub = { 0 };
		int rc = hf_hub_open(&hub, &a, &conf, &err);

		if (hubs[i].says) {
			if (!rc || !strstr(err.msg, hubs[i].says) ||
			    strstr(err.msg, "secret") || strstr(err.msg, "pw"))
				fail_msg("row %zu: %s", i, err.msg);
			continue;
		}
		if (rc)
			fail_msg("row %zu: %s", i, err.msg);
		assert_string_equal(hub.endpoint, hubs[i].endpoint);
		assert_string_equal(hub.token_from ? hub.token_from : "", hubs[i].from);
		assert_int_equal(!!hub.headers[0], !!hub.token_from);
		if (hub.headers[0])
			assert_null(strchr(hub.headers[0], '\n'));
	}
}

TEST(test_pages)
{
	static const char *const rows[][2] = {
		{ "org/name", "hf://models/org/name" },
		{ "gpt2/", "hf://models/gpt2" },
		{ "gpt2/tree/main", "hf://models/gpt2" },
		{ "org/name/tree/main/a/b/", "hf://models/org/name/a/b" },
		{ "org/name/blob/v1/a.json", "hf://models/org/name@v1/a.json" },
		{ "org/name/discussions/3", "hf://models/org/name" },
		{ "datasets/org/name", "hf://datasets/org/name" },
		{ "datasets/squad/tree/refs%2Fpr%2F1/x",
		  "hf://datasets/squad@refs%2Fpr%2F1/x" },
		{ "datasets/org/name/viewer/en/train", "hf://datasets/org/name" },
		{ "", "(none)" },
		{ "datasets", "(none)" },
		{ "spaces/org/name", "(none)" },
		{ "a--b/name", "(none)" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		const char *uri = hf_uri_of_page(&arena, rows[i][0]);

		assert_string_equal(uri ? uri : "(none)", rows[i][1]);
	}
}

static const struct {
	int status;
	const char *code, *message, *token;
	enum error_kind kind;
	const char *says;
} refusals[] = {
	{ 401, "RepoNotFound", "", NULL, ERR_NOT_FOUND, "set ACCESS_TOKEN or HF_TOKEN" },
	{ 404, "RepoNotFound", "", "HF_TOKEN", ERR_NOT_FOUND, "the token in HF_TOKEN" },
	{ 401, "", "Invalid username or password.", NULL, ERR_NOT_FOUND, "private" },
	{ 401, "", "Invalid credentials in Authorization header", "HF_TOKEN", ERR_DENIED,
	  "rejects the token in HF_TOKEN" },
	{ 401, "GatedRepo", "", NULL, ERR_DENIED,
	  "accept its terms at https://huggingface.co/org/name" },
	{ 403, "GatedRepo", "", "ACCESS_TOKEN", ERR_DENIED,
	  "token in ACCESS_TOKEN has no access" },
	{ 403, "", "fine-grained", "HF_TOKEN", ERR_DENIED, "no read access" },
	{ 403, "GatedRepo", "Please enable access in your fine-grained token settings",
	  "HF_TOKEN", ERR_DENIED,
	  "another token: Please enable access in your fine-grained" },
	{ 403, "GatedRepo",
	  "Access to model a/b is restricted and you are not in the list", "HF_TOKEN",
	  ERR_DENIED, "use another token" },
	{ 403, "", "Access to this resource is disabled.", NULL, ERR_DENIED,
	  "huggingface.co has disabled the access to model org/name" },
	{ 404, "RevisionNotFound", "", NULL, ERR_NOT_FOUND,
	  "no revision 'v9': expected a branch, tag or commit" },
	{ 404, "EntryNotFound", "", NULL, ERR_NOT_FOUND, "no such file" },
	{ 404, "", "", NULL, ERR_NOT_FOUND, "no model org/name" },
	{ 451, "", "", NULL, ERR_DENIED,
	  "model org/name: HTTP 451: unavailable for legal" },
	{ 500, "", "", NULL, ERR_BUSY, "500" },
};

/* A '/' after the revision begins a folder. */
TEST(test_revision_and_folder)
{
	const struct hf_repo repo = { "models", "org/name", "feature", "x" };
	const struct hf_hub hub = { .endpoint = "https://h", .host = "h" };
	struct error err = { 0 };

	assert_int_equal(hf_hub_refused(&hub, &repo, 404, "RevisionNotFound", "", &err),
			 -1);
	assert_string_equal(
		err.msg, "model org/name has no revision 'feature': expected a branch, "
			 "tag or commit, with %2F for a '/' in its name");
}

TEST(test_refusals)
{
	const struct hf_repo repo = { "models", "org/name", "v9", "" };

	for (size_t i = 0; i < N_ELEMENTS(refusals); i++) {
		struct hf_hub hub = { .endpoint = "https://huggingface.co",
				      .host = "huggingface.co",
				      .token_from = refusals[i].token };
		struct error err = { 0 };

		assert_int_equal(hf_hub_refused(&hub, &repo, refusals[i].status,
						refusals[i].code, refusals[i].message,
						&err),
				 -1);
		if (err.kind != refusals[i].kind || err.code != refusals[i].status ||
		    !strstr(err.msg, refusals[i].says))
			fail_msg("row %zu: %s: %s", i, error_kind_name(err.kind),
				 err.msg);
	}
}

RUN_TESTS(NULL, NULL)
