/* An interrupt that somebody else wants elsewhere while it is bound. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "claims.h"

static int irq;
static const char *late_mask;
static long late_result;
static int at_once;

static void trace_moves(void)
{
	trace_event("irq_vectors/vector_update");
	trace_event("irq_vectors/vector_free_moved");
}

#define SHUT_DOWN 239 /* the kernel's vector of an interrupt that has none */

/* Moves of the interrupt that the kernel has not cleaned up after. */
static int moves_under_way(void)
{
	FILE *file = fopen("/sys/kernel/tracing/trace", "re");
	int moves = 0, an_irq, vector, cpu, old;
	char line[512], *at;

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		at = strstr(line, "vector_update: ");
		if (at && sscanf(at, "vector_update: irq=%d vector=%d cpu=%d prev_vector=%d", &an_irq,
				 &vector, &cpu, &old) == 4 && an_irq == irq && old &&
		    old != SHUT_DOWN)
			moves++;
		at = strstr(line, "vector_free_moved: ");
		if (at && sscanf(at, "vector_free_moved: irq=%d", &an_irq) == 1 && an_irq == irq)
			moves--;
	}
	fclose(file);
	return moves;
}

/*
 * The kernel cleans up after a move a little later; another one that comes before
 * waits for the next interrupt, which does not come here.
 */
static void until_cleaned_up(void)
{
	time_t end = time(NULL) + 20;

	while (moves_under_way() && time(NULL) < end)
		usleep(1000);
	SAYS(moves_under_way(), 0);
}

static void user_space_cannot_move_it(int device, int eventfd)
{
	char before[64];
	long refused;

	pin(1);
	affinity(irq, before, sizeof(before));
	SAYS(bind_thread(device, eventfd), 0);
	/* The errno differs from kernel to kernel. */
	refused = set_affinity(irq, "1");
	CHECK(refused == -EIO || refused == -EPERM);
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
	SAYS(effective_cpu(irq), 1);
	SAYS(unbind_thread(device), 0);
	until_cleaned_up();
	SAYS(set_affinity(irq, "1"), 0);
	SAYS(effective_cpu(irq), 0);
	until_cleaned_up();
	SAYS(set_affinity(irq, before), 0);
	printf("bound: smp_affinity is refused; unbound: it is not\n");
}

static void *late_writer(void *unused)
{
	char path[64];
	int fd;

	pin(0);
	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity", irq);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	/* The kernel checks whether it may be moved, then is the first to read. */
	late_result = write(fd, late_mask, 1);
	close(fd);
	return unused;
}

/* Memory whose first reader waits until it is filled. */
static int memory_that_waits(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(ioctl(fd, UFFDIO_API, &api) == 0);
	late_mask = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(late_mask != MAP_FAILED);
	range.range.start = (uintptr_t)late_mask;
	range.range.len = 4096;
	CHECK(ioctl(fd, UFFDIO_REGISTER, &range) == 0);
	return fd;
}

static void a_write_that_was_let_through_before_is_noticed(int device, int eventfd)
{
	static char page[4096] __attribute__((aligned(4096))) = "1";
	struct uffdio_copy copy = { .src = (uintptr_t)page, .len = sizeof(page) };
	int uffd = memory_that_waits();
	time_t end;
	struct joulio_uintr_status now;
	uint64_t switches;
	struct uffd_msg message;
	pthread_t writer;

	pin(1);
	CHECK(pthread_create(&writer, NULL, late_writer, NULL) == 0);
	CHECK(read(uffd, &message, sizeof(message)) == sizeof(message));
	SAYS(bind_thread(device, eventfd), 0);
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
	until_cleaned_up();
	copy.dst = (uintptr_t)late_mask;
	CHECK(ioctl(uffd, UFFDIO_COPY, &copy) == 0);
	switches = status(device).switches_in;
	end = time(NULL) + 20;
	do
		now = status(device);
	while (now.state == JOULIO_UINTR_BOUND && time(NULL) < end);
	SAYS(now.state, JOULIO_UINTR_LOST);
	/* Reported by the kernel, rather than found when the thread came back to its CPU. */
	at_once += now.switches_in == switches;
	pthread_join(writer, NULL);
	SAYS(late_result, 1);
	SAYS(effective_cpu(irq), 0);
	SAYS(unbind_thread(device), 0);
	SAYS(bind_thread(device, eventfd), 0);
	SAYS(effective_cpu(irq), 1);
	SAYS(unbind_thread(device), 0);
	munmap((void *)late_mask, 4096);
	close(uffd);
}

/* Of a test interrupt: it is on the CPU, and has no move under way. */
static int source_on(int device, int eventfd, int cpu, const char *mask)
{
	int source = new_source(device, eventfd, cpu);

	irq = irq_of("joulio-uintr");
	CHECK(irq > 0);
	SAYS(set_affinity(irq, mask), 0);
	SAYS(effective_cpu(irq), cpu);
	return source;
}

/* Interrupts until the kernel has finished its moves. */
static void raise_until_on(int source, int cpu)
{
	uint64_t one = 1;
	int tries = 2000;

	do {
		CHECK(write(source, &one, sizeof(one)) == sizeof(one));
		usleep(1000);
	} while (effective_cpu(irq) != cpu && --tries);
	SAYS(effective_cpu(irq), cpu);
}

/*
 * A test interrupt's move is done with its next occurrence: what unbinding asks for
 * is waiting when the thread binds again.
 */
static void an_administrators_cpus_outlive_two_bindings(int device)
{
	int eventfd = new_eventfd(), source = source_on(device, eventfd, 0, "1"), i;
	char before[64], after[64];

	affinity(irq, before, sizeof(before));
	pin(1);
	for (i = 0; i < 2; i++) {
		SAYS(bind_thread(device, eventfd), 0);
		SAYS(effective_cpu(irq), 1);
		SAYS(unbind_thread(device), 0);
	}
	affinity(irq, after, sizeof(after));
	CHECK(!strcmp(before, after));
	raise_until_on(source, 0);
	close(source);
	close(eventfd);
	printf("bound twice before it could move back: it goes back to its own CPUs\n");
}

/* A switch for each check whether the last move is done. */
static void binding_waits_for_a_move_to_end(int device)
{
	int eventfd = new_eventfd(), source = source_on(device, eventfd, 0, "1"), tries = 2000;
	uint64_t switches, one = 1;
	long result;

	SAYS(set_affinity(irq, "2"), 0);
	SAYS(effective_cpu(irq), 1);
	pin(0);
	switches = status(device).switches_out;
	SAYS(bind_thread(device, eventfd), -EAGAIN);
	CHECK(status(device).switches_out - switches >= 19);
	do {
		CHECK(write(source, &one, sizeof(one)) == sizeof(one));
		result = bind_thread(device, eventfd);
	} while (result == -EAGAIN && --tries);
	SAYS(result, 0);
	SAYS(effective_cpu(irq), 0);
	SAYS(unbind_thread(device), 0);
	close(source);
	close(eventfd);
	printf("a move under way: binding waits for its end\n");
}

void claims_of_affinity(const char *address)
{
	int device = open_device(), eventfd = new_eventfd(), i;
	struct sched_param first = { .sched_priority = 1 };
	struct vfio vfio;

	vfio_open(&vfio, address);
	trace_moves();
	vfio_vectors(&vfio, &eventfd, 1);
	irq = vfio_irq(&vfio, 0);
	SAYS(register_thread(device), 0);
	user_space_cannot_move_it(device, eventfd);
	an_administrators_cpus_outlive_two_bindings(device);
	binding_waits_for_a_move_to_end(device);
	irq = vfio_irq(&vfio, 0);
	/* So that nobody else has the CPU meanwhile. */
	CHECK(sched_setscheduler(0, SCHED_FIFO, &first) == 0);
	for (i = 0; i < 20; i++)
		a_write_that_was_let_through_before_is_noticed(device, eventfd);
	CHECK(at_once > 0);
	printf("a write from before it was bound: lost, 20 of 20 times, %d of them at once\n",
	       at_once);
	vfio_close(&vfio);
}
