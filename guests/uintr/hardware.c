/* What only a machine with user interrupts shows: they arrive, whatever the process does. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "claims.h"

#define ROUNDS 50

static int device, eventfd, source;

/* Whether they are let through; where the instruction is none, the process dies. */
static bool are_let_through(void)
{
	bool on;

	__asm__ volatile("testui\n\tsetc %0" : "=r"(on) : : "cc");
	return on;
}

/* One that is raised arrives here, or by the eventfd when the thread was away meanwhile. */
static void one_arrives(void)
{
	uint64_t before = handler_runs(), one = 1, kernel;

	taken(eventfd);
	CHECK(write(source, &one, sizeof(one)) == sizeof(one));
	kernel = taken(eventfd);
	CHECK(handler_runs() + kernel > before);
}

static void still_has_them(void)
{
	CHECK(are_let_through());
	one_arrives();
	usleep(1000);
	CHECK(are_let_through());
	one_arrives();
}

static void begins(int cpu)
{
	device = open_device();
	eventfd = new_eventfd();
	source = new_source(device, eventfd, cpu);
	pin(cpu);
	SAYS(register_thread(device), 0);
	SAYS(bind_thread(device, eventfd), 0);
}

static void ends(void)
{
	SAYS(call(device, JOULIO_UINTR_UNREGISTER, NULL), 0);
	close(source);
	close(eventfd);
	close(device);
}

static void they_arrive(void)
{
	uint64_t before = handler_runs();
	int i;

	for (i = 0; i < ROUNDS; i++)
		one_arrives();
	/* Not by the kernel alone. */
	CHECK(handler_runs() > before);
	printf("hardware: %d arrived, %d of them by the handler\n", ROUNDS,
	       (int)(handler_runs() - before));
}

/* Between the two nothing may read the time: the C library does so by RDTSC. */
static void the_time_stamp_counter_is_forbidden_and_allowed(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
		CHECK(are_let_through());
		CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0);
		still_has_them();
	}
	printf("hardware: kept when CR4.TSD changes, %d of %d times\n", i, ROUNDS);
}

static void counters_are_mapped_for_rdpmc(void)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attributes),
		.config = PERF_COUNT_HW_CPU_CYCLES, .exclude_kernel = 1,
	};
	int i, fd;
	void *page;

	for (i = 0; i < ROUNDS; i++) {
		fd = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		CHECK(fd >= 0);
		page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		CHECK(page != MAP_FAILED);
		CHECK(((struct perf_event_mmap_page *)page)->cap_user_rdpmc);
		still_has_them();
		munmap(page, 4096);
		still_has_them();
		close(fd);
	}
	printf("hardware: kept when CR4.PCE changes, %d of %d times\n", i, ROUNDS);
}

static void takes_its_own(void *unused)
{
	int i;

	(void)unused;
	begins(1);
	for (i = 0; i < 4 * ROUNDS; i++) {
		one_arrives();
		if (i % 4 == 0)
			sched_yield();
	}
	ends();
}

/* Each time one of them comes back, the other's state is in the registers. */
static void two_on_one_cpu_have_their_own(void)
{
	int pids[2], i;

	for (i = 0; i < 2; i++)
		pids[i] = child(takes_its_own, NULL);
	for (i = 0; i < 2; i++)
		reap(pids[i], 0);
	printf("hardware: two processes on one cpu, each its own\n");
}

void claims_of_hardware(void)
{
	CHECK(hardware());
	two_on_one_cpu_have_their_own();
	begins(1);
	they_arrive();
	the_time_stamp_counter_is_forbidden_and_allowed();
	ends();
}

/* Where there are performance counters. */
void claims_of_counters(void)
{
	begins(1);
	counters_are_mapped_for_rdpmc();
	ends();
}
