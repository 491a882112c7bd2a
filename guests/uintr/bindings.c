/* A real interrupt of a real driver: which it is, where it goes, how it ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "claims.h"

#define VECTORS 4
#define COMMANDS 40

static int eventfds[VECTORS];

/* The vector that the kernel last gave the interrupt, and on which CPU. */
static int traced_vector(int irq, int cpu)
{
	FILE *file = fopen("/sys/kernel/tracing/trace", "re");
	int found = -1, an_irq, vector, a_cpu;
	char line[512], *at;

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		at = strstr(line, "vector_config: ");
		if (at && sscanf(at, "vector_config: irq=%d vector=%d cpu=%d", &an_irq, &vector,
				 &a_cpu) == 3 && an_irq == irq)
			found = a_cpu == cpu ? vector : -1;
	}
	fclose(file);
	return found;
}

static void it_is_the_interrupt_of_the_eventfd(struct vfio *vfio, int device)
{
	struct joulio_uintr_status now;
	char before[64], after[64];
	int vector, irq, cpu;

	for (vector = 0; vector < VECTORS; vector++) {
		cpu = vector % 2;
		irq = vfio_irq(vfio, vector);
		affinity(irq, before, sizeof(before));
		pin(cpu);
		SAYS(bind_thread(device, eventfds[vector]), 0);
		now = status(device);
		SAYS(now.state, JOULIO_UINTR_BOUND);
		SAYS(now.irq, irq);
		SAYS(now.cpu, cpu);
		SAYS(effective_cpu(irq), cpu);
		SAYS(now.vector, traced_vector(irq, cpu));
		printf("msi-x %d: irq %u, vector %u, cpu %u\n", vector, now.irq, now.vector, now.cpu);

		SAYS(unbind_thread(device), 0);
		now = status(device);
		SAYS(now.state, JOULIO_UINTR_REGISTERED);
		SAYS(now.irq + now.vector + now.cpu, 0);
		affinity(irq, after, sizeof(after));
		CHECK(!strcmp(before, after));
	}
}

/*
 * The thread spins, and nobody but the kernel's stopper may have its CPU, as of the
 * watchdog: with user interrupts all of them come to its handler, and to the kernel's
 * only those that come while it is away.
 */
static void its_interrupts_arrive_on_the_threads_cpu(struct vfio *vfio, int device)
{
	struct sched_param first = { .sched_priority = 1 }, usual = { 0 };
	int irq = vfio_irq(vfio, 0), cpu, i;
	uint64_t here, there, runs, away, kernels;

	nvme_start(vfio);
	for (cpu = 0; cpu < 2; cpu++) {
		pin(cpu);
		SAYS(bind_thread(device, eventfds[0]), 0);
		CHECK(sched_setscheduler(0, SCHED_FIFO, &first) == 0);
		usleep(1000);
		taken(eventfds[0]);
		here = interrupts(irq, cpu);
		there = interrupts(irq, !cpu);
		runs = handler_runs();
		away = status(device).switches_out;
		for (i = 0; i < COMMANDS; i++)
			nvme_identify();
		/* The last one's may come after its completion. */
		for (i = 0; handler_runs() - runs < COMMANDS && i < 100000000 && hardware(); i++)
			__asm__ volatile("pause");
		away = status(device).switches_out - away;
		CHECK(sched_setscheduler(0, SCHED_OTHER, &usual) == 0);
		for (i = 0; interrupts(irq, cpu) - here < COMMANDS && i < SOON && !hardware(); i++)
			usleep(1000);
		usleep(10000);
		SAYS(handler_runs() - runs, hardware() ? COMMANDS : 0);
		kernels = taken(eventfds[0]);
		if (hardware()) {
			CHECK(kernels <= away);
			CHECK(interrupts(irq, cpu) - here <= kernels);
		} else {
			SAYS(kernels, COMMANDS);
			SAYS(interrupts(irq, cpu) - here, COMMANDS);
		}
		SAYS(interrupts(irq, !cpu) - there, 0);
		SAYS(unbind_thread(device), 0);
		printf("cpu %d: %d of %d interrupts of the controller, by the %s\n", cpu, COMMANDS,
		       COMMANDS, hardware() ? "handler" : "kernel");
	}
	nvme_stop();
}

static void another_thread(void *eventfd)
{
	int device = open_device();

	SAYS(register_thread(device), 0);
	SAYS(bind_thread(device, *(int *)eventfd), -EBUSY);
	SAYS(status(device).state, JOULIO_UINTR_REGISTERED);
}

static void what_is_refused(int device)
{
	struct joulio_uintr_bind flags = { .eventfd = eventfds[0], .flags = 1 };
	int nobodys = new_eventfd(), other = open_device();

	SAYS(bind_thread(other, eventfds[0]), -ESRCH);
	SAYS(unbind_thread(other), -ESRCH);
	SAYS(call(other, JOULIO_UINTR_UNREGISTER, NULL), -ESRCH);
	SAYS(register_thread(other), -EBUSY);
	close(other);

	SAYS(unbind_thread(device), -ENOTCONN);
	SAYS(bind_thread(device, -1), -EBADF);
	SAYS(bind_thread(device, device), -EINVAL);
	SAYS(call(device, JOULIO_UINTR_BIND, &flags), -EINVAL);
	SAYS(call(device, JOULIO_UINTR_BIND, (void *)8), -EFAULT);
	/* And nothing is kept of it: the eventfd may be used. */
	SAYS(bind_thread(device, nobodys), -ENODEV);
	close(new_source(device, nobodys, 0));

	SAYS(bind_thread(device, eventfds[0]), 0);
	SAYS(bind_thread(device, eventfds[0]), -EBUSY);
	SAYS(bind_thread(device, eventfds[1]), -EBUSY);
	reap(child(another_thread, &eventfds[0]), 0);
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
	SAYS(unbind_thread(device), 0);
	close(nobodys);
}

static void the_driver_takes_it_away(struct vfio *vfio, int device)
{
	int i;

	for (i = 0; i < 50; i++) {
		SAYS(bind_thread(device, eventfds[i % VECTORS]), 0);
		vfio_no_vectors(vfio);
		SAYS(status(device).state, JOULIO_UINTR_LOST);
		SAYS(status(device).irq, 0);
		/* The same interrupt, offered anew, is not taken behind its back. */
		vfio_vectors(vfio, eventfds, VECTORS);
		SAYS(status(device).state, JOULIO_UINTR_LOST);
		SAYS(bind_thread(device, eventfds[i % VECTORS]), -EBUSY);
		SAYS(unbind_thread(device), 0);
		SAYS(status(device).state, JOULIO_UINTR_REGISTERED);
	}
	SAYS(bind_thread(device, eventfds[0]), 0);
	vfio_close(vfio);
	SAYS(status(device).state, JOULIO_UINTR_LOST);
	SAYS(unbind_thread(device), 0);
	SAYS(bind_thread(device, eventfds[0]), -ENODEV);
	printf("teardown: lost 51 of 51 times, bound again 50 times\n");
}

void claims_of_bindings(const char *address)
{
	struct vfio vfio;
	int device = open_device(), i;

	trace_event("irq_vectors/vector_config");
	vfio_open(&vfio, address);
	for (i = 0; i < VECTORS; i++)
		eventfds[i] = new_eventfd();
	vfio_vectors(&vfio, eventfds, VECTORS);

	SAYS(register_thread(device), 0);
	SAYS(bind_thread(device, eventfds[0]), -EXDEV);
	it_is_the_interrupt_of_the_eventfd(&vfio, device);
	its_interrupts_arrive_on_the_threads_cpu(&vfio, device);
	what_is_refused(device);
	the_driver_takes_it_away(&vfio, device);
}
