/* launcher.c - find commands that ignore their runtime (trainer/launcher.h). */
#include "trainer/launcher.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/commandrules.h"
#include "trainer/jax.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

enum { MAX_COMMAND = 256 * 1024, MAX_WORDS = 4096, MAX_SCRIPTS = 16 };

/* The launcher for which the runtime prepares its pods. */
enum kind { OTHER, TORCH, MPI };

/* Launchers of processes on all nodes, by what the runtime prepares. */
static const char *const of_torch[] = { "torchrun", "torch.distributed.run",
					"torch.distributed.launch", NULL };
static const char *const of_mpi[] = { "mpirun",     "mpiexec", "mpiexec.hydra",
				      "mpi-launch", "prterun", "horovodrun",
				      "srun",       "ray",     NULL };

/*
 * Launchers of one node, unless they have one of the options `enough` or the variable
 * `env`, by their first words. `use`: the right command with TORCH.
 */
#define SCRIPT "'torchrun SCRIPT'"
#define ACCELERATE \
	"--launcher accelerate, or " SCRIPT " (on CPUs with ACCELERATE_USE_CPU=true)"
#define RANK_OPTIONS                 \
	{                            \
		"machine_rank", NULL \
	}
#define COMPOSER                                                                     \
	"'composer --world_size PROCESSES --node_rank $PET_NODE_RANK --master_addr " \
	"$PET_MASTER_ADDR --master_port $PET_MASTER_PORT SCRIPT'"
#define LLAMAFACTORY(program)                                                     \
	{                                                                         \
		program, "train", { NULL },                                       \
			"'torchrun -m llamafactory.launcher CONFIG'", "NODE_RANK" \
	}
#define SWIFT(what)                                                                      \
	{                                                                                \
		"swift", what, { NULL }, "'torchrun -m swift.cli." what " ARGUMENT...'", \
			"NODE_RANK"                                                      \
	}
#define OUMI(what)                                                              \
	{                                                                       \
		"oumi", what, { NULL }, "'torchrun -m oumi train ARGUMENT...'", \
			"SKYPILOT_NODE_RANK"                                    \
	}
#define TRL(what)                                                                     \
	{                                                                             \
		"trl", what, RANK_OPTIONS, "'torchrun -m trl.scripts." what "'", NULL \
	}
static const struct row {
	const char *program, *sub;
	const char *enough[3];
	const char *use, *env;
} rows[] = {
	{ "accelerate", "launch", RANK_OPTIONS, ACCELERATE, NULL },
	{ "accelerate-launch", NULL, RANK_OPTIONS, ACCELERATE, NULL },
	{ "accelerate.commands.launch", NULL, RANK_OPTIONS, ACCELERATE, NULL },
	TRL("sft"),
	TRL("dpo"),
	TRL("grpo"),
	TRL("kto"),
	TRL("reward"),
	TRL("rloo"),
	{ "lightning", "run", { "node_rank" }, SCRIPT, NULL },
	{ "fabric", "run", { "node_rank" }, SCRIPT, NULL },
	{ "deepspeed", NULL, { "node_rank", "hostfile", "H" }, SCRIPT, NULL },
	{ "deepspeed.launcher.runner",
	  NULL,
	  { "node_rank", "hostfile", "H" },
	  SCRIPT,
	  NULL },
	{ "axolotl",
	  "train",
	  { "machine_rank", "launcher" },
	  "'axolotl train CONFIG --launcher torchrun'",
	  NULL },
	{ "composer", NULL, { "node_rank", "base_rank" }, COMPOSER, "NODE_RANK" },
	LLAMAFACTORY("llamafactory-cli"),
	LLAMAFACTORY("lmf"),
	{ "mlx.launch",
	  NULL,
	  { "hosts", "hostfile" },
	  "'mpirun python3 SCRIPT' with mlx-distributed",
	  NULL },
	OUMI("distributed"),
	OUMI("train"),
	SWIFT("pt"),
	SWIFT("rlhf"),
	SWIFT("sft"),
	{ "tune",
	  "run",
	  { "rdzv_endpoint" },
	  "'tune run --rdzv_endpoint=$PET_MASTER_ADDR:$PET_MASTER_PORT RECIPE'",
	  NULL },
};

/* Text of a command that reads its rank itself, or starts processes in its own way. */
static const char *const aware[] = {
	"PET_",        "NODE_RANK",  "MACHINE_RANK",
	"$RANK",       "${RANK",     "JOB_COMPLETION_INDEX",
	"MASTER_ADDR", "WORLD_SIZE", "HOSTNAME",
	NULL,
};

/* Text of Python code that trains with other processes if a launcher has started them. */
static const char *const joins[] = {
	"init_process_group",   "from accelerate",
	"import accelerate",    "TrainingArguments(",
	"SFTConfig(",           "L.Trainer(",
	"pl.Trainer(",          "SFTTrainer(",
	"deepspeed.initialize", "Fabric(",
	"Seq2SeqTrainer(",      NULL,
};
/* Text of Python code that starts or finds the others itself. */
static const char *const by_itself[] = {
	"torchrun",
	"spawn(",
	"start_processes(",
	"elastic_launch",
	"notebook_launcher",
	"subprocess",
	"init_method=",
	"store=",
	NULL,
};

/* One simple command: its words, the program first. */
struct command {
	const char **words;
	size_t n;
};

struct check {
	struct arena *arena;
	enum kind kind;
	int64_t nodes;
	const char *text;    /* the whole command */
	const cJSON *env[2]; /* of the container that trains */
	const struct code_reader *code;
	const char *fault;
	bool searched; /* `text`, as Python code: once, not for each command */
	bool right;    /* a launcher of the right kind was found */
	bool in_file;  /* a script of the shell is being read */
	int scripts;   /* how many were read */
};

static bool has_any(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (strstr(text, *list))
			return true;
	return false;
}

static bool has_option(const struct command *c, const char *const *names)
{
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 1; i < c->n; i++) {
		char *word = arena_strdup(&arena, c->words[i]), *name = word;

		if (*word != '-')
			continue;
		name += strspn(name, "-");
		name[strcspn(name, "=")] = 0;
		for (char *p = name; *p; p++)
			if (*p == '-')
				*p = '_';
		for (size_t k = 0; k < 3 && names[k]; k++)
			if (str_eq(name, names[k]))
				return true;
	}
	return false;
}

static bool is_assignment(const char *word)
{
	const char *eq = strchr(word, '=');

	return eq && eq != word && !memchr(word, '/', (size_t)(eq - word)) &&
	       *word != '-';
}

/*
 * Commands and words of the shell that start the program that follows. `valued`: short
 * options with a value of their own; `operands`: words between options and program;
 * `long_valued`: as `valued`, each between spaces.
 */
static const struct wrapper {
	const char *name, *valued;
	size_t operands;
	const char *long_valued;
} wrappers[] = {
	{ "!", "", 0, "" },
	{ "{", "", 0, "" },
	{ "catchsegv", "", 0, "" },
	{ "conda", "", 0, "" },
	{ "ddtrace-run", "", 0, "" },
	{ "do", "", 0, "" },
	{ "dumb-init", "r", 0, "" },
	{ "else", "", 0, "" },
	{ "env", "uCS", 0, "" },
	{ "exec", "a", 0, "" },
	{ "if", "", 0, "" },
	{ "ionice", "cn", 0, "" },
	{ "mamba", "", 0, "" },
	{ "micromamba", "", 0, "" },
	{ "nice", "n", 0, "" },
	{ "nohup", "", 0, "" },
	{ "nsys", "", 0, "" },
	{ "numactl", "CNPim", 0, "" },
	{ "pdm", "", 0, "" },
	{ "pipenv", "", 0, "" },
	{ "pixi", "", 0, "" },
	{ "poetry", "", 0, "" },
	{ "profile", "cfostxwy", 0, "" },
	{ "run", "enpw", 0,
	  " cwd directory env-file environment extra group manifest-path name package "
	  "prefix project python with with-requirements " },
	{ "setsid", "", 0, "" },
	{ "stdbuf", "ioe", 0, "" },
	{ "strace", "eo", 0, "" },
	{ "sudo", "gu", 0, "" },
	{ "taskset", "", 1, "" },
	{ "then", "", 0, "" },
	{ "time", "fo", 0, "" },
	{ "timeout", "ks", 1, "" },
	{ "tini", "p", 0, "" },
	{ "until", "", 0, "" },
	{ "uv", "", 0, "" },
	{ "while", "", 0, "" },
};

static void skip(struct command *c, size_t n)
{
	n = n < c->n ? n : c->n;
	c->words += n;
	c->n -= n;
}

/* Is the next word the value of that option? */
static bool has_value(const struct wrapper *w, struct arena *arena, const char *word)
{
	if (word[1] == '-')
		return word[2] &&
		       strstr(w->long_valued, arena_printf(arena, " %s ", word + 2));
	return word[1] && !word[2] && strchr(w->valued, word[1]);
}

static bool skip_wrapper(struct command *c)
{
	cleanup_arena struct arena arena = { 0 };
	const struct wrapper *w = NULL;

	for (size_t i = 0; c->n && i < N_ELEMENTS(wrappers) && !w; i++)
		if (str_eq(path_base(*c->words), wrappers[i].name))
			w = &wrappers[i];
	if (!w)
		return false;
	for (skip(c, 1); c->n && **c->words == '-';)
		skip(c, has_value(w, &arena, *c->words) ? 2 : 1);
	skip(c, w->operands);
	return true;
}

/* Skip what precedes the program: variables and wrappers. */
static void skip_to_program(struct command *c)
{
	do
		while (c->n && is_assignment(*c->words))
			skip(c, 1);
	while (skip_wrapper(c));
}

bool launcher_is_python(const char *word)
{
	const char *rest = str_after(path_base(word), "python");

	return rest && !rest[strspn(rest, "0123456789.")];
}

/*
 * Make "python3 -u -m MODULE ARGUMENT..." "MODULE ARGUMENT...". False: it runs a file or
 * code; *ret_script is the file, or NULL.
 */
static bool skip_to_module(struct command *c, const char **ret_script)
{
	size_t i = 1;

	*ret_script = NULL;
	for (; i < c->n && *c->words[i] == '-'; i++) {
		if (str_eq(c->words[i], "-m") && i + 1 < c->n) {
			c->words += i + 1;
			c->n -= i + 1;
			return true;
		}
		if (str_eq(c->words[i], "-c") || !c->words[i][1])
			return false;
		i += str_eq(c->words[i], "-X") || str_eq(c->words[i], "-W");
	}
	if (i < c->n)
		*ret_script = c->words[i];
	return false;
}

static const char *nodes_text(const struct check *k)
{
	return k->nodes == 1 ? "the node"
			     : arena_printf(k->arena, "each of the %lld nodes",
					    (long long)k->nodes);
}

#define OF_LAUNCHER                                                                        \
	"on the launcher only, and the other nodes stay idle; use 'mpirun python3 SCRIPT'" \
	" (--launcher mpirun)"

static void found_wrong(struct check *k, const struct row *row, const char *program)
{
	if (k->fault)
		return;
	if (k->kind == MPI)
		k->fault = arena_printf(k->arena, "%s starts processes " OF_LAUNCHER,
					path_base(program));
	else if (row)
		k->fault =
			arena_printf(k->arena,
				     "%s%s%s without %s%s does not read what the "
				     "runtime sets: %s trains alone; use %s",
				     row->program, row->sub ? " " : "",
				     row->sub ? row->sub : "", row->enough[0] ? "--" : "",
				     row->enough[0] ? row->enough[0] : row->env,
				     nodes_text(k), row->use);
}

/* Python code, without a launcher. */
static void found_python(struct check *k, const char *script)
{
	const char *code = NULL;

	if (k->fault)
		return;
	if (script && k->code)
		code = k->code->read(k->code->ctx, k->arena, script);
	if (!code && k->searched)
		return;
	if (!code) {
		k->searched = true;
		code = k->text;
	}
	if (has_any(code, aware) || has_any(code, by_itself))
		return;
	if (k->kind == MPI)
		k->fault = "python3 without mpirun starts one process " OF_LAUNCHER;
	else if (has_any(code, joins))
		k->fault = arena_printf(
			k->arena,
			"the script trains with other processes if a launcher starts "
			"them, but python3 starts one on %s, which trains alone: use "
			"'torchrun SCRIPT' (--launcher torchrun)",
			nodes_text(k));
}

static bool has_env(const struct check *k, const char *name)
{
	return name && (json_find_const(k->env[0], "name", name) ||
			json_find_const(k->env[1], "name", name));
}

static const struct row *row_of(const struct command *c)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (str_eq(path_base(*c->words), rows[i].program) &&
		    (!rows[i].sub || (c->n > 1 && str_eq(c->words[1], rows[i].sub))))
			return &rows[i];
	return NULL;
}

/* The value of a word `--NAME=VALUE` or `--NAME VALUE`, with - or _ in it; or NULL. */
static const char *value_of(const char *word, const char *next, const char *name)
{
	word += strspn(word, "-");
	for (; *name; name++, word++)
		if (*word != *name && (*name != '_' || *word != '-'))
			return NULL;
	return *word == '=' ? word + 1 : *word ? NULL : next;
}

static bool is_this_host(const char *endpoint)
{
	return str_starts(endpoint, "localhost") || str_starts(endpoint, "127.") ||
	       str_starts(endpoint, "[::1]");
}

/* The option of torchrun by which it meets no other node, as it is given; or NULL. */
static const char *lone_option(struct arena *arena, const struct command *c)
{
	static const char *const flags[] = {
		"-m",         "--module",     "--no-python", "--no_python", "--run-path",
		"--run_path", "--standalone", "--use-env",   "--use_env",   NULL
	};

	for (size_t i = 1; i < c->n && *c->words[i] == '-'; i++) {
		const char *word = c->words[i],
			   *next = i + 1 < c->n ? c->words[i + 1] : "";
		const char *nodes = value_of(word, next, "nnodes");
		const char *endpoint = value_of(word, next, "rdzv_endpoint");
		bool apart = !strchr(word, '=') && !str_in(word, flags);

		if (str_eq(word, "--standalone"))
			return word;
		if ((nodes && (str_eq(nodes, "1") || str_eq(nodes, "1:1"))) ||
		    (endpoint && is_this_host(endpoint)))
			return apart ? arena_printf(arena, "%s %s", word, next) : word;
		i += apart;
	}
	return NULL;
}

/* The option by which mpirun or horovodrun uses this host alone, as it is given; or NULL. */
static const char *lone_host(struct arena *arena, const struct command *c)
{
	static const char *const names[] = { "-H",     "-host",   "--host",
					     "-hosts", "--hosts", NULL };

	for (size_t i = 1; i + 1 < c->n; i++) {
		const char *word = c->words[i], *next = c->words[i + 1];

		if (*word != '-' && (*c->words[i - 1] != '-' || launcher_is_python(word)))
			return NULL; /* the program, and its own options */
		if (str_in(word, names) && is_this_host(next) && !strchr(next, ','))
			return arena_printf(arena, "%s %s", word, next);
	}
	return NULL;
}

/* A launcher of the right kind. */
static void found_right(struct check *k, const struct command *c)
{
	const char *program = path_base(*c->words);
	bool torch = str_in(program, of_torch);
	const char *option = k->nodes <= 1 ? NULL
			     : torch       ? lone_option(k->arena, c)
					   : lone_host(k->arena, c);

	if (!option)
		k->right = true;
	else if (!k->fault)
		k->fault = arena_printf(
			k->arena,
			torch ? "%s %s does not join the nodes: %s trains alone, or "
				"fails; leave it out, as the runtime sets the nodes and "
				"their address"
			      : "%s %s starts all processes on one node, and the others "
				"stay idle; leave it out, as the runtime sets the hosts",
			program, option, nodes_text(k));
}

static void check_script(struct check *k, const char *script);

/* A script of the shell, if the caller can read it; but not those that it starts. */
static void found_shell(struct check *k, const char *path)
{
	const char *script = NULL;

	if (k->code && !k->in_file && k->scripts++ < MAX_SCRIPTS)
		script = k->code->read(k->code->ctx, k->arena, path);
	if (!script || has_any(script, aware))
		return;
	k->in_file = true;
	check_script(k, script);
	k->in_file = false;
}

/* The file that a shell runs, or that is one of the shell by its name; or NULL. */
static const char *shell_script(const struct command *c)
{
	struct shell_options o = { 0 };

	if (command_is_shell(*c->words))
		o = shell_options_read(c->words, c->n);
	return !o.code && o.next < c->n && str_ends(c->words[o.next], ".sh")
		       ? c->words[o.next]
		       : NULL;
}

/* Ultralytics' commands: they train on one node, whatever starts them. */
static bool trains_on_one_node(const struct command *c)
{
	static const char *const programs[] = { "ultralytics", "yolo", NULL };
	static const char *const train[] = { "mode=train", "train", NULL };

	for (size_t i = 1; str_in(path_base(*c->words), programs) && i < c->n; i++)
		if (str_in(c->words[i], train))
			return true;
	return false;
}

static void check_launcher(struct check *k, const struct command *c)
{
	const char *program = path_base(*c->words);
	bool of_nodes = str_in(program, of_torch);
	const struct row *row = row_of(c);

	if (str_in(program, of_mpi) || (of_nodes && k->kind == TORCH))
		found_right(k, c);
	else if (of_nodes && k->kind == MPI && k->nodes > 1)
		found_wrong(k, NULL, program);
	if (row && (has_option(c, row->enough) || has_env(k, row->env)))
		k->right = true;
	else if (row && k->nodes > 1)
		found_wrong(k, row, program);
	if (k->nodes > 1 && !k->fault && trains_on_one_node(c))
		k->fault = arena_printf(k->arena,
					"%s trains on one node only: %s trains alone; "
					"use one node (--nodes 1)",
					program, nodes_text(k));
}

static void check_command(struct check *k, struct command c)
{
	const char *script = NULL;
	bool plain = false;

	skip_to_program(&c);
	if (!c.n)
		return;
	if (launcher_is_python(*c.words))
		plain = !skip_to_module(&c, &script);
	else if (str_ends(*c.words, ".py"))
		plain = (script = *c.words);
	else
		script = shell_script(&c);
	if (plain)
		found_python(k, script);
	else if (script)
		found_shell(k, script);
	else
		check_launcher(k, &c);
}

/* Split a script of sh into simple commands, by a rough reading of its grammar. */
static void check_script(struct check *k, const char *script)
{
	const char **words = arena_alloc(k->arena, MAX_WORDS * sizeof(*words));
	struct command c = { words, 0 };
	const char *p = script;

	while (*p && c.n < MAX_WORDS) {
		size_t len = strcspn(p, " \t\r\n;&|()\"'`<>\\");

		if (len)
			c.words[c.n++] = str_slice(k->arena, p, len);
		p += len;
		if (p[0] == '\\' && p[1] == '\n')
			p += 2;
		else if (*p && strchr("\n;&|()`", *p)) {
			check_command(k, c);
			c.n = 0;
			p++;
		} else if (*p) {
			p++;
		}
	}
	check_command(k, c);
}

static void add_words(struct command *c, const cJSON *list)
{
	const cJSON *word;

	json_each(word, list)
		if (c->n < MAX_WORDS && cJSON_IsString(word))
			c->words[c->n++] = word->valuestring;
}

/* The script of [sh, -c, SCRIPT, ...], or NULL. */
static const char *script_of(const struct command *c)
{
	struct shell_options o;

	if (!c->n || !command_is_shell(c->words[0]))
		return NULL;
	o = shell_options_read(c->words, c->n);
	return o.code && o.next < c->n ? c->words[o.next] : NULL;
}

static const char *text_of(struct arena *arena, const struct command *c)
{
	cleanup_buf struct buf text = { .max = MAX_COMMAND };

	for (size_t i = 0; i < c->n; i++)
		buf_printf(&text, "%s ", c->words[i]);
	return text.overflowed || !text.data
		       ? NULL
		       : arena_strdup(arena, (const char *)text.data);
}

static enum kind kind_of(const struct info *info)
{
	return policy_torch(info->ml_policy) ? TORCH
	       : policy_mpi(info->ml_policy) ? MPI
					     : OTHER;
}

static int64_t first_given(int64_t a, int64_t b)
{
	return a != ABSENT ? a : b != ABSENT ? b : 1;
}

/* The command of the container that trains, as the TrainJob changes it. */
static struct command command_of(struct arena *arena, struct info *info, const cJSON *tj)
{
	const cJSON *container = info_trainer_container(info);
	const cJSON *command = tj_command(tj), *args = tj_args(tj);
	struct command c = { arena_alloc(arena, MAX_WORDS * sizeof(*c.words)), 0 };

	add_words(&c, command ? command : container_command(container));
	add_words(&c, args ? args : container_args(container));
	return c;
}

/* The processes that the runtime prepares for; 1: also if their number is unknown. */
static int64_t processes(const struct info *info, const cJSON *tj, int64_t nodes)
{
	const cJSON *mpi = policy_mpi(info->ml_policy);

	return nodes * first_given(tj_num_proc_per_node(tj),
				   mpi ? mpi_num_proc_per_node(mpi) : ABSENT);
}

const char *launcher_fault(struct arena *arena, struct info *info, const cJSON *tj,
			   const struct code_reader *code)
{
	struct check k = {
		.arena = arena,
		.kind = kind_of(info),
		.nodes = first_given(tj_num_nodes(tj), policy_num_nodes(info->ml_policy)),
		.code = code,
		.env = { tj_env(tj), container_env(info_trainer_container(info)) },
	};
	const char *script;
	struct command c;

	/* plugins set info->command */
	if (k.kind == OTHER || !tj_trainer(tj) || info->command ||
	    processes(info, tj, k.nodes) <= 1)
		return NULL;
	c = command_of(arena, info, tj);
	k.text = text_of(arena, &c);
	if (!k.text || has_any(k.text, aware))
		return NULL;
	script = script_of(&c);
	if (script)
		check_script(&k, script);
	else
		check_command(&k, c);
	return k.right ? NULL : k.fault;
}

const char *launcher_lone_nodes(struct arena *arena, struct info *info, const cJSON *tj)
{
	static const char *const frameworks[][2] = {
		{ "torch", "PET_NNODES" },
		{ "jax", JAX_PROCESSES },
		{ "xgboost", "DMLC_NUM_WORKER" },
	};
	const cJSON *container = info_trainer_container(info);
	int64_t nodes = first_given(policy_num_nodes(info->ml_policy), 1);
	const struct command c = command_of(arena, info, tj);
	const char *text = text_of(arena, &c);

	if (tj_trainer(tj) || !container || nodes <= 1 || (text && has_any(text, aware)))
		return NULL;
	for (size_t i = 0; i < N_ELEMENTS(frameworks); i++)
		if (json_get(info->ml_policy, frameworks[i][0]) &&
		    !json_find_const(container_env(container), "name", frameworks[i][1]))
			return arena_printf(
				arena,
				"spec.trainer is missing, so %s and its like are not set: "
				"each of the %" PRId64
				" nodes trains alone; add 'trainer: {}'",
				frameworks[i][1], nodes);
	return NULL;
}

const char *launcher_unused_dataset(struct arena *arena, struct info *info,
				    const cJSON *tj)
{
	struct command c;
	const char *text;

	if (!info_by_ancestor(info, DATASET_INITIALIZER))
		return NULL;
	c = command_of(arena, info, tj);
	if (c.n < 2 || !str_eq(c.words[0], "tune") || !str_eq(c.words[1], "run"))
		return NULL;
	text = text_of(arena, &c);
	if (!text || strstr(text, "dataset"))
		return NULL;
	return "tune run trains with the data set of its configuration, not with that of "
	       "the dataset initializer: add to args "
	       "'dataset=torchtune.datasets.instruct_dataset', 'dataset.source=parquet' "
	       "and 'dataset.data_dir=/workspace/dataset/data'";
}
