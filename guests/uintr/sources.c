/* The test interrupt, through the kernel: no thread is registered. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

#include "claims.h"

#define TIMES 1000

static uint64_t raised(int source)
{
	uint64_t count;

	CHECK(read(source, &count, sizeof(count)) == sizeof(count));
	return count;
}

static uint64_t settled(int eventfd, uint64_t expected)
{
	uint64_t count = 0;
	int tries = SOON;

	while ((count += taken(eventfd)) < expected && --tries)
		usleep(1000);
	return count;
}

static void every_raise_is_an_interrupt(int device, int cpu)
{
	int eventfd = new_eventfd();
	int source = new_source(device, eventfd, cpu);
	int irq = irq_of("joulio-uintr");
	uint64_t one = 1, count = 0, before = interrupts(irq, cpu);
	int i;

	CHECK(irq > 0);
	SAYS(effective_cpu(irq), cpu);
	pin(cpu);
	for (i = 0; i < TIMES; i++) {
		CHECK(write(source, &one, sizeof(one)) == sizeof(one));
		/* On this CPU it has been taken when the call returns. */
		count += taken(eventfd);
	}
	SAYS(count, TIMES);
	SAYS(raised(source), TIMES);
	SAYS(interrupts(irq, cpu) - before, TIMES);
	close(source);
	close(eventfd);
	printf("source on cpu %d: %d of %d interrupts\n", cpu, (int)count, TIMES);
}

static void a_timer_raises_once(int device)
{
	int eventfd = new_eventfd();
	int source = new_source(device, eventfd, 0);
	uint64_t soon = 1000000, late = 60000000000, never = 0, longer = late + 1;

	SAYS(call(source, JOULIO_UINTR_RAISE_AFTER, &soon), 0);
	SAYS(settled(eventfd, 1), 1);
	SAYS(call(source, JOULIO_UINTR_RAISE_AFTER, &late), 0);
	SAYS(call(source, JOULIO_UINTR_RAISE_AFTER, &never), 0);
	SAYS(call(source, JOULIO_UINTR_RAISE_AFTER, &longer), -EINVAL);
	SAYS(raised(source), 1);
	/* Closed with one under way: it comes from a source that is alive, or not. */
	soon = 100000;
	SAYS(call(source, JOULIO_UINTR_RAISE_AFTER, &soon), 0);
	close(source);
	close(eventfd);
	printf("timer: once\n");
}

static void __attribute__((noinline)) reached(void)
{
	__asm__ volatile("");
}

static void an_instruction_raises_once(int device)
{
	int eventfd = new_eventfd();
	int source = new_source(device, eventfd, 0);
	uint64_t at = (uintptr_t)reached, kernel = 0xffffffff81000000, off = 0;
	int i;

	/* To another CPU two that are close together would be one. */
	pin(0);
	for (i = 0; i < 100; i++) {
		SAYS(call(source, JOULIO_UINTR_RAISE_AT, &at), 0);
		reached();
		reached();
	}
	SAYS(settled(eventfd, 100), 100);
	SAYS(call(source, JOULIO_UINTR_RAISE_AT, &at), 0);
	SAYS(call(source, JOULIO_UINTR_RAISE_AT, &off), 0);
	reached();
	SAYS(raised(source), 100);
	SAYS(call(source, JOULIO_UINTR_RAISE_AT, &kernel), -EINVAL);
	close(source);
	close(eventfd);
	printf("instruction: 100 of 100, each once\n");
}

static void without_rights(void *device)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	struct joulio_uintr_source source = { .eventfd = new_eventfd() };

	CHECK(syscall(SYS_capset, &header, data) == 0);
	SAYS(call(*(int *)device, JOULIO_UINTR_SOURCE, &source), -EPERM);
}

static void what_is_refused(int device)
{
	struct joulio_uintr_source request = { .eventfd = new_eventfd() };
	int source = new_source(device, request.eventfd, 0);
	void *volatile nowhere = (void *)8;
	uint64_t zero = 0;

	reap(child(without_rights, &device), 0);
	/* The eventfd is another interrupt's. */
	SAYS(call(device, JOULIO_UINTR_SOURCE, &request), -EBUSY);
	SAYS(call(source, JOULIO_UINTR_SOURCE, &request), -ENOTTY);
	CHECK(write(source, &zero, sizeof(zero)) < 0 && errno == EINVAL);
	CHECK(write(source, &zero, 4) < 0 && errno == EINVAL);
	CHECK(read(source, &zero, 4) < 0 && errno == EINVAL);
	CHECK(read(source, nowhere, 8) < 0 && errno == EFAULT);

	request.flags = 1;
	SAYS(call(device, JOULIO_UINTR_SOURCE, &request), -EINVAL);
	request = (struct joulio_uintr_source){ .eventfd = request.eventfd, .cpu = 1 << 20 };
	SAYS(call(device, JOULIO_UINTR_SOURCE, &request), -EINVAL);
	request = (struct joulio_uintr_source){ .eventfd = -1 };
	SAYS(call(device, JOULIO_UINTR_SOURCE, &request), -EBADF);
	request.eventfd = device;
	SAYS(call(device, JOULIO_UINTR_SOURCE, &request), -EINVAL);
	SAYS(call(device, JOULIO_UINTR_SOURCE, NULL), -EFAULT);
	close(source);
}

void claims_of_sources(void)
{
	struct joulio_uintr_info info;
	int device = open_device();

	SAYS(call(device, JOULIO_UINTR_INFO, &info), 0);
	SAYS(info.abi, JOULIO_UINTR_ABI);
	SAYS(info.flags & JOULIO_UINTR_TEST_SOURCE, JOULIO_UINTR_TEST_SOURCE);
	SAYS(info.flags & (JOULIO_UINTR_DRY_RUN | JOULIO_UINTR_HARDWARE),
	     hardware() ? JOULIO_UINTR_HARDWARE : JOULIO_UINTR_DRY_RUN);

	every_raise_is_an_interrupt(device, 0);
	every_raise_is_an_interrupt(device, 1);
	a_timer_raises_once(device);
	an_instruction_raises_once(device);
	what_is_refused(device);
	SAYS(irq_of("joulio-uintr"), 0);
}
