/* Eventfds that are watched: their signals are user interrupts too, wherever the thread is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "claims.h"

#define TIMES 1000
#define DRIVES 7

static int device;

static void signal_it(int eventfd)
{
	uint64_t one = 1;

	CHECK(write(eventfd, &one, sizeof(one)) == sizeof(one));
}

static uint64_t heard(void)
{
	struct joulio_uintr_status now = status(device);

	return now.notified + now.injected;
}

/* How often this thread has given its CPU away by itself. */
static long blocked(void)
{
	struct rusage usage;

	CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
	return usage.ru_nvcsw;
}

static void begins(int cpu)
{
	device = open_device();
	pin(cpu);
	SAYS(register_thread(device), 0);
}

static void ends(void)
{
	SAYS(call(device, JOULIO_UINTR_UNREGISTER, NULL), 0);
	close(device);
}

/* From the thread itself, which runs: it has heard of each when the call returns. */
static void every_signal_is_heard(void)
{
	int eventfd = new_eventfd(), i;
	uint64_t before, handled;
	long number, switches;

	begins(1);
	number = watch(device, eventfd);
	SAYS(number, 0);
	before = heard();
	handled = handler_runs();
	switches = blocked();
	for (i = 1; i <= TIMES; i++) {
		signal_it(eventfd);
		SAYS(heard(), before + i);
		if (hardware())
			SAYS(handler_runs(), handled + i);
	}
	SAYS(blocked(), switches);
	SAYS(taken(eventfd), TIMES);
	SAYS(unwatch(device, number), 0);
	signal_it(eventfd);
	SAYS(heard(), before + TIMES);
	ends();
	close(eventfd);
	printf("watches: %d of %d signals heard at once\n", TIMES, TIMES);
}

static void what_came_while_it_was_away_is_heard_once(void)
{
	int eventfd = new_eventfd(), pid;
	uint64_t before, injected;

	/* Before it was watched. */
	signal_it(eventfd);
	begins(1);
	before = heard();
	SAYS(watch(device, eventfd), 0);
	SAYS(heard(), before + 1);
	/* In its sleep, three at once. */
	before = heard();
	injected = status(device).injected;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		pin(0);
		until_it_sleeps(getppid());
		signal_it(eventfd);
		signal_it(eventfd);
		signal_it(eventfd);
		_exit(0);
	}
	reap(pid, 0);
	CHECK(heard() > before && heard() <= before + 3);
	CHECK(status(device).injected > injected);
	SAYS(taken(eventfd), 4);
	ends();
	close(eventfd);
	printf("watches: what came meanwhile is heard when the thread is back\n");
}

struct drive {
	int eventfd;
	/* The last that was completed; written before it is signalled. */
	volatile uint64_t completed;
};

static struct drive drives[DRIVES];
static volatile uint64_t submitted[DRIVES];
static volatile int over;

/* Completes and signals what was submitted, from another CPU. */
static void *completes(void *unused)
{
	int i;

	pin(0);
	while (!over)
		for (i = 0; i < DRIVES; i++)
			if (drives[i].completed != submitted[i]) {
				drives[i].completed = submitted[i];
				signal_it(drives[i].eventfd);
			}
	return unused;
}

static bool is_over(int of)
{
	return drives[of].completed == submitted[of];
}

/*
 * One after the other on each of seven; waited for by nothing but the handler. One
 * that is lost is waited for without end, and the guest's time runs out.
 */
static void none_of_seven_drives_is_lost(void)
{
	uint64_t before;
	pthread_t thread;
	long switches;
	int i, n;

	begins(1);
	for (i = 0; i < DRIVES; i++) {
		drives[i].eventfd = new_eventfd();
		SAYS(watch(device, drives[i].eventfd), i);
	}
	CHECK(pthread_create(&thread, NULL, completes, NULL) == 0);
	usleep(10000);
	before = heard();
	switches = blocked();
	for (n = 0; n < 2 * TIMES; n++) {
		i = n % DRIVES;
		submitted[i]++;
		/* Clear, look, wait. */
		for (;;) {
			handler_clear();
			if (is_over(i))
				break;
			handler_wait(device);
		}
		/* Off its CPU now and then, so that some come meanwhile. */
		if (n % 100 == 0) {
			submitted[i]++;
			sched_yield();
			while (!is_over(i))
				;
		}
	}
	printf("watches: %d on %d drives, %lu heard, %ld blocks\n", 2 * TIMES, DRIVES,
	       (unsigned long)(heard() - before), blocked() - switches);
	over = 1;
	pthread_join(thread, NULL);
	for (i = 0; i < DRIVES; i++) {
		SAYS(unwatch(device, i), 0);
		close(drives[i].eventfd);
	}
	ends();
}

/* Through the kernel's handler of a real interrupt, to a thread that has another one directly. */
static void a_kernels_interrupt_reaches_the_thread(int cpu)
{
	int bound = new_eventfd(), watched = new_eventfd(), own, others, i;
	uint64_t one = 1, before, handled, kernel;

	begins(1);
	own = new_source(device, bound, 1);
	others = new_source(device, watched, cpu);
	SAYS(bind_thread(device, bound), 0);
	SAYS(watch(device, watched), 0);
	before = heard();
	handled = handler_runs();
	for (i = 1; i <= TIMES; i++) {
		CHECK(write(others, &one, sizeof(one)) == sizeof(one));
		while (heard() == before)
			;
		before = heard();
	}
	SAYS(taken(watched), TIMES);
	if (hardware())
		CHECK(handler_runs() > handled);
	/* And its own still comes without the kernel, or with it where the module is dry. */
	handled = handler_runs();
	CHECK(write(own, &one, sizeof(one)) == sizeof(one));
	kernel = taken(bound);
	CHECK(!hardware() || handler_runs() + kernel > handled);
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
	ends();
	close(own);
	close(others);
	close(bound);
	close(watched);
	printf("watches: %d interrupts by the kernel on cpu %d\n", TIMES, cpu);
}

/* Whoever waits for it in the kernel is woken as ever. */
static void a_watched_eventfd_ends_a_poll(void)
{
	int eventfd = new_eventfd(), pid;
	struct pollfd entry = { .fd = eventfd, .events = POLLIN };

	begins(1);
	SAYS(watch(device, eventfd), 0);
	SAYS(taken(eventfd), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		until_it_sleeps(getppid());
		signal_it(eventfd);
		_exit(0);
	}
	SAYS(poll(&entry, 1, 60000), 1);
	SAYS(taken(eventfd), 1);
	reap(pid, 0);
	ends();
	close(eventfd);
}

static void *is_not_the_thread(void *unused)
{
	int eventfd = new_eventfd();

	SAYS(watch(device, eventfd), -EPERM);
	SAYS(unwatch(device, 0), -EPERM);
	close(eventfd);
	return unused;
}

static void what_is_refused(void)
{
	struct joulio_uintr_watch request;
	int eventfd = new_eventfd(), i;
	void *volatile nowhere = (void *)8;
	pthread_t thread;

	device = open_device();
	SAYS(watch(device, eventfd), -ESRCH);
	SAYS(unwatch(device, 0), -ESRCH);
	close(device);
	begins(1);
	SAYS(watch(device, -1), -EBADF);
	SAYS(watch(device, device), -EINVAL);
	SAYS(unwatch(device, 0), -ENOENT);
	request = (struct joulio_uintr_watch){ .eventfd = eventfd, .flags = 1 };
	SAYS(call(device, JOULIO_UINTR_WATCH, &request), -EINVAL);
	SAYS(call(device, JOULIO_UINTR_WATCH, nowhere), -EFAULT);
	SAYS(call(device, JOULIO_UINTR_UNWATCH, nowhere), -EFAULT);
	CHECK(pthread_create(&thread, NULL, is_not_the_thread, NULL) == 0);
	pthread_join(thread, NULL);
	/* The same one may be watched again and again, to a limit; a free number is given anew. */
	for (i = 0; i < JOULIO_UINTR_WATCHES; i++)
		SAYS(watch(device, eventfd), i);
	SAYS(watch(device, eventfd), -ENOSPC);
	SAYS(unwatch(device, 7), 0);
	SAYS(unwatch(device, 7), -ENOENT);
	SAYS(watch(device, eventfd), 7);
	ends();
	signal_it(eventfd);
	close(eventfd);
	printf("watches: what is refused, and %d of one eventfd\n", JOULIO_UINTR_WATCHES);
}

/* The eventfd and the file, closed in both orders; signalled by who still has a copy. */
static void is_closed_while_watched(void)
{
	int eventfd = new_eventfd(), copy = dup(eventfd), i;
	uint64_t before;
	pthread_t thread;
	long number;

	begins(1);
	number = watch(device, eventfd);
	close(eventfd);
	before = heard();
	signal_it(copy);
	SAYS(heard(), before + 1);
	close(copy);
	/* Nobody has it any more; it goes by its number. */
	SAYS(unwatch(device, number), 0);

	for (i = 0; i < 100; i++) {
		eventfd = new_eventfd();
		SAYS(watch(device, eventfd), 0);
		close(eventfd);
		eventfd = new_eventfd();
		SAYS(watch(device, eventfd), 1);
		ends();
		signal_it(eventfd);
		close(eventfd);
		begins(1);
	}
	ends();

	/* Closed by another thread, while signals come from a third. */
	for (i = 0; i < DRIVES; i++)
		drives[i].eventfd = new_eventfd();
	over = 0;
	CHECK(pthread_create(&thread, NULL, completes, NULL) == 0);
	for (i = 0; i < 200; i++) {
		begins(1);
		SAYS(watch(device, drives[i % DRIVES].eventfd), 0);
		submitted[i % DRIVES]++;
		if (i % 2)
			SAYS(unwatch(device, 0), 0);
		close(device);
	}
	over = 1;
	pthread_join(thread, NULL);
	for (i = 0; i < DRIVES; i++)
		close(drives[i].eventfd);
	printf("watches: closed while watched, and signalled afterwards\n");
}

static void exits_with_a_watch(void *eventfd)
{
	begins(1);
	SAYS(watch(device, *(int *)eventfd), 0);
}

static void execs_with_a_watch(void *eventfd)
{
	exits_with_a_watch(eventfd);
	fcntl(device, F_SETFD, 0);
	execl("/proc/self/exe", "claims", "nothing", NULL);
}

static void ends_while_watching(void)
{
	int eventfd = new_eventfd(), i;

	for (i = 0; i < 50; i++) {
		reap(child(exits_with_a_watch, &eventfd), 0);
		signal_it(eventfd);
		reap(child(execs_with_a_watch, &eventfd), 2000);
		signal_it(eventfd);
	}
	SAYS(taken(eventfd), 100);
	close(eventfd);
	printf("watches: 100 processes ended with one\n");
}

void claims_of_watches(void)
{
	every_signal_is_heard();
	what_came_while_it_was_away_is_heard_once();
	none_of_seven_drives_is_lost();
	a_kernels_interrupt_reaches_the_thread(0);
	a_kernels_interrupt_reaches_the_thread(1);
	a_watched_eventfd_ends_a_poll();
	what_is_refused();
	is_closed_while_watched();
	ends_while_watching();
}
