/* commandrules.c - words that do something else than they say (trainer/commandrules.h). */
#include "trainer/commandrules.h"

#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"

#define SHELL_WORDS "start a shell, with sh -c 'COMMANDS'"
#define BLANKS      " \t\n"

enum { MAX_SHOWN = 200 /* bytes of a word */ };

/* Of `find` and `expr` they may be words: rare in a job, and this is a warning. */
static const char *const operators[] = { "|",  "||",   "&&", ">", ">>",
					 "2>", "2>&1", "&>", NULL };

bool command_is_shell(const char *word)
{
	static const char *const shells[] = { "sh",  "bash", "dash", "ash",
					      "zsh", "ksh",  NULL };

	return word && str_in(path_base(word), shells);
}

static bool found(struct command_fault *ret, size_t word, const char *text)
{
	ret->word = word;
	ret->text = text;
	return true;
}

/* ---- of a shell ---- */

static bool is_option(const char *word)
{
	return word && (*word == '-' || *word == '+') && word[1];
}

struct shell_options shell_options_read(const char *const *words, size_t n)
{
	struct shell_options o = { .next = 1 };

	for (; o.next < n && is_option(words[o.next]); o.next++) {
		const char *word = words[o.next];

		if (word[1] == '-')
			continue;
		o.code |= strchr(word, 'c') != NULL;
		if (strchr(word, 'o') && o.next + 1 < n) {
			o.next++;
			o.pipefail |= str_eq(words[o.next], "pipefail");
		}
	}
	return o;
}

/* Has the text $0, ${1}, $@, or another way to the words behind it? */
static bool uses_words(const char *text)
{
	for (const char *p = text; (p = strchr(p, '$')) != NULL;) {
		p++;
		p += strspn(p, "{#!");
		if (isdigit((unsigned char)*p) || *p == '@' || *p == '*')
			return true;
	}
	return strstr(text, "getopts") || strstr(text, " do");
}

/* As a name for $0: sh -c TEXT sh */
static bool is_name_of_shell(const char *word)
{
	return command_is_shell(word) || str_eq(word, "_") || str_eq(word, "--");
}

static bool is_quoted(const char *text)
{
	size_t quotes[2] = { 0 };

	for (; *text; text++)
		for (size_t i = 0; i < 2; i++)
			quotes[i] += *text == "'\""[i];
	return quotes[0] % 2 || quotes[1] % 2;
}

/* Is its last command one that reads from another one, and is tee? */
static bool ends_in_tee(const char *text)
{
	const char *last = strrchr(text, '|'), *end;

	if (!last || (last > text && last[-1] == '|'))
		return false;
	last += 1 + (last[1] == '&');
	last += strspn(last, BLANKS "\\");
	if (!str_starts(last, "tee") || !last[3] || !strchr(BLANKS, last[3]))
		return false;
	end = last + strcspn(last, ";&\n#`)");
	return !end[strspn(end, BLANKS)] && !is_quoted(last);
}

static bool find_in_shell(const char *const *words, size_t n, struct command_fault *ret)
{
	struct shell_options o = shell_options_read(words, n);
	const char *text = o.next < n ? words[o.next] : NULL;

	if (!text)
		return false;
	if (!o.code)
		return o.next == 1 && strchr(text, ' ') && *text != '/' &&
		       found(ret, 1,
			     "a shell takes this word as the name of a file: put -c "
			     "before it");
	if (!o.pipefail && ends_in_tee(text) && !strstr(text, "pipefail") &&
	    !strstr(text, "PIPESTATUS"))
		return found(ret, o.next,
			     "the exit code is that of tee, so that the job is complete "
			     "although the command before it fails: begin with 'set -o "
			     "pipefail;', with bash, or leave tee out, as logs are kept");
	if (o.next + 1 == n || uses_words(text) ||
	    (o.next + 2 == n && is_name_of_shell(words[n - 1])))
		return false;
	return found(ret, o.next + 1,
		     "the shell runs the one word after -c, which does not use this one: "
		     "make them one text");
}

/* ---- of another program ---- */

/* "$NAME", "${NAME}/DIR", in capitals, up to `end`: others have ${a.b}, too. */
static bool is_variable(const char *value, char end)
{
	size_t len;
	bool braces;

	if (*value != '$')
		return false;
	braces = value[1] == '{';
	value += 1 + braces;
	len = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
	if (!len || isdigit((unsigned char)*value))
		return false;
	return braces ? value[len] == '}'
		      : !value[len] || value[len] == '/' || value[len] == end;
}

/* Also "--option=$NAME". */
static bool is_variable_word(const char *word)
{
	const char *value = *word == '-' ? strchr(word, '=') : NULL;

	return is_variable(value ? value + 1 : word, 0);
}

const char *command_variable_in(struct arena *arena, const char *value)
{
	const char *colon;

	for (; value; value = colon ? colon + 1 : NULL) {
		if (is_variable(value, ':'))
			return str_slice(arena, value, strcspn(value, ":"));
		colon = strchr(value, ':');
	}
	return NULL;
}

bool command_fault_find(struct arena *arena, const char *const *words, size_t n,
			struct command_fault *ret)
{
	if (!n || !words[0])
		return false;
	if (*words[0] != '/' && strchr(words[0], ' '))
		return found(ret, 0,
			     arena_printf(arena,
					  "\"%s\" is one word, the name of a "
					  "program: make each word an item of the list",
					  str_at_most(arena, words[0], MAX_SHOWN)));
	if (command_is_shell(words[0]))
		return find_in_shell(words, n, ret);
	/* What follows a shell is its own, as after mpirun. */
	for (size_t i = 1; i < n && !command_is_shell(words[i]); i++) {
		if (words[i] && str_in(words[i], operators))
			return found(
				ret, i,
				arena_printf(arena,
					     "%s is a word for the program, which is "
					     "no shell: " SHELL_WORDS,
					     words[i]));
		if (words[i] && is_variable_word(words[i]))
			return found(
				ret, i,
				arena_printf(
					arena,
					"no shell replaces %s: write "
					"$(NAME) for a variable of env, or " SHELL_WORDS,
					str_at_most(arena, words[i], MAX_SHOWN)));
	}
	return false;
}
