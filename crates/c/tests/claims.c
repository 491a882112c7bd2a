/* Queues, buffers, completions and meters, used well and badly. Exit status 0: all as the header says. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "claims.h"

#define DEVICE "emulated:instant,size=16M"

static void misuse(void)
{
	struct joulio_namespace ns;
	struct joulio_completion done;
	struct joulio_counters counters;
	unsigned char command[64] = {0};

	CHECK(!joulio_open(NULL, 1, 0) && says("device is NULL"));
	CHECK(!joulio_open("nvme0", 1, 0) && says("nvme0"));
	CHECK(!joulio_open("emulated:no-such-profile", 1, 0) && says("no-such-profile"));
	CHECK(!joulio_open("\xff:", 1, 0) && says("not UTF-8"));
	CHECK(!joulio_open(DEVICE, 0, 0) && says("1 to 65535"));
	CHECK(!joulio_open(DEVICE, 1, 6) && says("JOULIO_ALLOW_WRITE"));
	CHECK(!joulio_queue_create(NULL, 1, "poll") && says("controller is NULL"));
	CHECK(!joulio_buffer_alloc(NULL, 1) && says("controller is NULL"));
	CHECK(joulio_namespace_info(NULL, &ns) == -EINVAL);
	CHECK(!joulio_namespace_open(NULL, 1) && says("controller is NULL"));
	CHECK(joulio_read(NULL, 0, 1, NULL, 0) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_write(NULL, 0, 1, NULL, 0) == -EINVAL);
	CHECK(joulio_submit(NULL, command, NULL, 0) == -EINVAL);
	CHECK(joulio_ring(NULL) == -EINVAL);
	CHECK(joulio_reap(NULL, 0, 1, 0, &done) == -EINVAL);
	CHECK(joulio_reap_each(NULL, 0, 1, 0, NULL, NULL) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_fd(NULL) == -EINVAL);
	CHECK(joulio_arm(NULL) == -EINVAL);
	CHECK(joulio_outstanding(NULL) == -EINVAL);
	CHECK(joulio_set_completion(NULL, "poll") == -EINVAL);
	CHECK(joulio_queue_counters(NULL, &counters) == -EINVAL);
	CHECK(joulio_direct_interrupts(NULL, 0, NULL, 0) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_buffer_data(NULL) == NULL && joulio_buffer_length(NULL) == 0);
	CHECK(joulio_buffer_free(NULL) == 0);
	CHECK(joulio_flush(NULL, 0) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_deallocate(NULL, NULL, 1, NULL, 0) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_set_slo(NULL, "15us") == -EINVAL && says("queue is NULL"));
	CHECK(joulio_admin(NULL, command, NULL, 0, NULL) == -EINVAL && says("controller is NULL"));
	CHECK(joulio_admin_buffer(NULL, command, NULL, NULL) == -EINVAL && says("controller is NULL"));
	CHECK(joulio_buffer_alloc_many(NULL, 1, 4096, NULL) == -EINVAL && says("buffers is NULL"));
	CHECK(joulio_meters_start(NULL) == -EINVAL && says("meters is NULL"));
	CHECK(joulio_meters_stop(NULL, NULL, 0) == -EINVAL && says("meters is NULL"));
	CHECK(joulio_meters_close(NULL) == 0);
	CHECK(joulio_queue_destroy(NULL) == 0);
	CHECK(joulio_close(NULL) == 0);

	struct joulio_controller *reader = joulio_open(DEVICE, 2, 0);
	CHECK(reader != NULL);
	CHECK(!joulio_queue_create(reader, 1, NULL) && says("completion is NULL"));
	CHECK(!joulio_queue_create(reader, 1, "pol") && says("pol"));
	CHECK(!joulio_queue_create(reader, 1, "sqpoll") && says("kernel's engines"));
	CHECK(!joulio_queue_create(reader, 0, "poll"));
	CHECK(!joulio_buffer_alloc(reader, 0) && says("out of range"));
	struct joulio_queue *queue = joulio_queue_create(reader, 1, "poll");
	struct joulio_buffer *buffer = joulio_buffer_alloc(reader, 4096);
	CHECK(queue && buffer);
	CHECK(joulio_read(queue, 0, 1, NULL, 0) == -EINVAL && says("buffer is NULL"));
	CHECK(joulio_read(queue, 0, 100, buffer, 0) == -EINVAL && says("shorter"));
	CHECK(joulio_read(queue, 1ull << 60, 1, buffer, 0) == -EINVAL && says("outside"));
	CHECK(joulio_write(queue, 0, 1, buffer, 0) == -EPERM && says("JOULIO_ALLOW_WRITE"));
	command[0] = 0x08; /* Write Zeroes */
	CHECK(joulio_submit(queue, command, NULL, 0) == -EPERM);
	command[0] = 0x02;
	command[24] = 1; /* PRP1 */
	CHECK(joulio_submit(queue, command, buffer, 0) == -EINVAL && says("PRP"));
	CHECK(joulio_submit(queue, NULL, buffer, 0) == -EINVAL && says("command is NULL"));
	CHECK(joulio_reap(queue, 1, 0, 0, &done) == -EINVAL);
	CHECK(joulio_reap(queue, 0, 1, 0, NULL) == -EINVAL);
	CHECK(joulio_outstanding(queue) == 0);

	/* In flight: the buffer is the device's, and the queue full. */
	struct joulio_buffer *other = joulio_buffer_alloc(reader, 4096);
	CHECK(joulio_read(queue, 0, 1, buffer, 7) == 0);
	CHECK(joulio_read(queue, 0, 1, other, 8) == -EAGAIN && says("full"));
	CHECK(joulio_buffer_free(buffer) == -EBUSY && says("in flight"));
	struct joulio_queue *second = joulio_queue_create(reader, 1, "poll");
	CHECK(joulio_read(second, 0, 1, buffer, 0) == -EBUSY);
	CHECK(joulio_arm(queue) == -EINVAL && says("never blocks"));
	CHECK(joulio_outstanding(queue) == 1);
	/* Not waited for: the buffer is lost to the device, and its handle is freed. */
	joulio_queue_destroy(queue);
	CHECK(joulio_buffer_data(buffer) == NULL);
	CHECK(joulio_read(second, 0, 1, buffer, 0) == -EOWNERDEAD && says("free it"));
	CHECK(joulio_buffer_free(buffer) == 0);

	/* Another device's buffer. */
	struct joulio_controller *stranger = joulio_open(DEVICE, 1, 0);
	struct joulio_buffer *foreign = joulio_buffer_alloc(stranger, 4096);
	CHECK(joulio_read(second, 0, 1, foreign, 0) == -EINVAL && says("another device"));
	CHECK(joulio_buffer_free(foreign) == 0);
	joulio_close(stranger);
	/* The controller goes first. */
	joulio_close(reader);
	CHECK(joulio_read(second, 0, 1, other, 9) == 0 && joulio_ring(second) == 0);
	CHECK(joulio_reap(second, 1, 1, -1, &done) == 1 && done.tag == 9 && done.buffer == other);
	CHECK(joulio_queue_destroy(second) == 0);
	CHECK(joulio_buffer_free(other) == 0);
	/* What is over says so; nothing of it is read or written. */
	CHECK(joulio_queue_destroy(second) == -EBADF && says("queue is not open"));
	CHECK(joulio_ring(second) == -EBADF && joulio_fd(second) == -EBADF);
	CHECK(joulio_reap(second, 0, 1, 0, &done) == -EBADF);
	CHECK(joulio_buffer_free(other) == -EBADF && says("buffer is not open"));
	CHECK(joulio_buffer_data(other) == NULL && joulio_buffer_length(other) == 0);
	CHECK(joulio_close(reader) == -EBADF && says("controller is not open"));
	CHECK(joulio_namespace_info(reader, &ns) == -EBADF);
	CHECK(!joulio_namespace_open(reader, 1) && says("controller is not open"));
	CHECK(!joulio_queue_create(reader, 1, "poll") && says("controller is not open"));
	CHECK(!joulio_buffer_alloc(reader, 1) && says("controller is not open"));
	CHECK(!joulio_meters_open(NULL, reader) && says("controller is not open"));
	CHECK(joulio_admin(reader, command, NULL, 0, NULL) == -EBADF);
	/* Another's pointers, aligned or not, and handles of another kind. */
	_Alignas(8) static char others[512];
	CHECK(joulio_ring((struct joulio_queue *)others) == -EBADF && says("another's"));
	CHECK(joulio_ring((struct joulio_queue *)(others + 1)) == -EBADF);
	struct joulio_controller *third = joulio_open(DEVICE, 1, 0);
	CHECK(joulio_ring((struct joulio_queue *)third) == -EBADF);
	CHECK(joulio_buffer_free((struct joulio_buffer *)third) == -EBADF);
	CHECK(joulio_close(third) == 0);
}

/* Flush and deallocation, and buffers in one piece of memory. */
static void other_commands(void)
{
	struct joulio_controller *writer = joulio_open(DEVICE, 1, JOULIO_ALLOW_WRITE);
	struct joulio_queue *queue = joulio_queue_create(writer, 4, "poll");
	struct joulio_controller *reader = joulio_open(DEVICE, 1, 0);
	struct joulio_queue *reads = joulio_queue_create(reader, 4, "poll");
	struct joulio_buffer *buffers[3], *none = NULL;
	struct joulio_range ranges[257] = {{.lba = 0, .blocks = 8}, {.lba = 16, .blocks = 8}};

	CHECK(joulio_buffer_alloc_many(writer, 0, 4096, buffers) == -EINVAL && says("count is 0"));
	CHECK(joulio_buffer_alloc_many(writer, 3, 0, buffers) == -EINVAL && says("out of range"));
	CHECK(joulio_buffer_alloc_many(writer, 3, 4096, NULL) == -EINVAL);
	CHECK(joulio_buffer_alloc_many(writer, 3, 4096, buffers) == 0);
	char *first = joulio_buffer_data(buffers[0]);
	for (int i = 0; i < 3; i++)
		CHECK(joulio_buffer_data(buffers[i]) == first + i * 4096);

	/* Three pieces of 8 blocks are written; the first and the third go. */
	memset(first, 0x5a, 3 * 4096);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK(joulio_write(queue, i * 8, 8, buffers[i], i) == 0);
		CHECK(ended(queue, i) == 0);
	}
	CHECK(joulio_flush(queue, 77) == 0 && joulio_outstanding(queue) == 1 && ended(queue, 77) == 0);
	CHECK(joulio_deallocate(queue, NULL, 1, buffers[0], 0) == -EINVAL && says("ranges is NULL"));
	CHECK(joulio_deallocate(queue, ranges, 0, buffers[0], 0) == -EINVAL && says("1 to 256"));
	CHECK(joulio_deallocate(queue, ranges, 257, buffers[0], 0) == -EINVAL && says("1 to 256"));
	CHECK(joulio_deallocate(queue, ranges, 2, none, 0) == -EINVAL && says("buffer is NULL"));
	CHECK(joulio_deallocate(queue, ranges, 2, buffers[0], 5) == 0 && ended(queue, 5) == 0);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK(joulio_read(queue, i * 8, 8, buffers[i], i) == 0);
		CHECK(ended(queue, i) == 0);
		CHECK(first[i * 4096] == (i == 1 ? 0x5a : 0) && first[i * 4096 + 4095] == first[i * 4096]);
	}

	/* Without leave nothing is changed; a flush changes nothing. */
	struct joulio_buffer *own = joulio_buffer_alloc(reader, 4096);
	CHECK(joulio_deallocate(reads, ranges, 1, own, 0) == -EPERM && says("JOULIO_ALLOW_WRITE"));
	CHECK(joulio_flush(reads, 1) == 0 && ended(reads, 1) == 0);
	/* As many commands without a buffer as the queue has room for. */
	for (uint64_t i = 0; i < 4; i++)
		CHECK(joulio_flush(reads, i) == 0);
	CHECK(joulio_flush(reads, 4) == -EAGAIN && says("full"));
	struct joulio_completion done[4];
	unsigned seen = 0;
	CHECK(joulio_ring(reads) == 0 && joulio_reap(reads, 4, 4, -1, done) == 4);
	for (int i = 0; i < 4; i++)
		seen |= 1u << done[i].tag;
	CHECK(seen == 0xf);

	CHECK(joulio_set_slo(queue, NULL) == -EINVAL && says("slo is NULL"));
	CHECK(joulio_set_slo(queue, "soon") == -EINVAL && says("soon"));
	CHECK(joulio_set_slo(queue, "p99=50us,p99.9=1ms") == 0);
	for (uint64_t i = 0; i < 100; i++)
		CHECK(joulio_read(queue, 8, 8, buffers[1], i) == 0 && ended(queue, i) == 0 && *first == 0);

	joulio_queue_destroy(queue);
	joulio_queue_destroy(reads);
	for (int i = 0; i < 3; i++)
		CHECK(joulio_buffer_free(buffers[i]) == 0);
	CHECK(joulio_buffer_free(own) == 0);
	CHECK(joulio_close(writer) == 0 && joulio_close(reader) == 0);
}

/* What functions that are called for completions have to do, and have done. */
struct work {
	struct joulio_queue *queue;
	struct joulio_buffer *buffers[4];
	int left, ended, reaped;
};

/* Reads again, for as long as something is left to do. */
static void read_again(void *context, const struct joulio_completion *done)
{
	struct work *work = context;

	CHECK(done->status == 0 && done->buffer == work->buffers[done->tag]);
	work->ended++;
	if (work->left > 0) {
		work->left--;
		CHECK(joulio_read(work->queue, done->tag, 1, done->buffer, done->tag) == 0);
		CHECK(joulio_ring(work->queue) == 0);
	}
}

/* Reads and waits for that, on the same queue. */
static void read_and_reap(void *context, const struct joulio_completion *done)
{
	struct work *work = context;
	struct joulio_completion more[4];
	int found;

	work->ended++;
	CHECK(joulio_read(work->queue, 0, 1, done->buffer, done->tag) == 0 && joulio_ring(work->queue) == 0);
	found = joulio_reap(work->queue, 1, 4, -1, more);
	CHECK(found >= 1 && more[0].status == 0);
	work->reaped += found;
}

static void destroy(void *context, const struct joulio_completion *done)
{
	struct work *work = context;

	CHECK(done->status == 0 && done->buffer == work->buffers[done->tag]);
	CHECK(joulio_queue_destroy(work->queue) == (work->ended++ ? -EBADF : 0));
}

static void submit_reads(struct work *work, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		CHECK(joulio_read(work->queue, i, 1, work->buffers[i], i) == 0);
	CHECK(joulio_ring(work->queue) == 0);
}

/* A function that is called for each completion, and uses the queue meanwhile. */
static void callbacks(void)
{
	static const char *modes[] = {"poll", "interrupt", "adaptive"};
	struct joulio_controller *controller = joulio_open(DEVICE, 1, 0);
	struct work work = {.queue = joulio_queue_create(controller, 4, "poll")};
	struct joulio_queue *queue = work.queue;

	CHECK(queue && joulio_buffer_alloc_many(controller, 4, 4096, work.buffers) == 0);
	CHECK(joulio_reap_each(queue, 0, 1, 0, NULL, NULL) == -EINVAL && says("each is NULL"));
	CHECK(joulio_reap_each(queue, 0, 0, 0, read_again, &work) == -EINVAL && says("max"));
	CHECK(joulio_reap_each(queue, 2, 1, 0, read_again, &work) == -EINVAL && says("max"));
	/* Nothing is in flight. */
	CHECK(joulio_reap_each(queue, 1, 1, 1000000, read_again, &work) == 0 && work.ended == 0);
	for (int mode = 0; mode < 3; mode++) {
		CHECK(joulio_set_completion(queue, modes[mode]) == 0);
		work.left = 96;
		work.ended = 0;
		submit_reads(&work, 4);
		while (work.ended < 100) {
			int before = work.ended, found = joulio_reap_each(queue, 1, 3, -1, read_again, &work);

			CHECK(found >= 1 && found <= 3 && work.ended == before + found);
			if (found < 1)
				exit(1);
		}
		CHECK(work.ended == 100 && joulio_outstanding(queue) == 0);
	}
	/* More than are in flight are not waited for. */
	CHECK(joulio_set_completion(queue, "poll") == 0);
	work.ended = 0;
	submit_reads(&work, 4);
	CHECK(joulio_reap_each(queue, 4, 1000, -1, read_again, &work) == 4 && work.ended == 4);
	/* Also in those calls in which the queue is checked. */
	for (int i = 0; i < 4200; i++) {
		submit_reads(&work, 1);
		CHECK(joulio_reap_each(queue, 1, 1, -1, read_again, &work) == 1);
	}
	/* A function that reaps by itself. */
	work.ended = 0;
	submit_reads(&work, 2);
	CHECK(joulio_reap_each(queue, 2, 4, -1, read_and_reap, &work) == 2 && work.ended == 2);
	CHECK(work.reaped == 2 && joulio_outstanding(queue) == 0);
	/* In a group, which waits for its queues. */
	struct joulio_group *group = joulio_group_create(controller);
	CHECK(joulio_group_join(group, queue) == 0);
	CHECK(joulio_reap_each(queue, 0, 1, 0, read_again, &work) == -EBUSY && says("joulio_group_reap"));
	CHECK(joulio_group_leave(group, queue) == 0 && joulio_group_destroy(group) == 0);
	/* The completions that are there come all the same. */
	work.ended = 0;
	submit_reads(&work, 2);
	CHECK(joulio_reap_each(queue, 2, 2, -1, destroy, &work) == 2 && work.ended == 2);
	CHECK(joulio_reap_each(queue, 0, 1, 0, destroy, &work) == -EBADF && says("queue is not open"));
	for (int i = 0; i < 4; i++)
		CHECK(joulio_buffer_free(work.buffers[i]) == 0);
	CHECK(joulio_close(controller) == 0);
}

/* Batches: submission, doorbell and completions by one call. */
static void batches(void)
{
	struct joulio_controller *controller = joulio_open(DEVICE, 2, JOULIO_ALLOW_WRITE);
	struct joulio_queue *queue = joulio_queue_create(controller, 4, "poll");
	struct joulio_controller *reader = joulio_open(DEVICE, 1, 0);
	struct joulio_queue *reads = joulio_queue_create(reader, 4, "poll");
	struct joulio_buffer *buffers[5], *own = joulio_buffer_alloc(reader, 4096);
	struct joulio_completion done[8];
	struct joulio_io ios[5];
	unsigned count = 4;

	CHECK(joulio_buffer_alloc_many(controller, 5, 4096, buffers) == 0);
	for (unsigned i = 0; i < 5; i++) {
		memset(joulio_buffer_data(buffers[i]), (int)i + 1, 4096);
		ios[i] = (struct joulio_io){
			.lba = i * 8, .buffer = buffers[i], .tag = i, .blocks = 8, .opcode = JOULIO_WRITE};
	}
	CHECK(joulio_submit_and_wait(NULL, ios, &count, 1, 8, -1, done) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_submit_and_wait(queue, ios, NULL, 1, 8, -1, done) == -EINVAL && says("count is NULL"));
	CHECK(joulio_submit_and_wait(queue, NULL, &count, 1, 8, -1, done) == -EINVAL && says("ios is NULL"));
	CHECK(count == 0);
	count = 4;
	CHECK(joulio_submit_and_wait(queue, ios, &count, 2, 1, -1, done) == -EINVAL && says("max"));
	count = 4;
	CHECK(joulio_submit_and_wait(queue, ios, &count, 1, 8, -1, NULL) == -EINVAL && says("completions"));
	CHECK(joulio_outstanding(queue) == 0);
	/* Without leave, nothing; of others, those before the one that is refused. */
	count = 1;
	ios[0].buffer = own;
	CHECK(joulio_submit_and_wait(reads, ios, &count, 1, 8, -1, done) == -EPERM && count == 0);
	ios[0].buffer = buffers[0];
	count = 4;
	ios[2].buffer = NULL;
	CHECK(joulio_submit_and_wait(queue, ios, &count, 1, 8, -1, done) == -EINVAL && says("buffer is NULL"));
	CHECK(count == 2 && joulio_outstanding(queue) == 2);
	ios[2].buffer = buffers[1];
	CHECK(joulio_submit_and_wait(queue, ios + 2, &count, 1, 8, -1, done) == -EBUSY && count == 0);
	ios[2].buffer = buffers[2];
	ios[2].opcode = 0x09;
	count = 1;
	CHECK(joulio_submit_and_wait(queue, ios + 2, &count, 1, 8, -1, done) == -EINVAL && says("opcode 0x9"));
	ios[2].opcode = JOULIO_WRITE;
	ios[2].lba = 1ull << 60;
	count = 1;
	CHECK(joulio_submit_and_wait(queue, ios + 2, &count, 1, 8, -1, done) == -EINVAL && count == 0);
	ios[2].lba = 16;
	/* A queue that is full says so after those for which it had room. */
	count = 3;
	CHECK(joulio_submit_and_wait(queue, ios + 2, &count, 1, 8, -1, done) == -EAGAIN && count == 2);
	/* None to submit: all that were. */
	count = 0;
	CHECK(joulio_submit_and_wait(queue, ios, &count, 4, 8, -1, done) == 4);
	/* Only submitted. */
	count = 1;
	CHECK(joulio_submit_and_wait(queue, ios + 4, &count, 0, 0, -1, NULL) == 0 && count == 1);
	CHECK(joulio_reap(queue, 1, 1, -1, done) == 1 && done[0].tag == 4 && done[0].buffer == buffers[4]);

	/* What the array has no room for comes with the next call. */
	for (unsigned i = 0; i < 4; i++) {
		memset(joulio_buffer_data(buffers[i]), 0xff, 4096);
		ios[i].opcode = JOULIO_READ;
	}
	unsigned seen = 0;
	count = 4;
	CHECK(joulio_submit_and_wait(queue, ios, &count, 3, 3, -1, done) == 3);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++) {
			const unsigned char *bytes = joulio_buffer_data(done[i].buffer);

			CHECK(done[i].status == 0 && done[i].buffer == buffers[done[i].tag]);
			CHECK(bytes[0] == done[i].tag + 1 && bytes[4095] == bytes[0]);
			seen |= 1u << done[i].tag;
		}
		if (round == 0) {
			ios[4].opcode = JOULIO_READ;
			count = 1;
			CHECK(joulio_submit_and_wait(queue, ios + 4, &count, 2, 8, -1, done) == 2 && count == 1);
			CHECK(done[0].tag != 4 && done[1].tag == 4);
			done[2] = done[1];
		}
	}
	CHECK(seen == 0x1f);
	/* Also in those calls in which the queue is checked. */
	for (uint64_t i = 0; i < 4200; i++) {
		ios[0].tag = i;
		count = 1;
		CHECK(joulio_submit_and_wait(queue, ios, &count, 1, 8, -1, done) == 1 && done[0].tag == i);
	}
	/* In a group, which waits for its queues, it submits. */
	struct joulio_group *group = joulio_group_create(controller);
	CHECK(joulio_group_join(group, queue) == 0);
	count = 4;
	CHECK(joulio_submit_and_wait(queue, ios, &count, 1, 8, -1, done) == -EBUSY && count == 0);
	count = 4;
	CHECK(joulio_submit_and_wait(queue, ios, &count, 0, 0, -1, NULL) == 0 && count == 4);
	CHECK(joulio_group_reap(group, 4, 8, -1, done) == 4);
	joulio_queue_destroy(queue);
	joulio_queue_destroy(reads);
	CHECK(joulio_group_destroy(group) == 0);
	count = 3;
	CHECK(joulio_submit_and_wait(queue, ios, &count, 1, 8, -1, done) == -EBADF && says("not open") && count == 0);
	for (int i = 0; i < 5; i++)
		CHECK(joulio_buffer_free(buffers[i]) == 0);
	CHECK(joulio_buffer_free(own) == 0);
	CHECK(joulio_close(controller) == 0 && joulio_close(reader) == 0);
}

/* An emulated device has a meter, whose watts are its profile's. */
static void energy(void)
{
	struct joulio_controller *controller = joulio_open("emulated:optane-900p,size=16M", 1, 0);
	struct joulio_energy energies[16];
	int modelled = 0, found;

	CHECK(!joulio_meters_open("wallx", NULL) && says("wallx"));
	CHECK(!joulio_meters_open("none all", NULL) && says("none"));
	struct joulio_meters *none = joulio_meters_open("none", NULL);
	CHECK(none && joulio_meters_start(none) == 0 && joulio_meters_stop(none, energies, 16) == 0);
	struct joulio_meters *meters = joulio_meters_open(NULL, controller);
	CHECK(meters && joulio_meters_stop(meters, energies, 16) == -EINVAL && says("no window"));
	CHECK(joulio_meters_start(meters) == 0);
	CHECK(joulio_meters_start(meters) == -EBUSY && says("is open"));
	/* Nothing shorter than a second has a figure: it is as short, but where this thread was away for a second. */
	found = joulio_meters_stop(meters, energies, 16);
	CHECK(found == -ENODATA ? *joulio_error() != 0 : found >= 1 && energies[0].seconds >= 1);
	CHECK(joulio_meters_start(meters) == 0);
	CHECK(joulio_meters_stop(meters, NULL, 1) == -EINVAL && says("energies is NULL"));
	struct timespec second = {.tv_sec = 1, .tv_nsec = 200000000};
	nanosleep(&second, NULL);
	found = joulio_meters_stop(meters, energies, 16);
	CHECK(found >= 1);
	for (int i = 0; i < found; i++) {
		CHECK(energies[i].joules > 0 && energies[i].seconds >= 1);
		if (!strcmp(energies[i].boundary, "device"))
			modelled += energies[i].modelled == 1 && strstr(energies[i].meter, "optane-900p") != NULL;
	}
	CHECK(modelled == 1);
	/* With a window that is open. */
	CHECK(joulio_meters_start(meters) == 0 && joulio_meters_close(meters) == 0);
	CHECK(joulio_meters_close(meters) == -EBADF && says("meters is not open"));
	CHECK(joulio_meters_close(none) == 0 && joulio_close(controller) == 0);
}

/* Blocks written by one mode are read by the next, bytes compared in place. */
static void data(void)
{
	static const char *modes[] = {"poll", "interrupt", "hybrid", "adaptive", "ski-rental=2us"};
	struct joulio_controller *controller = joulio_open(DEVICE, 1, JOULIO_ALLOW_WRITE);
	struct joulio_queue *queue = joulio_queue_create(controller, 8, "poll");
	struct joulio_namespace ns;
	struct joulio_buffer *buffers[8];
	CHECK(controller && queue && joulio_namespace_info(controller, &ns) == 0);
	CHECK(ns.nsid == 1 && ns.blocks * ns.block_size == 16 << 20 && ns.max_transfer >= 4096);
	for (int i = 0; i < 8; i++) {
		buffers[i] = joulio_buffer_alloc(controller, 4096);
		CHECK(joulio_buffer_length(buffers[i]) == 4096);
	}
	uint32_t blocks = 4096 / ns.block_size;
	for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
		CHECK(joulio_set_completion(queue, modes[mode]) == 0);
		for (int write = 1; write >= 0; write--) {
			for (unsigned i = 0; i < 8; i++) {
				memset(joulio_buffer_data(buffers[i]), write ? (int)(mode * 8 + i) : 0xff, 4096);
				uint64_t lba = (uint64_t)i * blocks;
				int sent = write ? joulio_write(queue, lba, blocks, buffers[i], i)
						 : joulio_read(queue, lba, blocks, buffers[i], i);
				CHECK(sent == 0);
			}
			CHECK(joulio_ring(queue) == 0);
			/* An array with too little room for what has completed. */
			unsigned ended = 0, seen = 0;
			while (ended < 8) {
				struct joulio_completion done[3];
				int found = joulio_reap(queue, 1, 3, -1, done);
				CHECK(found >= 1 && found <= 3);
				if (found < 1)
					exit(1);
				for (int i = 0; i < found; i++) {
					CHECK(done[i].status == 0 && done[i].buffer == buffers[done[i].tag]);
					seen |= 1u << done[i].tag;
				}
				ended += (unsigned)found;
			}
			CHECK(seen == 0xff && joulio_outstanding(queue) == 0);
		}
		for (unsigned i = 0; i < 8; i++) {
			const unsigned char *bytes = joulio_buffer_data(buffers[i]);
			for (unsigned at = 0; at < 4096; at++)
				if (bytes[at] != mode * 8 + i) {
					CHECK(!"the data is what was written");
					break;
				}
		}
	}
	/* A raw command without data: Flush. */
	unsigned char flush[64] = {0};
	struct joulio_completion done;
	CHECK(joulio_submit(queue, flush, NULL, 99) == 0 && joulio_ring(queue) == 0);
	CHECK(joulio_reap(queue, 1, 1, -1, &done) == 1);
	CHECK(done.tag == 99 && done.status == 0 && done.buffer == NULL);
	/* Nothing is in flight: a wait ends with its time. */
	CHECK(joulio_reap(queue, 1, 1, 1000000, &done) == 0);
	joulio_queue_destroy(queue);
	for (int i = 0; i < 8; i++)
		CHECK(joulio_buffer_free(buffers[i]) == 0);
	joulio_close(controller);
}

/* The descriptor of an event loop, and polling between, on one queue. */
static void event_loop(void)
{
	struct joulio_controller *controller = joulio_open(DEVICE, 1, 0);
	struct joulio_queue *queue = joulio_queue_create(controller, 1, "interrupt");
	struct joulio_buffer *buffer = joulio_buffer_alloc(controller, 4096);
	struct joulio_counters counters;
	int fd = joulio_fd(queue);
	CHECK(fd >= 0);
	for (int round = 0; round < 200; round++) {
		int polled = round % 50 >= 40;
		if (round % 50 == 40 || round % 50 == 0)
			CHECK(joulio_set_completion(queue, polled ? "poll" : "interrupt") == 0);
		CHECK(joulio_read(queue, 0, 1, buffer, 1) == 0 && joulio_ring(queue) == 0);
		struct joulio_completion done;
		int found = 0;
		while (!found) {
			int armed = polled ? 0 : joulio_arm(queue);
			CHECK(armed >= 0);
			if (armed == 1) {
				struct pollfd entry = {.fd = fd, .events = POLLIN};
				CHECK(poll(&entry, 1, -1) == 1);
			}
			found = joulio_reap(queue, 0, 1, 0, &done);
			CHECK(found >= 0);
		}
		CHECK(done.status == 0 && done.buffer == buffer);
	}
	CHECK(joulio_fd(queue) == fd);
	/* No CPU of this machine takes an emulated device's interrupts. */
	unsigned cpus[4] = {77, 77, 77, 77};
	CHECK(joulio_direct_interrupts(queue, 0, cpus, 4) == 0 && cpus[0] == 77);
	CHECK(joulio_direct_interrupts(queue, 0, NULL, 0) == 0);
	CHECK(joulio_direct_interrupts(queue, 0, NULL, 4) == -EINVAL && says("cpus is NULL"));
	CHECK(joulio_set_completion(queue, "poll") == 0);
	CHECK(joulio_direct_interrupts(queue, 0, cpus, 4) == 0);
	CHECK(joulio_queue_counters(queue, &counters) == 0 && counters.polls >= 200);
	CHECK(joulio_queue_counters(queue, NULL) == -EINVAL);
	joulio_queue_destroy(queue);
	CHECK(joulio_buffer_free(buffer) == 0);
	joulio_close(controller);
}

/* A text that is too long is cut, between two letters. */
static void long_text(void)
{
	char device[4096] = "emulated:";

	while (strlen(device) < 3000)
		strcat(device, "\u00e9");
	CHECK(!joulio_open(device, 1, 0) && strlen(joulio_error()) >= 1022);
	CHECK(strlen(joulio_error()) <= 1023 && says("unknown"));
}

/* What the thread has is destroyed before exit handlers run; they fail like everybody. */
static void at_exit(void)
{
	static _Alignas(8) char others[512];

	CHECK(joulio_close((struct joulio_controller *)others) == -EBADF);
	CHECK(says("controller is not open"));
	if (failures)
		_exit(1);
}

int main(void)
{
	CHECK(strlen(joulio_version()) >= 5 && *joulio_error() == 0);
	CHECK(!atexit(at_exit));
	long_text();
	misuse();
	data();
	other_commands();
	batches();
	callbacks();
	event_loop();
	energy();
	return ended_badly();
}
