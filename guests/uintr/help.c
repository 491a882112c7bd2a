#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "claims.h"

void failed(const char *file, int line, const char *claim)
{
	fprintf(stderr, "%s:%d: does not hold: %s (errno %d)\n", file, line, claim, errno);
	_exit(1);
}

void said(const char *file, int line, const char *call, long result, long expected)
{
	if (result == expected)
		return;
	fprintf(stderr, "%s:%d: %s said %ld, not %ld\n", file, line, call, result, expected);
	_exit(1);
}

long call(int fd, unsigned long request, void *argument)
{
	long result = ioctl(fd, request, argument);

	return result < 0 ? -errno : result;
}

int open_device(void)
{
	int device = open("/dev/joulio_uintr", O_RDWR | O_CLOEXEC);

	CHECK(device >= 0);
	return device;
}

long bind_thread(int device, int eventfd)
{
	struct joulio_uintr_bind bind = { .eventfd = eventfd };

	return call(device, JOULIO_UINTR_BIND, &bind);
}

long unbind_thread(int device)
{
	return call(device, JOULIO_UINTR_UNBIND, NULL);
}

long watch(int device, int eventfd)
{
	struct joulio_uintr_watch watch = { .eventfd = eventfd };

	return call(device, JOULIO_UINTR_WATCH, &watch);
}

long unwatch(int device, uint32_t number)
{
	return call(device, JOULIO_UINTR_UNWATCH, &number);
}

struct joulio_uintr_status status(int device)
{
	struct joulio_uintr_status status;

	SAYS(call(device, JOULIO_UINTR_STATUS, &status), 0);
	return status;
}

void bind_soon(int device, int eventfd)
{
	int tries = SOON;

	while (bind_thread(device, eventfd) == -EBUSY && --tries)
		usleep(1000);
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
}

void state_soon(int device, uint32_t state)
{
	int tries = SOON;

	while (status(device).state != state && --tries)
		usleep(1000);
	SAYS(status(device).state, state);
}

int new_eventfd(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

int new_source(int device, int eventfd, int cpu)
{
	struct joulio_uintr_source source = { .eventfd = eventfd, .cpu = cpu };
	long fd = call(device, JOULIO_UINTR_SOURCE, &source);

	CHECK(fd >= 0);
	return fd;
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
}

static long write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	long result;

	CHECK(fd >= 0);
	result = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return result;
}

void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	CHECK(fd >= 0);
	length = read(fd, text, size - 1);
	CHECK(length >= 0);
	text[length] = 0;
	close(fd);
}

void online(int cpu, bool on)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	SAYS(write_text(path, on ? "1" : "0"), 0);
}

/* From now on, and nothing of before. */
void trace_event(const char *name)
{
	int fd = open("/sys/kernel/tracing/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);
	char path[128];

	CHECK(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/enable", name);
	SAYS(write_text(path, "1"), 0);
}

/* How often it was signalled since the last poll. */
uint64_t taken(int eventfd)
{
	uint64_t count = 0;

	if (read(eventfd, &count, sizeof(count)) < 0)
		CHECK(errno == EAGAIN);
	return count;
}

/* A line of /proc/interrupts: its number and its counters. */
static bool interrupt_line(FILE *file, char *line, int size, int *irq, char **rest)
{
	while (fgets(line, size, file))
		if (sscanf(line, " %d:", irq) == 1) {
			*rest = strchr(line, ':') + 1;
			return true;
		}
	return false;
}

/* The last interrupt that bears the name, 0: none does. */
int irq_of(const char *name)
{
	FILE *file = fopen("/proc/interrupts", "re");
	char line[512], *rest;
	int irq, found = 0;

	CHECK(file);
	while (interrupt_line(file, line, sizeof(line), &irq, &rest))
		if (strstr(rest, name))
			found = irq;
	fclose(file);
	return found;
}

/* How many of them a CPU has had, of two. */
uint64_t interrupts(int wanted, int cpu)
{
	FILE *file = fopen("/proc/interrupts", "re");
	unsigned long long counts[2] = { 0 };
	char line[512], *rest;
	int irq;

	CHECK(file);
	while (interrupt_line(file, line, sizeof(line), &irq, &rest))
		if (irq == wanted)
			CHECK(sscanf(rest, "%llu %llu", &counts[0], &counts[1]) == 2);
	fclose(file);
	return counts[cpu];
}

int effective_cpu(int irq)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/irq/%d/effective_affinity_list", irq);
	read_text(path, text, sizeof(text));
	return atoi(text);
}

void affinity(int irq, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity", irq);
	read_text(path, text, size);
}

long set_affinity(int irq, const char *mask)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity", irq);
	return write_text(path, mask);
}

int child(void (*function)(void *), void *argument)
{
	int pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		function(argument);
		_exit(0);
	}
	return pid;
}

/* Until that process, whose one thread it is, has given its CPU away to wait for something. */
void until_it_sleeps(int pid)
{
	char path[32], text[512], *name_end;
	int tries = SOON;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		usleep(1000);
		read_text(path, text, sizeof(text));
		name_end = strrchr(text, ')');
		CHECK(name_end);
	} while (strncmp(name_end, ") S ", 4) && --tries);
	CHECK(tries);
}

/* That it ended so: 0, or the signal that it died of. */
void reap(int pid, int signal)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	SAYS(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) * 1000, signal);
}
