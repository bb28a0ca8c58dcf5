/* The first process of a pod's sandbox: waits, and reaps what the pod leaves behind. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal)
{
	_exit(0);
}

static void reap(int signal)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int main(void)
{
	struct sigaction ends = { .sa_handler = end };
	struct sigaction reaps = { .sa_handler = reap, .sa_flags = SA_NOCLDSTOP };

	sigaction(SIGINT, &ends, NULL);
	sigaction(SIGTERM, &ends, NULL);
	sigaction(SIGCHLD, &reaps, NULL);
	for (;;)
		pause();
}
