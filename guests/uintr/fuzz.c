/*
 * Calls without sense, by threads that share what they break. Nothing is
 * claimed but that the kernel's log stays clean, and that everything can be
 * closed; the script checks both.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "claims.h"

#define THREADS 4
#define CALLS 10000
#define FDS 12

static int fds[FDS]; /* devices, sources, eventfds; replaced at random */
static unsigned char *edge; /* the last bytes before memory that is not there */
static unsigned long answered, late;

struct random {
	uint64_t state;
};

static uint64_t next(struct random *random)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return random->state;
}

static uint64_t below(struct random *random, uint64_t bound)
{
	return next(random) % bound;
}

static int some_fd(struct random *random)
{
	return below(random, 20) ? fds[below(random, FDS)] : (int)next(random);
}

static unsigned long some_request(struct random *random)
{
	unsigned int number = below(random, 12), size = below(random, 80);

	switch (below(random, 20)) {
	case 0: return next(random);
	case 1: return _IOC(below(random, 4), JOULIO_UINTR_TYPE, number, size);
	case 2: return JOULIO_UINTR_INFO;
	case 3: case 4: return JOULIO_UINTR_REGISTER;
	case 5: return JOULIO_UINTR_UNREGISTER;
	case 6: case 7: case 8: return JOULIO_UINTR_BIND;
	case 9: return JOULIO_UINTR_UNBIND;
	case 10: case 11: return JOULIO_UINTR_STATUS;
	case 12: return JOULIO_UINTR_SOURCE;
	case 13: return JOULIO_UINTR_RAISE_AFTER;
	case 14: case 15: case 16: return JOULIO_UINTR_WATCH;
	case 17: return JOULIO_UINTR_UNWATCH;
	default: return JOULIO_UINTR_RAISE_AT;
	}
}

/* Half of the time what the call wants, or nearly. */
static void *some_argument(struct random *random, unsigned long request, uint64_t *space)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		space[i] = below(random, 4) ? below(random, 64) : next(random);
	if (below(random, 2)) {
		memset(space, 0, 64);
		if (request == JOULIO_UINTR_REGISTER)
			space[0] = handler_address();
		else if (request == JOULIO_UINTR_BIND || request == JOULIO_UINTR_WATCH)
			space[0] = (uint32_t)some_fd(random);
		else if (request == JOULIO_UINTR_UNWATCH)
			space[0] = below(random, 8);
		else if (request == JOULIO_UINTR_SOURCE)
			space[0] = (uint32_t)some_fd(random) | below(random, 3) << 32;
		else if (request == JOULIO_UINTR_RAISE_AFTER)
			space[0] = below(random, 200000);
		else if (request == JOULIO_UINTR_RAISE_AT)
			space[0] = (uintptr_t)some_argument + below(random, 16);
		return space;
	}
	switch (below(random, 6)) {
	case 0: return NULL;
	case 1: return (void *)next(random);
	case 2: return (void *)(0xffff888000000000 + below(random, 1 << 30));
	case 3: return edge - below(random, 70);
	default: return space;
	}
}

static void replace(int slot)
{
	int fd;

	close(fds[slot]);
	switch (slot % 3) {
	case 0: fd = open("/dev/joulio_uintr", O_RDWR); break;
	case 1: fd = dup(fds[(slot + 3) % FDS]); break;
	default: fd = new_eventfd();
	}
	fds[slot] = fd;
}

static void disturb(struct random *random)
{
	cpu_set_t set;
	uint64_t value = next(random);
	int pid, slot = below(random, FDS);

	switch (below(random, 8)) {
	case 0:
		replace(slot);
		break;
	case 1: case 2:
		CPU_ZERO(&set);
		CPU_SET(below(random, 2), &set);
		if (!below(random, 4))
			CPU_SET(below(random, 2), &set);
		sched_setaffinity(0, sizeof(set), &set);
		break;
	case 3:
		if (below(random, 8))
			break;
		pid = fork();
		if (!pid) {
			register_thread(fds[slot]);
			if (below(random, 2))
				raise(SIGKILL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		break;
	case 4:
		sched_yield();
		break;
	default:
		if (write(fds[slot], &value, below(random, 2) ? 8 : below(random, 16)) < 0 ||
		    read(fds[slot], &value, below(random, 2) ? 8 : below(random, 16)) < 0)
			sched_yield();
	}
}

/*
 * Another thread has closed the file by which this one was registered: from then
 * on the instructions are none, before the STUI below or in the handler.
 */
static void not_registered(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const void *at = (const void *)registers[REG_RIP];
	const greg_t *stack = (const greg_t *)registers[REG_RSP];

	(void)signal;
	(void)info;
	if (!memcmp(at, "\xf3\x0f\x01\xef", 4) || !memcmp(at, "\xf3\x0f\xc7\xf0", 4)) {
		/* STUI, and SENDUIPI of RAX: left out. */
		registers[REG_RIP] += 4;
	} else if (!memcmp(at, "\xf3\x0f\x01\xec", 4)) {
		/* UIRET: done in its place. */
		registers[REG_RIP] = stack[0];
		registers[REG_EFL] = stack[1];
		registers[REG_RSP] = stack[2];
	} else {
		abort();
	}
	__atomic_fetch_add(&late, 1, __ATOMIC_RELAXED);
}

static void *nonsense(void *seed)
{
	struct random random = { .state = 0x9e3779b97f4a7c15 * (uintptr_t)seed };
	uint64_t space[8];
	int i, slot;

	for (i = 0; i < CALLS; i++) {
		unsigned long request = some_request(&random);
		void *argument = some_argument(&random, request, space);
		int result = ioctl(some_fd(&random), request, argument);

		if (result > 0 && request != JOULIO_UINTR_WATCH) {
			/* A new source, in place of another descriptor. */
			slot = 1 + 3 * below(&random, FDS / 3);
			close(fds[slot]);
			fds[slot] = result;
		}
		/* Only with a handler that is one. */
		if (!result && request == JOULIO_UINTR_REGISTER && argument == space &&
		    space[0] == handler_address())
			let_through();
		if (result >= 0)
			__atomic_fetch_add(&answered, 1, __ATOMIC_RELAXED);
		if (!below(&random, 4))
			disturb(&random);
	}
	return NULL;
}

void claims_of_fuzzing(void)
{
	struct sigaction action = { .sa_sigaction = not_registered, .sa_flags = SA_SIGINFO };
	pthread_t threads[THREADS];
	uintptr_t i;

	CHECK(sigaction(SIGILL, &action, NULL) == 0);
	edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(edge != MAP_FAILED);
	edge += 4096;
	CHECK(munmap(edge, 4096) == 0);
	for (i = 0; i < FDS; i++)
		fds[i] = -1;
	for (i = 0; i < FDS; i++)
		replace(i);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, nonsense, (void *)(i + 1)) == 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* Nonsense that is always refused would test little. */
	CHECK(answered > THREADS * CALLS / 20);
	/* The one thread's STUI and the other's close meet seldom. */
	CHECK(late <= answered / 100);
	printf("fuzzing: %d calls, %lu of them obeyed, %lu instructions too late\n", THREADS * CALLS,
	       answered, late);
}
