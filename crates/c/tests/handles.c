/* Handles that have ended, handles of the process that forked, and errno. Exit status 0: all as the header says. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "claims.h"

#define DEVICE "emulated:instant,size=16M"

/* A pointer used once more after its end names no other handle. */
static void ended_twice(void)
{
	struct joulio_controller *controller = joulio_open(DEVICE, 1, 0);

	for (int i = 0; i < 200; i++) {
		struct joulio_buffer *buffer = joulio_buffer_alloc(controller, 4096);

		CHECK(joulio_buffer_free(buffer) == 0);
		struct joulio_buffer *next = joulio_buffer_alloc(controller, 4096);

		CHECK(next && joulio_buffer_free(buffer) == -EBADF && says("buffer is not open"));
		CHECK(joulio_buffer_free(next) == 0);
	}
	CHECK(joulio_close(controller) == 0);
	controller = joulio_open(DEVICE, 1, 0);
	struct joulio_controller *other = joulio_open(DEVICE, 1, 0);

	CHECK(joulio_close(controller) == 0 && joulio_close(controller) == -EBADF);
	CHECK(joulio_close(other) == 0);
}

/* NULL comes with errno. */
static void errnos(void)
{
	errno = 0;
	CHECK(!joulio_open("emulated:no-such-profile", 1, 0) && errno != 0);
	errno = 0;
	CHECK(!joulio_queue_create(NULL, 1, "poll") && errno == EINVAL);
	struct joulio_controller *controller = joulio_open("emulated:instant,size=64M", 2, JOULIO_ALLOW_WRITE);
	struct joulio_volume *volume = joulio_volume_open(controller, "poll", JOULIO_VOLUME_FORMAT);

	CHECK(volume != NULL);
	errno = 0;
	CHECK(!joulio_file_open(volume, "a", 0) && errno == ENOENT);
	struct joulio_file *file = joulio_file_open(volume, "a", JOULIO_FILE_CREATE);

	errno = 0;
	CHECK(file && !joulio_file_open(volume, "a", JOULIO_FILE_CREATE | JOULIO_FILE_EXCLUSIVE) && errno == EEXIST);
	CHECK(joulio_file_close(file) == 0 && joulio_volume_close(volume) == 0);
	CHECK(joulio_close(controller) == 0);
}

/* A child of fork(2) cannot use or end what is the parent's, and can open its own. */
static void forked(void)
{
	struct joulio_controller *controller = joulio_open(DEVICE, 1, 0);
	struct joulio_queue *queue = joulio_queue_create(controller, 4, "poll");
	struct joulio_buffer *buffer = joulio_buffer_alloc(controller, 4096);
	struct joulio_completion done;
	uint32_t count = 1;
	int status = -1;

	CHECK(joulio_read(queue, 0, 1, buffer, 5) == 0);
	fflush(NULL);
	pid_t child = fork();

	if (child == 0) {
		struct joulio_io io = {.buffer = buffer, .blocks = 1, .opcode = JOULIO_READ};

		CHECK(joulio_ring(queue) == -EBADF && says("fork"));
		CHECK(joulio_read(queue, 0, 1, buffer, 6) == -EBADF && joulio_reap(queue, 0, 1, 0, &done) == -EBADF);
		CHECK(joulio_submit_and_wait(queue, &io, &count, 1, 1, -1, &done) == -EBADF && count == 0);
		CHECK(joulio_buffer_free(buffer) == -EBADF && joulio_queue_destroy(queue) == -EBADF);
		CHECK(joulio_close(controller) == -EBADF && says("controller is of the process that called fork(2)"));
		struct joulio_controller *own = joulio_open(DEVICE, 1, 0);

		CHECK(own && joulio_close(own) == 0);
		/* Another program, as what the child has of its parent's is lost at its end. */
		execlp(failures ? "false" : "true", "child", (char *)NULL);
		_exit(127);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	CHECK(ended(queue, 5) == 0);
	CHECK(joulio_buffer_free(buffer) == 0 && joulio_queue_destroy(queue) == 0);
	CHECK(joulio_close(controller) == 0);
}

static struct joulio_queue *last;
static int seen;

static void one(void *context, const struct joulio_completion *done)
{
	(void)context;
	seen += done->status == 0;
}

/* A queue is used in an exit handler too. */
static void at_exit(void)
{
	CHECK(joulio_ring(last) == 0 && joulio_reap_each(last, 1, 4, -1, one, NULL) == 1 && seen == 2);
	CHECK(joulio_queue_destroy(last) == 0);
	if (failures)
		_exit(1);
}

static void leave_a_queue(void)
{
	struct joulio_controller *controller = joulio_open(DEVICE, 1, 0);
	struct joulio_buffer *buffer = joulio_buffer_alloc(controller, 4096);

	last = joulio_queue_create(controller, 4, "poll");
	CHECK(!atexit(at_exit));
	CHECK(joulio_read(last, 0, 1, buffer, 1) == 0 && joulio_ring(last) == 0);
	CHECK(joulio_reap_each(last, 1, 4, -1, one, NULL) == 1 && seen == 1);
	CHECK(joulio_read(last, 0, 1, buffer, 2) == 0);
	CHECK(joulio_close(controller) == 0);
}

int main(void)
{
	ended_twice();
	errnos();
	forked();
	leave_a_queue();
	return ended_badly();
}
