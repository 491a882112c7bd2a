/* Reads the first blocks of a device at depth 32 and prints how often the core slept and polled.
 *
 *     read DEVICE COMPLETION IOS
 *     read emulated:optane-900p interrupt 10000
 */
#include <stdio.h>
#include <stdlib.h>
#include "joulio.h"

#define DEPTH 32
#define BYTES 4096

static int fail(void)
{
	fprintf(stderr, "read: %s\n", joulio_error());
	return 2;
}

int main(int argc, char **argv)
{
	if (argc != 4 || atol(argv[3]) <= 0) {
		fprintf(stderr, "usage: read DEVICE COMPLETION IOS\n");
		return 2;
	}
	uint64_t ios = (uint64_t)atol(argv[3]), sent = 0, ended = 0, failed = 0;
	struct joulio_controller *controller = joulio_open(argv[1], 1, 0);
	if (!controller)
		return fail();
	struct joulio_queue *queue = joulio_queue_create(controller, DEPTH, argv[2]);
	struct joulio_namespace ns;
	if (!queue || joulio_namespace_info(controller, &ns))
		return fail();

	struct joulio_buffer *spare[DEPTH];
	unsigned spares = 0;
	while (spares < DEPTH)
		if (!(spare[spares++] = joulio_buffer_alloc(controller, BYTES)))
			return fail();

	uint32_t blocks = BYTES / ns.block_size;
	while (ended < ios) {
		while (spares && sent < ios) {
			uint64_t lba = sent * blocks % (ns.blocks / blocks * blocks);
			if (joulio_read(queue, lba, blocks, spare[spares - 1], sent))
				return fail();
			spares--;
			sent++;
		}
		joulio_ring(queue);
		struct joulio_completion done[DEPTH];
		int found = joulio_reap(queue, 1, DEPTH, -1, done);
		if (found < 0)
			return fail();
		for (int i = 0; i < found; i++) {
			spare[spares++] = done[i].buffer;
			failed += done[i].status != 0;
		}
		ended += (uint64_t)found;
	}

	struct joulio_counters counters;
	joulio_queue_counters(queue, &counters);
	printf("%s, %s: %llu reads, %llu failed; polls %llu, interrupts %llu, blocks %llu, sleeps %llu\n",
	       argv[1], argv[2], (unsigned long long)ended, (unsigned long long)failed,
	       (unsigned long long)counters.polls, (unsigned long long)counters.interrupts,
	       (unsigned long long)counters.blocks, (unsigned long long)counters.sleeps);
	joulio_queue_destroy(queue);
	joulio_close(controller);
	while (spares)
		joulio_buffer_free(spare[--spares]);
	return failed != 0;
}
