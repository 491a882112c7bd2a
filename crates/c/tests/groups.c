/* Groups of queues, used well and badly. Exit status 0: all as the header says. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include "claims.h"

#define DEVICE "emulated:instant,size=16M"
#define QUEUES 4

static struct joulio_controller *controller;
static struct joulio_queue *queues[QUEUES];
static struct joulio_buffer *buffers[QUEUES];

static void misuse(void)
{
	struct joulio_group *group = joulio_group_create(controller), *other = joulio_group_create(controller);
	struct joulio_queue *alone = queues[0], *member = queues[1];
	struct joulio_completion done;
	struct joulio_counters counters;

	CHECK(!joulio_group_create(NULL) && says("controller is NULL"));
	CHECK(group && other);
	CHECK(joulio_group_join(NULL, alone) == -EINVAL && says("group is NULL"));
	CHECK(joulio_group_join(group, NULL) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_group_leave(NULL, alone) == -EINVAL && says("group is NULL"));
	CHECK(joulio_group_leave(group, NULL) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_group_leave(group, alone) == -EINVAL && says("not in this group"));
	CHECK(joulio_group_reap(NULL, 0, 1, 0, &done) == -EINVAL && says("group is NULL"));
	CHECK(joulio_group_reap(group, 2, 1, 0, &done) == -EINVAL && says("max"));
	CHECK(joulio_group_reap(group, 0, 1, 0, NULL) == -EINVAL && says("completions is NULL"));
	CHECK(joulio_group_reap(group, 1, 1, -1, &done) == 0);
	CHECK(joulio_group_fd(NULL) == -EINVAL && joulio_group_arm(NULL) == -EINVAL);
	CHECK(joulio_group_outstanding(NULL) == -EINVAL);
	CHECK(joulio_group_counters(NULL, &counters) == -EINVAL);
	CHECK(joulio_group_counters(group, NULL) == -EINVAL && says("counters is NULL"));
	CHECK(joulio_group_destroy(NULL) == 0);

	CHECK(joulio_group_join(group, member) == 0);
	CHECK(joulio_group_join(group, member) == -EBUSY && says("in a group"));
	CHECK(joulio_group_join(other, member) == -EBUSY && says("in a group"));
	CHECK(joulio_group_leave(other, member) == -EINVAL && says("not in this group"));
	CHECK(joulio_reap(member, 0, 1, 0, &done) == -EBUSY && says("joulio_group_reap"));
	CHECK(joulio_fd(member) == -EBUSY && joulio_arm(member) == -EBUSY);
	/* By polling there is no interrupt to let through. */
	CHECK(joulio_read(member, 0, 8, buffers[1], 1) == 0 && joulio_ring(member) == 0);
	CHECK(joulio_group_arm(group) == -EINVAL && says("never blocks"));
	CHECK(joulio_group_reap(group, 1, 1, -1, &done) == 1 && done.tag == 1 && done.buffer == buffers[1]);
	CHECK(joulio_group_destroy(group) == -EBUSY && says("1 queue"));
	CHECK(joulio_group_leave(group, member) == 0);
	CHECK(joulio_group_destroy(group) == 0 && joulio_group_destroy(other) == 0);
	CHECK(joulio_group_destroy(group) == -EBADF && says("group is not open"));
	CHECK(joulio_group_join(group, member) == -EBADF);
}

/* Submits a read, and a flush, which has no buffer, to a queue: two commands. */
static void submit(int i)
{
	CHECK(joulio_read(queues[i], i, 1, buffers[i], (uint64_t)i) == 0);
	CHECK(joulio_flush(queues[i], (uint64_t)(100 + i)) == 0);
	CHECK(joulio_ring(queues[i]) == 0);
}

/* Takes as many completions as there are commands, by three at most; a bit for each queue, flushes from 8. */
static unsigned reap(struct joulio_group *group, int commands)
{
	unsigned seen = 0;

	while (commands > 0) {
		struct joulio_completion done[3];
		int found = joulio_group_reap(group, 1, 3, -1, done);

		CHECK(found >= 1 && found <= 3);
		if (found < 1)
			return 0;
		for (int i = 0; i < found; i++) {
			unsigned flush = done[i].tag >= 100, bit = done[i].tag % 100 + 8 * flush;

			CHECK(done[i].status == 0 && !(seen & 1u << bit));
			CHECK(done[i].buffer == (flush ? NULL : buffers[done[i].tag]));
			seen |= 1u << bit;
		}
		commands -= found;
	}
	CHECK(commands == 0 && joulio_group_outstanding(group) == 0);
	return seen;
}

static void together(void)
{
	static const char *modes[] = {"poll", "interrupt", "hybrid", "adaptive"};
	struct joulio_group *group = joulio_group_create(controller);
	struct joulio_counters counters;
	struct joulio_completion done[2];

	for (int i = 0; i < QUEUES; i++)
		CHECK(joulio_group_join(group, queues[i]) == 0);
	for (int mode = 0; mode < 4; mode++) {
		for (int i = 0; i < QUEUES; i++)
			CHECK(joulio_set_completion(queues[i], modes[mode]) == 0);
		for (int round = 0; round < 10; round++) {
			for (int i = 0; i < QUEUES; i++)
				submit(i);
			CHECK(reap(group, 2 * QUEUES) == 0xf0f);
		}
	}
	CHECK(joulio_group_counters(group, &counters) == 0 && counters.polls > 0);
	CHECK(joulio_queue_counters(queues[2], &counters) == 0 && counters.polls > 0);

	/* One leaves with commands in flight and takes them along; those behind it move up. */
	for (int i = 0; i < QUEUES; i++)
		submit(i);
	CHECK(joulio_group_leave(group, queues[1]) == 0);
	CHECK(joulio_outstanding(queues[1]) == 2 && joulio_group_outstanding(group) == 2 * (QUEUES - 1));
	CHECK(reap(group, 2 * (QUEUES - 1)) == 0xd0d);
	CHECK(joulio_reap(queues[1], 2, 2, -1, done) == 2 && done[0].tag % 100 == 1 && done[1].tag % 100 == 1);
	/* And joins with some, one of which has ended and was not handed out. */
	submit(1);
	CHECK(joulio_reap(queues[1], 1, 1, -1, done) == 1);
	CHECK(joulio_outstanding(queues[1]) == 1);
	CHECK(joulio_group_join(group, queues[1]) == 0);
	CHECK(joulio_group_outstanding(group) == 1 && joulio_group_reap(group, 1, 2, -1, done + 1) == 1);
	CHECK(done[0].tag != done[1].tag && done[1].tag % 100 == 1);
	/* One that is destroyed leaves; the others' completions are theirs. */
	CHECK(joulio_queue_destroy(queues[0]) == 0);
	for (int i = 1; i < QUEUES; i++)
		submit(i);
	CHECK(reap(group, 2 * (QUEUES - 1)) == 0xe0e);
	CHECK(joulio_group_destroy(group) == -EBUSY && says("3 queues"));
	/* And takes what it has in flight with it, whatever that is; the others' stays theirs. */
	submit(1);
	submit(2);
	CHECK(joulio_flush(queues[3], 0) == 0);
	for (int i = 1; i < QUEUES; i += 2)
		CHECK(joulio_queue_destroy(queues[i]) == 0);
	CHECK(joulio_buffer_data(buffers[1]) == NULL && joulio_buffer_free(buffers[1]) == 0);
	buffers[1] = joulio_buffer_alloc(controller, 4096);
	CHECK(reap(group, 2) == 0x404);
	CHECK(joulio_queue_destroy(queues[2]) == 0);
	CHECK(joulio_group_destroy(group) == 0);
}

/* Both queues in the group and commands on both, of which one is reaped: whether that was of queue 1. All others are in
 * flight or left over. */
static int one_reaped(struct joulio_group *group)
{
	struct joulio_completion done;

	for (int i = 0; i < 2; i++)
		CHECK(joulio_group_join(group, queues[i]) == 0);
	submit(1);
	submit(0);
	CHECK(joulio_group_reap(group, 1, 1, -1, &done) == 1);
	return done.tag % 100 == 1;
}

/* What was reaped and had no room in the array goes with its queue. */
static void left_over(void)
{
	struct joulio_group *group = joulio_group_create(controller);
	struct joulio_completion done[4];
	int of_1, found;

	for (int i = 0; i < 2; i++) {
		queues[i] = joulio_queue_create(controller, 2, "poll");
		CHECK(queues[i] != NULL);
	}
	for (int round = 0; round < 20; round++) {
		of_1 = one_reaped(group);
		CHECK(joulio_outstanding(queues[1]) == 2 - of_1 && joulio_outstanding(queues[0]) == 1 + of_1);
		CHECK(joulio_group_outstanding(group) == 3);
		/* It takes them along when it leaves ... */
		CHECK(joulio_group_leave(group, queues[1]) == 0);
		CHECK(joulio_outstanding(queues[1]) == 2 - of_1 && joulio_group_outstanding(group) == 1 + of_1);
		found = joulio_reap(queues[1], 1, 4, -1, done);
		CHECK(found >= 1 && done->tag % 100 == 1);
		while (found < 2 - of_1 && joulio_reap(queues[1], 1, 1, -1, done) == 1)
			found++;
		CHECK(found == 2 - of_1 && joulio_outstanding(queues[1]) == 0);
		for (found = 0; found < 1 + of_1; found++)
			CHECK(joulio_group_reap(group, 1, 1, -1, done) == 1 && done->tag % 100 == 0);
		CHECK(joulio_group_leave(group, queues[0]) == 0);
	}
	for (int round = 0; round < 20; round++) {
		of_1 = one_reaped(group);
		/* ... and nobody hears of them when it is destroyed. */
		CHECK(joulio_queue_destroy(queues[1]) == 0);
		CHECK(joulio_buffer_free(buffers[1]) == 0);
		CHECK(joulio_group_outstanding(group) == 1 + of_1);
		for (found = 0; found < 1 + of_1; found++)
			CHECK(joulio_group_reap(group, 1, 1, -1, done) == 1 && done->tag % 100 == 0);
		CHECK(joulio_group_reap(group, 0, 4, 0, done) == 0);
		CHECK(joulio_group_leave(group, queues[0]) == 0);
		queues[1] = joulio_queue_create(controller, 2, "poll");
		buffers[1] = joulio_buffer_alloc(controller, 4096);
		CHECK(queues[1] && buffers[1]);
	}
	for (int i = 0; i < 2; i++)
		CHECK(joulio_queue_destroy(queues[i]) == 0);
	CHECK(joulio_group_destroy(group) == 0);
}

/* One descriptor for all queues of a group, at each round of another one. */
static void event_loop(void)
{
	struct joulio_group *group = joulio_group_create(controller);
	int fd = joulio_group_fd(group);

	CHECK(fd >= 0);
	for (int i = 0; i < QUEUES; i++) {
		queues[i] = joulio_queue_create(controller, 2, "interrupt");
		CHECK(queues[i] && joulio_group_join(group, queues[i]) == 0);
	}
	CHECK(joulio_group_arm(group) == 1);
	for (int round = 0; round < 100; round++) {
		int found = 0, i = round % QUEUES;
		struct joulio_completion done;

		CHECK(joulio_read(queues[i], 0, 1, buffers[i], (uint64_t)i) == 0 && joulio_ring(queues[i]) == 0);
		while (!found) {
			int armed = joulio_group_arm(group);

			CHECK(armed >= 0);
			if (armed == 1) {
				struct pollfd entry = {.fd = fd, .events = POLLIN};
				CHECK(poll(&entry, 1, -1) == 1);
			}
			found = joulio_group_reap(group, 0, 1, 0, &done);
			CHECK(found >= 0);
		}
		CHECK(done.status == 0 && done.buffer == buffers[i]);
	}
	CHECK(joulio_group_fd(group) == fd);
	for (int i = 0; i < QUEUES; i++)
		CHECK(joulio_group_leave(group, queues[i]) == 0 && joulio_queue_destroy(queues[i]) == 0);
	CHECK(joulio_group_destroy(group) == 0);
}

static int is_readable(int fd)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};

	return poll(&entry, 1, 0);
}

static void *wake(void *group)
{
	return joulio_group_wake(group) ? group : NULL;
}

/* Another thread wakes the one that waits for the descriptor. */
static void woken(void)
{
	struct joulio_group *group = joulio_group_create(controller);
	struct pollfd entry = {.fd = joulio_group_fd(group), .events = POLLIN};
	pthread_t thread;
	void *failed;

	queues[0] = joulio_queue_create(controller, 2, "interrupt");
	CHECK(queues[0] && joulio_group_join(group, queues[0]) == 0);
	CHECK(joulio_group_wake(NULL) == -EINVAL && says("group is NULL"));
	for (int round = 0; round < 20; round++) {
		struct joulio_completion done;

		CHECK(joulio_group_arm(group) == 1 && is_readable(entry.fd) == 0);
		CHECK(pthread_create(&thread, NULL, wake, group) == 0);
		CHECK(poll(&entry, 1, -1) == 1);
		CHECK(pthread_join(thread, &failed) == 0 && !failed);
		/* Until it is armed again; nothing has completed. */
		CHECK(joulio_group_reap(group, 0, 1, 0, &done) == 0 && is_readable(entry.fd) == 1);
	}
	CHECK(joulio_group_arm(group) == 1 && is_readable(entry.fd) == 0);
	CHECK(joulio_group_leave(group, queues[0]) == 0 && joulio_queue_destroy(queues[0]) == 0);
	CHECK(joulio_group_destroy(group) == 0);
	CHECK(joulio_group_wake(group) == -EBADF && says("group is not open"));
}

/* What a function that is called for each completion has to do, and did. */
struct work {
	struct joulio_group *group;
	int left, ended, destroyed;
};

static void read_again(void *context, const struct joulio_completion *done)
{
	struct work *work = context;
	unsigned queue = done->tag % 100;

	CHECK(done->status == 0 && queue < QUEUES && done->buffer == buffers[queue]);
	work->ended++;
	if (work->left-- <= 0)
		return;
	CHECK(joulio_read(queues[queue], 0, 1, buffers[queue], queue) == 0 && joulio_ring(queues[queue]) == 0);
}

/* Destroys the queue that has ended its command; the others wait for theirs in a call of this one's own. */
static void destroy(void *context, const struct joulio_completion *done)
{
	struct work *work = context;
	struct joulio_completion rest;

	CHECK(done->status == 0 && done->buffer == buffers[done->tag]);
	CHECK(joulio_queue_destroy(queues[done->tag]) == 0);
	work->destroyed++;
	while (joulio_group_outstanding(work->group) > 0)
		work->ended += joulio_group_reap(work->group, 1, 1, -1, &rest);
}

static void callbacks(void)
{
	struct work work = {.group = joulio_group_create(controller)};
	struct joulio_group *group = work.group;

	for (int i = 0; i < QUEUES; i++) {
		queues[i] = joulio_queue_create(controller, 2, i % 2 ? "adaptive" : "poll");
		CHECK(queues[i] && joulio_group_join(group, queues[i]) == 0);
	}
	CHECK(joulio_group_reap_each(NULL, 0, 1, 0, read_again, &work) == -EINVAL && says("group is NULL"));
	CHECK(joulio_group_reap_each(group, 0, 1, 0, NULL, &work) == -EINVAL && says("each is NULL"));
	CHECK(joulio_group_reap_each(group, 2, 1, 0, read_again, &work) == -EINVAL && says("max"));
	CHECK(joulio_group_reap_each(group, 1, 8, 1000000, read_again, &work) == 0 && work.ended == 0);
	work.left = 96;
	for (unsigned i = 0; i < QUEUES; i++)
		CHECK(joulio_read(queues[i], 0, 1, buffers[i], i) == 0 && joulio_ring(queues[i]) == 0);
	while (work.ended < 96 + QUEUES) {
		int before = work.ended, found = joulio_group_reap_each(group, 1, 3, -1, read_again, &work);

		CHECK(found >= 1 && found <= 3 && work.ended == before + found);
		if (found < 1)
			exit(1);
	}
	CHECK(work.ended == 96 + QUEUES && joulio_group_outstanding(group) == 0);
	work.ended = 0;
	for (unsigned i = 0; i < QUEUES; i++)
		CHECK(joulio_read(queues[i], 0, 1, buffers[i], i) == 0 && joulio_ring(queues[i]) == 0);
	CHECK(joulio_group_reap_each(group, 1, 1, -1, destroy, &work) == 1);
	CHECK(work.destroyed == 1 && work.ended == QUEUES - 1);
	/* Of these, one was destroyed there. */
	for (int i = 0; i < QUEUES; i++)
		work.destroyed += joulio_queue_destroy(queues[i]) == 0;
	CHECK(work.destroyed == QUEUES && joulio_group_destroy(group) == 0);
}

int main(void)
{
	controller = joulio_open(DEVICE, QUEUES, 0);
	for (int i = 0; i < QUEUES; i++) {
		queues[i] = joulio_queue_create(controller, 2, "poll");
		buffers[i] = joulio_buffer_alloc(controller, 4096);
		CHECK(queues[i] && buffers[i]);
	}
	misuse();
	together();
	left_over();
	event_loop();
	woken();
	callbacks();
	for (int i = 0; i < QUEUES; i++)
		CHECK(joulio_buffer_free(buffers[i]) == 0);
	CHECK(joulio_close(controller) == 0);
	return ended_badly();
}
