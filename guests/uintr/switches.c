/* What a switch does: what it counts, injects and writes. For builds with JOULIO_UINTR_TESTS. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "claims.h"

#define TIMES 100

static int device, eventfd;

/* How often the kernel says that this thread has left its CPU. */
static uint64_t kernels_count(void)
{
	struct rusage usage;

	CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void leaves_its_cpu(uint64_t times)
{
	uint64_t until = kernels_count() + times;

	while (kernels_count() < until)
		usleep(100);
}

static uint64_t parameter(const char *name)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "/sys/module/joulio_uintr/parameters/%s", name);
	read_text(path, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

struct counts {
	uint64_t switches, writes, reads;
};

/* All of one moment: no switch came between. */
static struct counts counted(void)
{
	struct counts counts;

	do {
		counts.switches = status(device).switches_in;
		counts.writes = parameter("register_writes");
		counts.reads = parameter("register_reads");
	} while (status(device).switches_in != counts.switches);
	return counts;
}

static void every_one_is_counted(void)
{
	struct joulio_uintr_status before, after;
	uint64_t from = kernels_count(), to;

	before = status(device);
	leaves_its_cpu(TIMES);
	after = status(device);
	to = kernels_count();
	CHECK(after.switches_out - before.switches_out >= TIMES);
	CHECK(after.switches_out - before.switches_out <= to - from);
	SAYS(after.switches_in - before.switches_in, after.switches_out - before.switches_out);
}

/* UINV taken away and given back; whether something is pending read. */
static void one_writes_what_it_changes(void)
{
	struct counts before, after;
	uint64_t switches;

	leaves_its_cpu(2); /* what was injected is over */
	before = counted();
	leaves_its_cpu(TIMES);
	after = counted();
	switches = after.switches - before.switches;
	CHECK(switches >= TIMES);
	SAYS(after.writes - before.writes, 2 * switches);
	SAYS(after.reads - before.reads, switches);
	printf("switches: %d WRMSR and %d RDMSR in %d\n", (int)(after.writes - before.writes),
	       (int)(after.reads - before.reads), (int)switches);
}

static void one_injects_only_what_was_missed(void)
{
	struct joulio_uintr_status before, after;
	uint64_t one = 1;

	before = status(device);
	leaves_its_cpu(TIMES);
	SAYS(status(device).injected, before.injected);

	/* As the kernel's handler does while the thread is away. */
	CHECK(write(eventfd, &one, sizeof(one)) == sizeof(one));
	leaves_its_cpu(1);
	after = status(device);
	SAYS(after.injected, before.injected + 1);
	leaves_its_cpu(TIMES);
	SAYS(status(device).injected, after.injected);
	/* Nor is it mistaken for a device's that nobody took. */
	SAYS(status(device).rescued, before.rescued);
	SAYS(taken(eventfd), 1);

	/* On another CPU than the interrupt's it waits until the thread is back. */
	pin(0);
	CHECK(write(eventfd, &one, sizeof(one)) == sizeof(one));
	leaves_its_cpu(TIMES);
	SAYS(status(device).injected, after.injected);
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
	pin(1);
	leaves_its_cpu(1);
	SAYS(status(device).injected, after.injected + 1);
	SAYS(unbind_thread(device), 0);
	CHECK(write(eventfd, &one, sizeof(one)) == sizeof(one));
	leaves_its_cpu(1);
	SAYS(status(device).injected, after.injected + 1);
	printf("switches: one injects what was missed, and nothing else\n");
}

/*
 * Held back when it comes: nobody but the eventfd can report it. One that was injected
 * is held back too, and reports nothing: it was reported when it was signalled.
 */
static void what_is_pending_is_reported_once(void)
{
	int source = new_source(device, eventfd, 1);
	uint64_t one = 1, rescued;

	pin(1);
	SAYS(bind_thread(device, eventfd), 0);
	leaves_its_cpu(2);
	taken(eventfd);
	hold_back();
	rescued = status(device).rescued;
	CHECK(write(source, &one, sizeof(one)) == sizeof(one));
	leaves_its_cpu(2);
	SAYS(status(device).rescued, rescued + 1);
	SAYS(taken(eventfd), 1);
	/* From here on both are pending, the device's and the injected one. */
	leaves_its_cpu(TIMES);
	SAYS(status(device).rescued, rescued + 1);
	let_through();

	hold_back();
	CHECK(write(eventfd, &one, sizeof(one)) == sizeof(one));
	leaves_its_cpu(TIMES);
	SAYS(status(device).rescued, rescued + 1);
	SAYS(taken(eventfd), 1);
	let_through();
	SAYS(unbind_thread(device), 0);
	close(source);
	printf("switches: what is pending is reported once, what was injected is not\n");
}

void claims_of_switches(void)
{
	int source;

	device = open_device();
	eventfd = new_eventfd();
	source = new_source(device, eventfd, 1);
	SAYS(register_thread(device), 0);
	pin(1);
	SAYS(bind_thread(device, eventfd), 0);
	every_one_is_counted();
	one_writes_what_it_changes();
	one_injects_only_what_was_missed();
	close(source);
	if (hardware())
		what_is_pending_is_reported_once();
	close(device);
}
