/* Words that a container's program does not read as they are meant. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/commandrules.h"

#define NOT_USED "which does not use this one"
#define TEE      "exit code is that of tee"
#define NO_SHELL "no shell replaces "
#define PIPE     "which is no shell"
#define AS_FILE  "as the name of a file"

static const struct {
	const char *words; /* JSON */
	int at;            /* -1: no fault */
	const char *want;
} rows[] = {
	{ "[]", -1, "" },
	{ "[null, \"$A\"]", -1, "" },
	{ "[\"a b\"]", 0, "\"a b\" is one word" },
	{ "[\"/a b\"]", -1, "" },

	/* kubernetes/kubernetes#63935: what follows the text are $0, $1, ... */
	{ "[\"sh\", \"-c\", \"python3\", \"a.py\"]", 3, NOT_USED },
	{ "[\"/bin/bash\", \"-lc\", \"python3 a.py\", \"--lr\", \"1\"]", 3, NOT_USED },
	{ "[\"bash\", \"-c\", \"cd\", \"/d\", \"&&\", \"a\"]", 3, NOT_USED },
	{ "[\"bash\", \"-c\", \"a $D\", \"b\"]", 3, NOT_USED },
	{ "[\"sh\", \"-c\", \"a\", \"sh\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"a\", \"sh\", \"b\"]", 3, NOT_USED },
	{ "[\"sh\", \"-c\", \"a\", \"_\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"a $0\", \"b\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"exec \\\"$@\\\"\", \"sh\", \"a\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"a ${1:-b} \", \"sh\", \"a\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"a ${#*}\", \"sh\", \"a\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"for a do b; done\", \"sh\", \"a\"]", -1, "" },
	{ "[\"bash\", \"-euo\", \"pipefail\", \"-c\", \"a\"]", -1, "" },
	{ "[\"bash\", \"-euo\", \"pipefail\", \"-c\", \"a\", \"b\"]", 5, NOT_USED },
	{ "[\"bash\", \"--norc\", \"-c\", \"a\", \"b\"]", 4, NOT_USED },
	{ "[\"bash\", \"-c\"]", -1, "" },
	{ "[\"bash\", \"-o\"]", -1, "" },
	{ "[\"bash\", null, \"a\"]", -1, "" },
	{ "[\"bash\"]", -1, "" },
	{ "[\"bash\", \"\"]", -1, "" },
	{ "[\"bash\", \"-o\", \"\", \"\"]", -1, "" },

	/* Spirals-Team/benchmark-containers#25 */
	{ "[\"/bin/bash\", \"python3 a.py\"]", 1, AS_FILE },
	{ "[\"bash\", \"a.sh\", \"b c\"]", -1, "" },
	{ "[\"bash\", \"/a b.sh\"]", -1, "" },
	{ "[\"bash\", \"-x\", \"a b.sh\"]", -1, "" },

	/* neuro-inc/ml-recipe-bone-age#11, NVIDIA-NeMo/RL#1789 */
	{ "[\"sh\", \"-c\", \"python3 a.py 2>&1 | tee log\"]", 2, TEE },
	{ "[\"sh\", \"-c\", \"a |& tee -a \\\"$D/log\\\"\\n\"]", 2, TEE },
	{ "[\"sh\", \"-c\", \"cd d\\na \\\\\\n  | tee $D/log \\n\"]", 2, TEE },
	{ "[\"bash\", \"-c\", \"set -o pipefail; a | tee log\"]", -1, "" },
	{ "[\"bash\", \"-o\", \"pipefail\", \"-c\", \"a | tee log\"]", -1, "" },
	{ "[\"bash\", \"-c\", \"a | tee log; exit ${PIPESTATUS[0]}\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"echo a | tee f; b\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"echo a | tee f && b\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"echo a | tee f\\nb\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"a || tee f\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"a | teepee f\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"a | tee f | b\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"b 'a | tee f'\"]", -1, "" },
	{ "[\"sh\", \"-c\", \"|\"]", -1, "" },

	/* kubernetes/kubernetes#2316, equinor/sdp-flux#114 */
	{ "[\"a\", \"$LR\"]", 1, NO_SHELL "$LR: write $(NAME)" },
	{ "[\"a\", \"b\", \"${DATA}/x\"]", 2, NO_SHELL "${DATA}/x" },
	{ "[\"a\", \"--lr=$LR\"]", 1, NO_SHELL "--lr=$LR" },
	{ "[\"a\", \"$HOME/x\"]", 1, NO_SHELL "$HOME/x" },
	{ "[\"a\", \"$(LR)\", \"$$(A)\", \"$\", \"$1\", \"$lr\", \"a=$LR\", \"\"]", -1,
	  "" },
	{ "[\"tune\", \"run\", \"a=${b.c}\", \"${oc.env:A}\", \"${A.b}\"]", -1, "" },
	{ "[\"a\", \"-c\", \"$A + 1\", \"$A_b\", \"${A\"]", -1, "" },
	{ "[\"mpirun\", \"a\", \"bash\", \"-c\", \"$A\", \"|\"]", -1, "" },
	{ "[\"mpirun\", \"$A\", \"bash\"]", 1, NO_SHELL },

	{ "[\"python3\", \"a.py\", \"|\", \"tee\", \"log\"]", 2, "| is a word" },
	{ "[\"python3\", \"a.py\", \"2>&1\"]", 2,
	  "2>&1 is a word for the program, " PIPE },
	{ "[\"cd\", \"/d\", \"&&\", \"a\"]", 2, PIPE },
	{ "[\"find\", \"-exec\", \"a\", \";\"]", -1, "" },
};

TEST(test_rows)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *parsed = cJSON_Parse(rows[i].words);
		cleanup_json cJSON *list =
			json_dup(parsed); /* without room at their ends */
		const char *words[10];
		size_t n = 0;
		const cJSON *node;
		struct command_fault fault = { 0 };
		bool wrong;

		json_each(node, list)
			words[n++] = cJSON_GetStringValue(node);
		wrong = command_fault_find(&arena, words, n, &fault);
		if (wrong != (rows[i].at >= 0) ||
		    (wrong && ((int)fault.word != rows[i].at ||
			       !strstr(fault.text, rows[i].want))))
			fail_msg("%s: %zu: %s", rows[i].words, fault.word,
				 wrong ? fault.text : "no fault");
	}
}

RUN_TESTS(NULL, NULL)
