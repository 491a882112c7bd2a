/* Several threads, one file or several. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "claims.h"

static int device, eventfd;

static void *in_thread(void *(*function)(void *))
{
	pthread_t thread;
	void *result;

	CHECK(pthread_create(&thread, NULL, function, NULL) == 0);
	CHECK(pthread_join(thread, &result) == 0);
	return result;
}

static void *binds(void *unused)
{
	pin(1);
	SAYS(register_thread(device), 0);
	bind_soon(device, eventfd);
	return unused;
}

static void *owns_nothing(void *unused)
{
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
	SAYS(unbind_thread(device), -EPERM);
	SAYS(bind_thread(device, eventfd), -EPERM);
	SAYS(call(device, JOULIO_UINTR_UNREGISTER, NULL), -EPERM);
	SAYS(register_thread(device), -EBUSY);
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
	return unused;
}

static void *closes(void *unused)
{
	close(device);
	return unused;
}

/* A thread that exits while the file is open; then another takes the file. */
static void an_exit_lets_go(void)
{
	int i;

	for (i = 0; i < 50; i++) {
		in_thread(binds);
		/* Joined is not gone: the thread's last instructions may be ahead. */
		state_soon(device, JOULIO_UINTR_LOST);
	}
	printf("threads: 50 of 50 let go when they exited\n");
}

/* Another thread closes the file: the interrupt is free at once, the thread later. */
static void a_close_elsewhere_lets_go_of_the_interrupt(void)
{
	int other, i;

	for (i = 0; i < 50; i++) {
		binds(NULL);
		in_thread(owns_nothing);
		in_thread(closes);
		other = eventfd;
		device = open_device();
		/* Registers anew, over what was left behind. */
		SAYS(register_thread(device), 0);
		SAYS(bind_thread(device, other), 0);
		SAYS(call(device, JOULIO_UINTR_UNREGISTER, NULL), 0);
	}
	printf("threads: 50 of 50 files closed by another thread\n");
}

static volatile int stop;

/* Counts how often it has tried. */
static void *registers_all_the_time(void *tried)
{
	while (!stop) {
		long result = register_thread(device);

		++*(volatile int *)tried;
		CHECK(result == 0 || result == -EBUSY);
		if (!result)
			SAYS(call(device, JOULIO_UINTR_UNREGISTER, NULL), 0);
	}
	return NULL;
}

/* Two threads for one file: one has it, or the other. */
static void one_thread_has_it_at_a_time(void)
{
	volatile int tried[2] = { 0 };
	pthread_t threads[2];
	int i, tries = SOON;

	for (i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, registers_all_the_time,
				     (void *)&tried[i]) == 0);
	while ((tried[0] < 200 || tried[1] < 200) && --tries)
		usleep(1000);
	CHECK(tries);
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	SAYS(status(device).state, JOULIO_UINTR_NONE);
	printf("threads: one at a time\n");
}

static void *execs(void *unused)
{
	binds(NULL);
	execl("/proc/self/exe", "claims", "nothing", NULL);
	return unused;
}

static void execs_from_a_thread(void *unused)
{
	(void)unused;
	/* The first thread is bound as well, and ends by the other's exec. */
	SAYS(register_thread(open_device()), 0);
	device = open_device();
	in_thread(execs);
}

void claims_of_threads(void)
{
	int first = open_device(), source;

	eventfd = new_eventfd();
	source = new_source(first, eventfd, 0);
	close(first);

	device = open_device();
	an_exit_lets_go();
	one_thread_has_it_at_a_time();
	a_close_elsewhere_lets_go_of_the_interrupt();
	close(device);

	/* It ends as the program without a claim does, with 2. */
	reap(child(execs_from_a_thread, NULL), 2000);
	device = open_device();
	binds(NULL);
	SAYS(call(device, JOULIO_UINTR_UNREGISTER, NULL), 0);
	printf("threads: exec by one of two lets go of both\n");
	close(source);
}
