/* SENDUIPI's own interrupt, in a build for tests that is loaded with sends=1. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "claims.h"

#define TIMES 1000
#define USER_VECTOR 5

static volatile uint64_t received, last_vector;
static volatile bool over, sleeps;

/* Counts, and returns: nobody has to fill in anything for the next one. */
__asm__(".text\n"
	"ipi_handler: push %rax\n"
	"	mov 8(%rsp), %rax\n"
	"	mov %rax, last_vector(%rip)\n"
	"	incq received(%rip)\n"
	"	pop %rax\n"
	"	add $8, %rsp\n"
	"	uiret\n");
extern const char ipi_handler[];

static void send(uint64_t index)
{
	__asm__ volatile("senduipi %0" : : "r"(index) : "memory");
}

static void registers(int device)
{
	SAYS(register_with(device, (uintptr_t)ipi_handler, USER_VECTOR), 0);
}

static bool receive(uint64_t count)
{
	time_t end = time(NULL) + 20;

	while (received < count && time(NULL) < end)
		__asm__ volatile("pause");
	return received >= count;
}

/* The first receiver that there is: the second entry of its table is not valid. */
static void sends_to_an_entry_that_is_none(void *index)
{
	registers(open_device());
	send(*(uint64_t *)index);
}

static void what_is_refused(void)
{
	static uint64_t not_valid = 1, beyond = 2, far_beyond = 1ull << 32;

	reap(child(sends_to_an_entry_that_is_none, &not_valid), SIGSEGV);
	reap(child(sends_to_an_entry_that_is_none, &beyond), SIGSEGV);
	reap(child(sends_to_an_entry_that_is_none, &far_beyond), SIGSEGV);
	printf("senduipi: #GP for an entry that is not valid, or not there\n");
}

static void to_itself(void)
{
	uint64_t before = received;
	int i;

	for (i = 1; i <= TIMES; i++) {
		send(0);
		CHECK(receive(before + i));
	}
	usleep(1000);
	SAYS(received - before, TIMES);
	SAYS(last_vector, USER_VECTOR);
	printf("senduipi to itself: %d of %d\n", TIMES, TIMES);
}

/* Three requests of one vector are one, and there until they are let through. */
static void held_back(void)
{
	uint64_t before = received;
	int i;

	hold_back();
	for (i = 0; i < 3; i++)
		send(0);
	usleep(1000);
	SAYS(received - before, 0);
	let_through();
	CHECK(receive(before + 1));
	usleep(1000);
	SAYS(received - before, 1);
	printf("senduipi: held back, and one for three\n");
}

static void *sends_to_the_first(void *unused)
{
	uint64_t before = received;
	int device = open_device(), i;

	pin(0);
	registers(device);
	for (i = 1; i <= TIMES; i++) {
		send(1);
		CHECK(receive(before + i));
	}
	/* It sends to the last that is there. */
	close(device);
	over = true;
	return unused;
}

/* Each is sent when the one before has been seen, be it by a thread that sleeps in between. */
static void from_another_cpu(int irq)
{
	uint64_t before = received, kernel = interrupts(irq, 1);
	pthread_t sender;

	over = false;
	CHECK(pthread_create(&sender, NULL, sends_to_the_first, NULL) == 0);
	while (!over) {
		if (sleeps)
			usleep(100);
	}
	pthread_join(sender, NULL);
	usleep(1000);
	kernel = interrupts(irq, 1) - kernel;
	CHECK(received - before >= TIMES && received - before <= TIMES + kernel);
	if (!sleeps)
		CHECK(kernel < TIMES / 10);
	printf("senduipi from another cpu%s: %d of %d, %d of them met the kernel\n",
	       sleeps ? " to one that sleeps" : "", TIMES, TIMES, (int)kernel);
}

void claims_of_ipis(void)
{
	int device = open_device(), eventfd = new_eventfd(), source, irq;

	what_is_refused();
	source = new_source(device, eventfd, 1);
	irq = irq_of("joulio-uintr");
	pin(1);
	registers(device);
	SAYS(bind_thread(device, eventfd), 0);
	to_itself();
	held_back();
	from_another_cpu(irq);
	sleeps = true;
	from_another_cpu(irq);
	close(source);
}
