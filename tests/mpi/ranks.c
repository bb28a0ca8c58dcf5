/*
 * ranks.c - the program that the MPI tests start, with one implementation after the other.
 *
 * ranks place      every rank prints "rank R of N at HOSTNAME in POD", and rank 0 "sum S"
 * ranks exit       rank 3 exits 3 once all ranks are up, and the others wait
 * ranks leave      every rank exits 3
 * ranks kill       rank 3 kills itself once all ranks are up, and the others wait
 * ranks wait       every rank prints as `place` does, and then waits for a signal
 * ranks stdin R    rank R prints how many bytes it read, and their sum
 * ranks output N   rank 3 prints N bytes
 * ranks env NAME   rank 3 prints the value of a variable
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REMOTE = 3 }; /* neither first nor last: in no order of hosts the launcher's */

static int rank, size;

/*
 * The value of POD of the daemon that started this rank, which is its pod's: some launchers
 * give ranks the variables of the launcher's pod.
 */
static void pod_of_parent(char *ret, size_t max)
{
	static char env[65536];
	char path[64], *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	f = fopen(path, "r");
	end = env + (f ? fread(env, 1, sizeof(env) - 1, f) : 0);
	*end = 0;
	for (char *var = env; var < end; var += strlen(var) + 1)
		if (!strncmp(var, "POD=", 4))
			snprintf(ret, max, "%s", var + 4);
	if (f)
		fclose(f);
}

static int place(void)
{
	char host[256] = "";
	char pod[256] = "";
	long mine = (long)rank + 1, sum = 0;

	gethostname(host, sizeof(host) - 1);
	pod_of_parent(pod, sizeof(pod));
	printf("rank %d of %d at %s in %s\n", rank, size, host, pod);
	fflush(stdout);
	MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (sum != (long)size * (size + 1) / 2)
		return 1;
	if (!rank)
		printf("sum %ld\n", sum);
	fflush(stdout);
	return 0;
}

static int wait_long(void)
{
	int rc = place();

	while (!rc)
		sleep(1000);
	return rc;
}

/* What the tests wait for: all ranks are up. */
static void begin(void)
{
	printf("begin\n");
	fflush(stdout);
}

/* A rank that is gone before others are through MPI_Init makes these fail, not wait. */
static void wait_without(void (*end)(void))
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == REMOTE)
		end();
	for (;;)
		sleep(1000);
}

static void exit_3(void)
{
	begin();
	_exit(3);
}

static void kill_self(void)
{
	kill(getpid(), SIGKILL);
}

static int read_stdin(int reader)
{
	unsigned char buf[4096];
	unsigned long bytes = 0, sum = 0;
	ssize_t n;

	if (rank == reader)
		begin();
	while (rank == reader && (n = read(0, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n; i++, bytes++)
			sum += buf[i];
	if (rank == reader)
		printf("read %lu bytes, sum %lu\n", bytes, sum);
	return 0;
}

static int output(const char *arg)
{
	static char buf[1 << 20];

	setvbuf(stdout, buf, _IOFBF, sizeof(buf));
	for (long i = 0; rank == REMOTE && i < atol(arg) / 100; i++)
		printf("%099ld\n", i);
	return 0;
}

static int variable(const char *name)
{
	const char *value = getenv(name);

	if (rank == REMOTE)
		printf("[%s]\n", value ? value : "unset");
	return 0;
}

static int run(const char *what, const char *arg)
{
	if (!strcmp(what, "place"))
		return place();
	if (!strcmp(what, "wait"))
		return wait_long();
	if (!strcmp(what, "exit"))
		wait_without(exit_3);
	if (!strcmp(what, "leave"))
		return 3;
	if (!strcmp(what, "kill"))
		wait_without(kill_self);
	if (!strcmp(what, "stdin"))
		return read_stdin(atoi(arg));
	if (!strcmp(what, "output"))
		return output(arg);
	if (!strcmp(what, "env"))
		return variable(arg);
	return 2;
}

int main(int argc, char **argv)
{
	int rc;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	rc = run(argc > 1 ? argv[1] : "place", argc > 2 ? argv[2] : "");
	fflush(stdout);
	MPI_Finalize();
	return rc;
}
