/* remote_ssh.c - run a command by an sshd; remote_start() (mpi/remote.h). */
#include "mpi/remote.h"

#include "net/ssh.h"

static int pump(void *self, remote_output *output, void *ctx, struct error *err)
{
	return ssh_pump(self, output, ctx, err);
}

static short events(const void *self)
{
	return ssh_events(self);
}

static size_t input_room(const void *self)
{
	return ssh_input_room(self);
}

static void input(void *self, const void *data, size_t len)
{
	ssh_input(self, data, len);
}

static void end_input(void *self)
{
	ssh_end_input(self);
}

static void pass_signal(void *self, int signum)
{
	ssh_signal(self, signum);
}

static bool ended(const void *self)
{
	return ssh_ended(self);
}

static int status(const void *self, int *ret_status, struct error *err)
{
	return ssh_status(self, ret_status, err);
}

/* The peer owns the connection. */
static void release(void *self)
{
}

static const struct remote_ops ops = {
	.pump = pump,
	.events = events,
	.input_room = input_room,
	.input = input,
	.end_input = end_input,
	.signal = pass_signal,
	.ended = ended,
	.status = status,
	.release = release,
};

int remote_start(struct remote *ret, struct peer *peer, const char *command,
		 int64_t deadline, struct error *err)
{
	if (!peer->ssh)
		return remote_start_worker(ret, peer, command, err);
	if (ssh_exec(peer->ssh, command, deadline, err))
		return -1;
	*ret = (struct remote){ &ops, peer->ssh };
	return 0;
}

void remote_release(struct remote *r)
{
	if (r->ops)
		r->ops->release(r->self);
	*r = (struct remote){ 0 };
}
