/* Every function of joulio.h, used well and badly. Exit status 0: all as the header says. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "joulio.h"

#define DEVICE "emulated:instant,size=16M"

static int failures;

static void check(int holds, const char *what, int line)
{
	if (!holds) {
		fprintf(stderr, "claims.c:%d: %s (%s)\n", line, what, joulio_error());
		failures++;
	}
}
#define CHECK(what) check(what, #what, __LINE__)

/* The last call failed with this text in its message, which is one line. */
static int says(const char *text)
{
	return strstr(joulio_error(), text) && !strchr(joulio_error(), '\n');
}

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
	CHECK(joulio_read(NULL, 0, 1, NULL, 0) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_write(NULL, 0, 1, NULL, 0) == -EINVAL);
	CHECK(joulio_submit(NULL, command, NULL, 0) == -EINVAL);
	CHECK(joulio_ring(NULL) == -EINVAL);
	CHECK(joulio_reap(NULL, 0, 1, 0, &done) == -EINVAL);
	CHECK(joulio_fd(NULL) == -EINVAL);
	CHECK(joulio_arm(NULL) == -EINVAL);
	CHECK(joulio_outstanding(NULL) == -EINVAL);
	CHECK(joulio_set_completion(NULL, "poll") == -EINVAL);
	CHECK(joulio_queue_counters(NULL, &counters) == -EINVAL);
	CHECK(joulio_buffer_data(NULL) == NULL && joulio_buffer_length(NULL) == 0);
	CHECK(joulio_buffer_free(NULL) == 0);
	joulio_queue_destroy(NULL);
	joulio_close(NULL);

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
	CHECK(joulio_read(second, 0, 1, buffer, 0) == -EBUSY);
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
	joulio_queue_destroy(second);
	CHECK(joulio_buffer_free(other) == 0);
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
	CHECK(joulio_queue_counters(queue, &counters) == 0 && counters.polls >= 200);
	CHECK(joulio_queue_counters(queue, NULL) == -EINVAL);
	joulio_queue_destroy(queue);
	CHECK(joulio_buffer_free(buffer) == 0);
	joulio_close(controller);
}

int main(void)
{
	CHECK(strlen(joulio_version()) >= 5 && *joulio_error() == 0);
	misuse();
	data();
	event_loop();
	printf("%d claims do not hold\n", failures);
	return failures != 0;
}
