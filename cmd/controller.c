/* controller.c - run the controller, like upstream's manager (manager/manager.h). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "machine/local_api.h"
#include "manager/manager.h"

/* Numeric levels from here on enable debug lines (logr's V-levels). */
enum { DEBUG_VERBOSITY = 4, MAX_VERBOSITY = 127 };

struct controller_opts {
	const char *config, *gates, *kubeconfig, *image, *webhook_client_ca;
	const char *zap_level, *zap_encoder;
	int zap_devel, zap_stack, zap_time;
	bool local;
	struct local_api_opts api;
};

static const char *const bools[] = { "false", "true", NULL };
static const char *const stack_levels[] = { "error", "info", "panic", NULL };
static const char *const times[] = { "rfc3339", "rfc3339nano", "iso8601", "epoch",
				     "millis",  "nano",        NULL };

static const struct opt opts_table[] = {
	OPT_STR(0, "config", "FILE", "settings (config.trainer.kubeflow.org/v1alpha1)",
		struct controller_opts, config),
	OPT_STR(0, "feature-gates", "LIST",
		"feature gates: TrainJobStatus=true, DynamicResourceAllocation=true, "
		"TrainJobWorkloadAwareScheduling=true; overrides the settings",
		struct controller_opts, gates),
	OPT_STR(0, "kubeconfig", "FILE", "kubeconfig file, when not run in a pod",
		struct controller_opts, kubeconfig),
	OPT_STR(0, "image", "REF",
		"kftrainer's image for jobs' pods (default: this pod's)",
		struct controller_opts, image),
	OPT_STR(0, "webhook-client-ca", "FILE",
		"require clients of the webhooks to have a certificate of these CAs",
		struct controller_opts, webhook_client_ca),
	OPT_BOOL(
		0, "local",
		"serve an API of this machine for kubectl and the SDK, without a cluster",
		struct controller_opts, local),
	OPT_STR(0, "data", "DIR",
		"with --local: directory for its objects (default: "
		"$XDG_STATE_HOME/kftrainer/server)",
		struct controller_opts, api.data),
	OPT_DURATION(
		0, "idle", "TIME",
		"with --local: exit after this time without requests and running jobs",
		struct controller_opts, api.idle_ms, 1, OPT_LONGEST),
	OPT_STR(0, "listen", "ADDRESS[:PORT]",
		"with --local: where to listen (default: 127.0.0.1, the previous port)",
		struct controller_opts, api.listen),
	OPT_STR(0, "zap-log-level", "LEVEL",
		"debug, info, error, panic, or a number (4 and above: debug)",
		struct controller_opts, zap_level),
	OPT_STR(0, "zap-encoder", "FORM", "json or console", struct controller_opts,
		zap_encoder),
	{ .type = OPT_ENUM,
	  .name = "zap-devel",
	  .value = "BOOL",
	  .help = "default to console and debug",
	  .offset = OPT_ENUM_FIELD(struct controller_opts, zap_devel),
	  .words = bools,
	  .bare = "true" },
	OPT_ENUM(0, "zap-stacktrace-level", "LEVEL",
		 "accepted and ignored: no stack traces", struct controller_opts,
		 zap_stack, stack_levels),
	OPT_ENUM(0, "zap-time-encoding", "FORM",
		 "accepted and ignored: times are RFC 3339", struct controller_opts,
		 zap_time, times),
	{ .type = OPT_END },
};

static int set_level(const struct controller_opts *o, enum log_level *ret,
		     struct error *err)
{
	static const struct {
		const char *word;
		enum log_level level;
	} words[] = {
		{ "debug", LOG_LEVEL_DEBUG },
		{ "info", LOG_LEVEL_INFO },
		{ "error", LOG_LEVEL_ERROR },
		{ "panic", LOG_LEVEL_ERROR },
	};
	int64_t verbosity;

	*ret = o->zap_devel ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	if (!o->zap_level)
		return 0;
	for (size_t i = 0; i < N_ELEMENTS(words); i++)
		if (str_eq(o->zap_level, words[i].word)) {
			*ret = words[i].level;
			return 0;
		}
	if (str_int(&verbosity, o->zap_level, 1, MAX_VERBOSITY, IGNORED))
		return error_set(err, ERR_USAGE,
				 "--zap-log-level: invalid level '%.100s': want debug, "
				 "info, error, panic or a number above 0",
				 o->zap_level);
	*ret = verbosity >= DEBUG_VERBOSITY ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	return 0;
}

static int set_log(const struct controller_opts *o, struct error *err)
{
	const char *encoder = o->zap_encoder;
	enum log_level level;

	if (set_level(o, &level, err))
		return -1;
	if (!encoder)
		encoder = o->zap_devel ? "console" : "json";
	if (!str_eq(encoder, "json") && !str_eq(encoder, "console"))
		return error_set(
			err, ERR_USAGE,
			"--zap-encoder: invalid encoder '%.100s': want json or console",
			encoder);
	log_setup(level, str_eq(encoder, "json") ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT,
		  STDERR_FILENO);
	return 0;
}

/* Load the settings. EXIT_BAD_INPUT: all their errors were printed, a line each. */
static int load(const struct controller_opts *o, struct manager_config *config,
		struct error *err)
{
	char **errors;

	if (!manager_config_load(config, o->config, o->gates, &errors, err))
		return 0;
	if (!errors)
		return -1;
	for (; *errors; errors++)
		cmd_complain("controller", "%s", *errors);
	return EXIT_BAD_INPUT;
}

static int run_with(const struct controller_opts *o, const struct manager_config *config,
		    struct error *err)
{
	const struct kube_config_flags flags = { .kubeconfig = o->kubeconfig };
	cleanup_kube_config struct kube_config kube_config = { 0 };

	if (kube_config_load(&kube_config, &flags, err) || stop_setup(err))
		return -1;
	if (!manager_run(config, &kube_config, err))
		return EXIT_OK;
	/* Another replica may lead now: end without any more API calls. */
	log_error("cannot go on", LOG_ERR(err));
	_exit(EXIT_FAILED);
}

/* Only this line goes to stdout, for scripts: export KUBECONFIG="$(...)" */
static void print_path(const char *kubeconfig)
{
	printf("%s\n", kubeconfig);
	fflush(stdout);
}

static int check_local(const struct controller_opts *o, struct error *err)
{
	if (!o->local && (o->api.data || o->api.listen || o->api.idle_ms))
		return error_set(err, ERR_USAGE, "--%s requires --local",
				 o->api.data     ? "data"
				 : o->api.listen ? "listen"
						 : "idle");
	if (o->local && o->kubeconfig)
		return error_set(err, ERR_USAGE,
				 "--local cannot be combined with --kubeconfig");
	return 0;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct controller_opts *o = values;
	struct manager_config config = { 0 };
	struct local_api_opts api = o->api;
	int code;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (check_local(o, err) || set_log(o, err))
		return -1;
	code = load(o, &config, err);
	config.image = o->image;
	config.webhook_client_ca = o->webhook_client_ca;
	config.strict = getenv("KFTRAINER_STRICT") != NULL;
	api.on_ready = print_path;
	if (!code && o->local)
		code = local_api_run(&api, &config, err);
	else if (!code)
		code = run_with(o, &config, err);
	manager_config_release(&config);
	return code;
}

const struct cmd cmd_controller = {
	.name = "controller",
	.args = "",
	.summary = "run TrainJobs on a cluster, or serve this machine's API",
	.about =
		"Creates JobSets for TrainJobs, serves the admission webhooks and updates the\n"
		"status of jobs. A drop-in replacement for upstream's trainer-controller-manager,\n"
		"with the same settings, flags and objects. All replicas serve webhooks; the\n"
		"leader also reconciles. Exits with 0 on SIGTERM, and with 1 as soon as it loses\n"
		"its lease.\n"
		"\n"
		"With --local, serves the same API on this machine instead: for kubectl, with the\n"
		"built-in runtimes, defaults, validation and JobSets. Writes a kubeconfig and\n"
		"prints its path. Jobs run as with 'submit --local', and continue when the server\n"
		"exits.",
	.example = "kftrainer controller --local\n"
		   "kftrainer controller --feature-gates TrainJobStatus=true\n"
		   "kftrainer controller --zap-encoder console --zap-log-level debug",
	.opts = opts_table,
	.opts_size = sizeof(struct controller_opts),
	.flags = CMD_DAEMON | CMD_IN_POD,
	.run = run,
};
