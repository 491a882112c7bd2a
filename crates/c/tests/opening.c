/* Controllers, their namespaces and the options to open them with, used well and badly. Exit status 0: all as the
 * header says. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdint.h>
#include "claims.h"

#define DEVICE "emulated:instant,size=16M"

/* A program that was compiled with the header of another library. */
static void interface(void)
{
	CHECK(joulio_check_interface(JOULIO_INTERFACE) == 0);
	CHECK(joulio_check_interface(JOULIO_INTERFACE + 1) == -EPROTONOSUPPORT && says("joulio.h"));
}

/* A handle of a namespace keeps the controller, and shares its buffers and its permission to write. */
static void namespaces(void)
{
	struct joulio_controller *writer = joulio_open(DEVICE, 2, JOULIO_ALLOW_WRITE);
	struct joulio_controller *reader = joulio_open(DEVICE, 1, 0);
	struct joulio_controller *same = joulio_namespace_open(writer, 1);
	struct joulio_controller *other = joulio_namespace_open(reader, 1);
	struct joulio_buffer *buffer = joulio_buffer_alloc(writer, 4096);
	struct joulio_namespace ns;

	CHECK(!joulio_namespace_open(writer, 0) && says("no active namespace 0"));
	CHECK(!joulio_namespace_open(writer, 2) && says("no active namespace 2; it has: 1"));
	CHECK(same && joulio_namespace_info(same, &ns) == 0 && ns.nsid == 1);
	CHECK(joulio_close(writer) == 0);
	struct joulio_queue *queue = joulio_queue_create(same, 1, "poll");
	CHECK(joulio_write(queue, 0, 8, buffer, 3) == 0 && ended(queue, 3) == 0);
	struct joulio_queue *reads = joulio_queue_create(other, 1, "poll");
	struct joulio_buffer *own = joulio_buffer_alloc(other, 4096);
	CHECK(joulio_write(reads, 0, 8, own, 4) == -EPERM && says("JOULIO_ALLOW_WRITE"));
	CHECK(joulio_read(reads, 0, 8, own, 4) == 0 && ended(reads, 4) == 0);
	CHECK(joulio_queue_destroy(queue) == 0 && joulio_queue_destroy(reads) == 0);
	CHECK(joulio_buffer_free(buffer) == 0 && joulio_buffer_free(own) == 0);
	CHECK(joulio_close(same) == 0 && joulio_close(same) == -EBADF);
	CHECK(joulio_close(reader) == 0 && joulio_close(other) == 0);
}

/* Options of a program that is as old as the library, older or newer. */
static void options(void)
{
	struct {
		struct joulio_options known;
		uint64_t more[2];
	} newer = {.known = {.size = sizeof newer}};
	struct joulio_options given = {.size = sizeof given};
	struct joulio_controller *controller = joulio_open_with(DEVICE, 0, NULL);
	unsigned char command[64] = {0};
	uint32_t result = 0;

	CHECK(controller && joulio_close(controller) == 0);
	CHECK(!joulio_open_with(NULL, 0, &given) && says("device is NULL"));
	CHECK(!joulio_open_with("nvme0", 0, &given) && says("nvme0"));
	CHECK(!joulio_open_with(DEVICE, 6, &given) && says("JOULIO_ALLOW_WRITE"));
	given.size = 0;
	CHECK(!joulio_open_with(DEVICE, 0, &given) && says("sizeof(struct joulio_options)"));
	given.size = sizeof given - 4;
	CHECK(!joulio_open_with(DEVICE, 0, &given) && says("sizeof(struct joulio_options)"));
	given.size = SIZE_MAX;
	CHECK(!joulio_open_with(DEVICE, 0, &given) && says("sizeof(struct joulio_options)"));
	/* A newer program's, which sets nothing that is new, or does. */
	controller = joulio_open_with(DEVICE, 0, &newer.known);
	CHECK(controller && joulio_close(controller) == 0);
	newer.more[1] = 1;
	CHECK(!joulio_open_with(DEVICE, 0, &newer.known) && says("newer libjoulio"));
	given = (struct joulio_options){.size = sizeof given, .queues = 65536};
	CHECK(!joulio_open_with(DEVICE, 0, &given) && says("options.queues is 65536: at most 65535"));
	given = (struct joulio_options){.size = sizeof given, .retries = 256};
	CHECK(!joulio_open_with(DEVICE, 0, &given) && says("options.retries is 256: at most 255"));
	given = (struct joulio_options){.size = sizeof given, .no_sgls = 2};
	CHECK(!joulio_open_with(DEVICE, 0, &given) && says("options.no_sgls is 2: 0 or 1"));
	given = (struct joulio_options){.size = sizeof given, .no_host_memory = 2};
	CHECK(!joulio_open_with(DEVICE, 0, &given) && says("options.no_host_memory is 2: 0 or 1"));
	given = (struct joulio_options){.size = sizeof given, .admin_timeout_ns = 999999};
	CHECK(!joulio_open_with(DEVICE, 0, &given) && says("options.admin_timeout_ns is 999999"));
	given = (struct joulio_options){.size = sizeof given, .io_timeout_ns = 1};
	CHECK(!joulio_open_with(DEVICE, 0, &given) && says("options.io_timeout_ns is 1"));

	given = (struct joulio_options){
		.size = sizeof given,
		.admin_timeout_ns = 120000000000,
		.io_timeout_ns = 120000000000,
		.host_memory_max = 1 << 20,
		.queues = 1,
		.retries = 3,
		.no_sgls = 1,
	};
	controller = joulio_open_with(DEVICE ",hmb=1M", JOULIO_ALLOW_WRITE, &given);
	struct joulio_queue *queue = joulio_queue_create(controller, 2, "poll");
	CHECK(controller && queue);
	CHECK(!joulio_queue_create(controller, 2, "poll") && *joulio_error());
	/* Parts that are no pages take SGLs. */
	struct joulio_buffer *buffers[2];
	CHECK(joulio_buffer_alloc_many(controller, 2, 4096, buffers) == 0);
	struct joulio_part parts[2] = {
		{.buffer = buffers[0], .offset = 100, .length = 512},
		{.buffer = buffers[1], .offset = 4, .length = 512},
	};
	CHECK(joulio_readv(queue, 0, 2, parts, 2, 1) == -EINVAL && *joulio_error());
	CHECK(joulio_write(queue, 0, 8, buffers[0], 2) == 0 && ended(queue, 2) == 0);
	command[0] = 0x0a; /* Get Features: Host Memory Buffer */
	command[40] = 0x0d;
	CHECK(joulio_admin(controller, command, NULL, 0, &result) == 0 && result == 1);
	CHECK(joulio_queue_destroy(queue) == 0 && joulio_close(controller) == 0);
	CHECK(joulio_buffer_free(buffers[0]) == 0 && joulio_buffer_free(buffers[1]) == 0);
	given = (struct joulio_options){.size = sizeof given, .no_host_memory = 1};
	controller = joulio_open_with(DEVICE ",hmb=1M", 0, &given);
	CHECK(joulio_admin(controller, command, NULL, 0, &result) == 0 && result == 0);
	CHECK(joulio_close(controller) == 0);
}

int main(void)
{
	interface();
	namespaces();
	options();
	return ended_badly();
}
