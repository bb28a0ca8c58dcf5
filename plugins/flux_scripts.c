/* flux_scripts.c - the shell scripts of Flux's pods (plugins/flux_scripts.h). */
#include "plugins/flux_scripts.h"

/*
 * /mnt/flux is an emptyDir shared by both containers: config/ is written by the
 * installer, view/ and software/ hold a copy of the image's Flux. Flux's views are built
 * for these paths.
 */
void flux_init_script(struct buf *out, const struct flux_facts *f)
{
	buf_adds(
		out,
		"#!/bin/bash\n"
		"# Written by kftrainer: bring Flux and its configuration to /mnt/flux.\n"
		"set -e\n"
		"base=/mnt/flux\n"
		"config=$base/config\n"
		"mkdir -p \"$base/view\" \"$config/run/flux\" \"$config/etc/curve\" \\\n"
		"\t\"$config/etc/flux/config\" \"$config/etc/flux/system/cron.d\" \\\n"
		"\t\"$config/var/lib/flux\"\n\n");
	buf_printf(out, "echo '%s' > \"$config/etc/flux/system/hostlist\"\n\n", f->hosts);
	buf_printf(out,
		   "cat > \"$config/etc/flux/config/broker.toml\" <<'END'\n"
		   "[access]\n"
		   "allow-guest-user = true\n"
		   "allow-root-owner = true\n\n"
		   "[resource]\n"
		   "path = \"/mnt/flux/config/etc/flux/system/R\"\n\n"
		   "[bootstrap]\n"
		   "curve_cert = \"/mnt/flux/config/etc/curve/curve.cert\"\n"
		   "default_port = 8050\n"
		   "default_bind = \"tcp://%s:%%p\"\n"
		   "default_connect = \"tcp://%%h.%s:%%p\"\n"
		   "hosts = [ { host = \"%s\" } ]\n\n"
		   "[archive]\n"
		   "dbpath = \"/mnt/flux/config/var/lib/flux/job-archive.sqlite\"\n"
		   "period = \"1m\"\n"
		   "busytimeout = \"50s\"\n\n"
		   "[sched-fluxion-qmanager]\n"
		   "queue-policy = \"%s\"\n"
		   "END\n\n",
		   f->device, f->domain, f->hosts, f->queue_policy);
	buf_adds(
		out,
		"# /opt/view is a link into here; what it links to is in /opt/software.\n"
		"for view in /opt/views/._view/*; do\n"
		"\tcp -R \"$view\"/. \"$base/view\"\n"
		"done\n"
		"cp -R /opt/software \"$base/\"\n");
}

static void environment(struct buf *out)
{
	buf_adds(
		out,
		"#!/bin/bash\n"
		"# Written by kftrainer: start Flux on this node.\n"
		"base=/mnt/flux\n"
		"view=$base/view\n"
		"config=$base/config\n"
		"command=\"$*\"\n"
		"\n"
		"# The view's own Python, behind what the image has.\n"
		"cp -R \"$base\"/software/. /opt/software/\n"
		"export PATH=\"$PATH:$view/bin\"\n"
		"for lib in \"$view\"/lib/python3*; do\n"
		"\t[ -d \"$lib\" ] || continue\n"
		"\tpython=$view/bin/${lib##*/}\n"
		"\t[ -f \"$python\" ] && [ ! -L \"$python\" ] &&\n"
		"\t\tln -sf \"$python\" \"$view/bin/python3\"\n"
		"\texport PYTHONPATH=\"${PYTHONPATH:-}:$lib/site-packages\"\n"
		"done\n"
		"export FLUX_RC_EXTRA=$view/etc/flux/rc1.d\n"
		"export STATE_DIR=$config/var/lib/flux\n"
		"export FLUX_OUTPUT_DIR=/tmp/fluxout\n"
		"mkdir -p \"$STATE_DIR\" \"$FLUX_OUTPUT_DIR\" \"$config/etc/flux/system/cron.d\"\n"
		"\n"
		"# For whoever opens a shell in this pod: . /mnt/flux/flux-view.sh\n"
		"cat > \"$base/flux-view.sh\" <<END\n"
		"export PATH=\"$PATH\"\n"
		"export PYTHONPATH=\"${PYTHONPATH:-}\"\n"
		"export LD_LIBRARY_PATH=\"${LD_LIBRARY_PATH:-}:$view/lib\"\n"
		"export fluxsocket=local://$config/run/flux/local\n"
		"END\n"
		"\n"
		"# Flux wants the key readable by its owner only.\n"
		"install -m 600 /curve/curve.cert \"$config/etc/curve/curve.cert\"\n"
		"\n");
}

void flux_entrypoint_script(struct buf *out, const struct flux_facts *f)
{
	environment(out);
	buf_printf(
		out,
		"hosts=$(cat \"$config/etc/flux/system/hostlist\")\n"
		"flux R encode --hosts=\"$hosts\" %s > \"$config/etc/flux/system/R\"\n\n"
		"options=(\n"
		"\t-Scron.directory=\"$config/etc/flux/system/cron.d\"\n"
		"\t-Stbon.fanout=256\n"
		"\t-Srundir=\"$config/run/flux\"\n"
		"\t-Sstatedir=\"$STATE_DIR\"\n"
		"\t-Slocal-uri=\"local://$config/run/flux/local\"\n"
		"\t-Slog-stderr-level=0\n"
		"\t-Slog-stderr-mode=local\n"
		")\n\n",
		f->resources);
	buf_printf(
		out,
		"if [ \"$(hostname)\" = '%s' ]; then\n"
		"\tif [ -z \"$command\" ]; then\n"
		"\t\texec flux broker --config-path \"$config/etc/flux/config\" \"${options[@]}\"\n"
		"\tfi\n"
		"\techo \"flux run %s $command\"\n"
		"\t# Unquoted: the words of the command are Flux's arguments.\n"
		"\texec flux start -o --config \"$config/etc/flux/config\" "
		"\"${options[@]}\" flux run %s $command\n"
		"fi\n"
		"\n",
		f->lead, f->flags, f->flags);
	buf_adds(
		out,
		"# A follower joins when the lead broker is there, and ends with it.\n"
		"until flux start -o --config \"$config/etc/flux/config\" \"${options[@]}\"; do\n"
		"\techo \"flux start: exit status $?, again in 15 s\"\n"
		"\tsleep 15\n"
		"done\n");
}
