/*
 * Shows that TPAUSE, UMONITOR and UMWAIT do in the guest what the SDM says of them: an end at the
 * deadline, an end at the operating system's limit with CF = 1, an end by an interrupt, and, with two
 * CPUs, an end by the other's store.
 *
 *   waits limit      /sys/devices/system/cpu/umwait_control/max_time must not be 0
 *   waits no-limit   it must be 0
 *
 * Counts, not times: the guest's clock is Bochs' count of instructions.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

#define ROUNDS 200

static int failures;

static void expect(int holds, const char *what, int count)
{
	printf("%s: %d of %d%s\n", what, count, ROUNDS, holds ? "" : " FAILED");
	failures += !holds;
}

/* A timer interrupt now and then may end any of these waits before its time. */
static int nearly_all(int count)
{
	return count >= ROUNDS * 9 / 10;
}

static uint32_t limit(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/umwait_control/max_time", "r");
	unsigned cycles = 0;

	if (!file || fscanf(file, "%u", &cycles) != 1) {
		perror("max_time");
		exit(2);
	}
	fclose(file);
	return cycles;
}

static void features(void)
{
	unsigned eax, ebx, ecx, edx;

	__cpuid_count(7, 0, eax, ebx, ecx, edx);
	printf("WAITPKG (CPUID 7.0:ECX[5]): %u, UINTR (CPUID 7.0:EDX[5]): %u\n",
	       ecx >> 5 & 1, edx >> 5 & 1);
	failures += !(ecx >> 5 & 1) + !(edx >> 5 & 1);
}

/* How many TPAUSEs of `cycles` end with `carry`, after `least` cycles and before `most`. */
static int pauses(uint64_t cycles, int carry, uint64_t least, uint64_t most)
{
	int count = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = __rdtsc();
		int by_limit = _tpause(i & 1, start + cycles);
		uint64_t took = __rdtsc() - start;

		count += by_limit == carry && took >= least && took < most;
	}
	return count;
}

struct line {
	_Alignas(64) _Atomic uint8_t bytes[64];
};

/* Monitored line, one beside it, and where the two threads meet; a page of their own. */
static struct {
	_Alignas(4096) struct line watched, beside;
	_Alignas(4096) _Atomic int round;
} shared;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0) {
		perror("sched_setaffinity");
		exit(2);
	}
}

static void *stores(void *line)
{
	struct line *target = line;

	pin(1);
	for (int i = 1; i <= ROUNDS; i++) {
		while (atomic_load(&shared.round) < i)
			_mm_pause();
		/* Long enough that the other one sleeps, and far from the limit. */
		for (uint64_t end = __rdtsc() + 5000; __rdtsc() < end;)
			;
		atomic_store_explicit(&target->bytes[i % 64], i, memory_order_release);
	}
	return NULL;
}

/* UMWAITs on `watched` while the other CPU stores to `target`: how many the limit ended. */
static int woken_by_limit(struct line *target)
{
	pthread_t thread;
	int by_limit = 0;

	memset(&shared, 0, sizeof(shared));
	pthread_create(&thread, NULL, stores, target);
	for (int i = 1; i <= ROUNDS; i++) {
		int once = 0;

		_umonitor(&shared.watched);
		atomic_store(&shared.round, i);
		while (atomic_load_explicit(&target->bytes[i % 64], memory_order_acquire) != (uint8_t)i) {
			once |= _umwait(0, UINT64_MAX);
			_umonitor(&shared.watched);
		}
		by_limit += once;
	}
	pthread_join(thread, NULL);
	return by_limit;
}

int main(int argc, char **argv)
{
	uint64_t cycles = limit();
	int limited = argc == 2 && strcmp(argv[1], "limit") == 0;

	if (argc != 2 || limited != (cycles != 0)) {
		fprintf(stderr, "waits: max_time is %lu\n", (unsigned long)cycles);
		return 2;
	}
	pin(0);
	features();
	if (limited) {
		int count = pauses(cycles / 4, 0, cycles / 4, cycles / 2);

		expect(nearly_all(count), "tpause ended at its deadline", count);
		count = pauses(cycles * 10, 1, cycles - 64, cycles * 2);
		expect(nearly_all(count), "tpause ended at the limit, CF = 1", count);
	} else {
		int count = pauses((uint64_t)1 << 40, 0, 0, (uint64_t)1 << 40);

		expect(count == ROUNDS, "tpause ended by an interrupt, CF = 0", count);
	}
	if (limited && sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		int count = woken_by_limit(&shared.watched);

		expect(count <= ROUNDS / 10, "umwait not ended by a store to its line", count);
		count = woken_by_limit(&shared.beside);
		expect(nearly_all(count), "umwait not ended by a store beside it", count);
	}
	return failures != 0;
}
