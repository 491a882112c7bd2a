/* A process that is bound, and every way in which that ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "claims.h"

#define DEVICE_FD "JOULIO_DEVICE_FD"

static int eventfd; /* every process', and its source's */
static int irq;
static char unbound_affinity[64];

/* The calling process bound, by a file of its own. */
static int bound(void)
{
	int device = open_device();

	pin(1);
	SAYS(register_thread(device), 0);
	bind_soon(device, eventfd);
	return device;
}

/* That nothing holds the interrupt: it is where it was, and can be had. */
static void released(const char *how)
{
	char text[64];
	int device = bound();

	SAYS(call(device, JOULIO_UINTR_UNREGISTER, NULL), 0);
	SAYS(status(device).state, JOULIO_UINTR_NONE);
	affinity(irq, text, sizeof(text));
	CHECK(!strcmp(text, unbound_affinity));
	/* Not kept from being balanced any more either. */
	SAYS(set_affinity(irq, text), 0);
	close(device);
	printf("released: %s\n", how);
}

static void exits(void *unused)
{
	bound();
	(void)unused;
}

static void dies(void *signal)
{
	bound();
	raise(*(int *)signal);
}

static void waits(void *ready)
{
	char byte = 0;

	bound();
	CHECK(write(*(int *)ready, &byte, 1) == 1);
	for (;;)
		pause();
}

static void is_killed_in_its_sleep(void)
{
	int ends[2], pid;
	char byte;

	CHECK(pipe(ends) == 0);
	pid = child(waits, &ends[1]);
	CHECK(read(ends[0], &byte, 1) == 1);
	kill(pid, SIGKILL);
	reap(pid, SIGKILL);
	close(ends[0]);
	close(ends[1]);
	released("killed in its sleep");
}

static void execs(void *unused)
{
	char fd[16];
	int device = bound();

	(void)unused;
	fcntl(device, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "%d", device);
	setenv(DEVICE_FD, fd, 1);
	execl("/proc/self/exe", "claims", "after-exec", NULL);
	CHECK(!"exec");
}

/* The program that a bound one has become: the file is there, the thread is not. */
int claims_after_exec(void)
{
	int device = atoi(getenv(DEVICE_FD));

	SAYS(status(device).state, JOULIO_UINTR_LOST);
	SAYS(status(device).vector, 0);
	SAYS(unbind_thread(device), -EPERM);
	SAYS(call(device, JOULIO_UINTR_UNREGISTER, NULL), -EPERM);
	SAYS(register_thread(device), 0);
	SAYS(status(device).state, JOULIO_UINTR_REGISTERED);
	return 0;
}

static void execs_nothing(void)
{
	int device = bound();

	CHECK(execl("/proc/nothing", "nothing", NULL) < 0);
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
	close(device);
	released("an exec that failed changed nothing");
}

static void inherits(void *device)
{
	int fd = *(int *)device;
	uint64_t switches = status(fd).switches_in;

	SAYS(status(fd).state, JOULIO_UINTR_BOUND);
	SAYS(unbind_thread(fd), -EPERM);
	SAYS(bind_thread(fd, eventfd), -EPERM);
	SAYS(call(fd, JOULIO_UINTR_UNREGISTER, NULL), -EPERM);
	SAYS(register_thread(fd), -EBUSY);
	/* The notifier is not inherited: only the parent's switches count, and it waits. */
	usleep(1000);
	usleep(1000);
	CHECK(status(fd).switches_in <= switches + 1);
	/* And may be a thread of its own, with a file of its own. */
	fd = open_device();
	SAYS(register_thread(fd), 0);
}

static void a_child_has_the_descriptor_only(void)
{
	int device = bound();

	reap(child(inherits, &device), 0);
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
	close(device);
	released("a child's end changed nothing");
}

static void outlives(void *device)
{
	SAYS(status(*(int *)device).state, JOULIO_UINTR_BOUND);
	kill(getppid(), SIGKILL);
	/* The file is still open here. */
	state_soon(*(int *)device, JOULIO_UINTR_LOST);
	SAYS(register_thread(*(int *)device), 0);
	pin(1);
	bind_soon(*(int *)device, eventfd);
}

static void has_a_child_that_outlives_it(void *ends)
{
	int device = bound(), pid;

	close(((int *)ends)[0]);
	pid = child(outlives, &device);
	waitpid(pid, NULL, 0);
}

static void dies_before_its_child(void)
{
	int ends[2], pid;
	char byte;

	CHECK(pipe(ends) == 0);
	pid = child(has_a_child_that_outlives_it, ends);
	close(ends[1]);
	reap(pid, SIGKILL);
	/* The child's end of the pipe closes with it. */
	CHECK(read(ends[0], &byte, 1) == 0);
	close(ends[0]);
	released("the file's other process bound after the thread's death");
}

/* The file, the source and the eventfd, closed in each of six orders. */
static void closes_in_order(const int *order)
{
	enum { DEVICE, SOURCE, EVENTFD };
	bool open[3] = { true, true, true };
	int fds[3], i;

	fds[DEVICE] = open_device();
	SAYS(register_thread(fds[DEVICE]), 0);
	fds[EVENTFD] = new_eventfd();
	fds[SOURCE] = new_source(fds[DEVICE], fds[EVENTFD], 1);
	SAYS(bind_thread(fds[DEVICE], fds[EVENTFD]), 0);
	for (i = 0; i < 3; i++) {
		close(fds[order[i]]);
		open[order[i]] = false;
		if (open[DEVICE])
			SAYS(status(fds[DEVICE]).state,
			     open[SOURCE] ? JOULIO_UINTR_BOUND : JOULIO_UINTR_LOST);
	}
}

void claims_of_lifetimes(void)
{
	static const int orders[6][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	static int abrt = SIGABRT, segv = SIGSEGV, killed = SIGKILL;
	int device = open_device(), source, i;

	eventfd = new_eventfd();
	source = new_source(device, eventfd, 1);
	close(device);
	irq = irq_of("joulio-uintr");
	affinity(irq, unbound_affinity, sizeof(unbound_affinity));

	close(bound());
	released("closed");
	reap(child(exits, NULL), 0);
	released("exited");
	reap(child(dies, &abrt), SIGABRT);
	released("aborted");
	reap(child(dies, &segv), SIGSEGV);
	released("crashed");
	reap(child(dies, &killed), SIGKILL);
	released("killed");
	is_killed_in_its_sleep();
	reap(child(execs, NULL), 0);
	released("became another program");
	execs_nothing();
	a_child_has_the_descriptor_only();
	dies_before_its_child();
	close(source);

	for (i = 0; i < 6; i++)
		closes_in_order(orders[i]);
	SAYS(irq_of("joulio-uintr"), 0);
	printf("released: closed in 6 of 6 orders\n");
}
