/* Memory of one's own, arenas, parts of buffers and lists of them, used well and badly. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "claims.h"

#define DEVICE "emulated:instant,size=16M"
#define PAGE 4096
#define BLOCK 512

static struct joulio_controller *controller;
static struct joulio_queue *queue;

/* Whether all bytes are this one. */
static int all(const unsigned char *bytes, size_t length, int byte)
{
	for (size_t at = 0; at < length; at++)
		if (bytes[at] != byte)
			return 0;
	return 1;
}

static void *data(struct joulio_buffer *buffer)
{
	return joulio_buffer_data(buffer);
}

/* Blocks from 0 on, each with its own number in all bytes. */
static void number_blocks(int blocks)
{
	struct joulio_buffer *buffer = joulio_buffer_alloc(controller, (size_t)blocks * BLOCK), *back;
	unsigned char *bytes = data(buffer);

	for (int i = 0; i < blocks; i++)
		memset(bytes + i * BLOCK, i, BLOCK);
	CHECK(joulio_write(queue, 0, blocks, buffer, 1) == 0 && ended_with(queue, 1, &back) == 0 && back == buffer);
	CHECK(joulio_buffer_free(buffer) == 0);
}

static void arenas(void)
{
	struct joulio_buffer *back;

	CHECK(!joulio_arena_alloc(NULL, PAGE) && says("controller is NULL"));
	CHECK(!joulio_arena_alloc(controller, 0) && says("0 bytes"));
	CHECK(!joulio_arena_alloc(controller, SIZE_MAX) && says("more than memory can hold"));
	CHECK(!joulio_arena_alloc(controller, SIZE_MAX / 2 + 1) && says("more than memory can hold"));
	CHECK(!joulio_arena_alloc(controller, SIZE_MAX / 2) && says("cannot allocate"));
	CHECK(!joulio_arena_take(NULL, 1) && says("arena is NULL"));
	CHECK(!joulio_arena_take_at(NULL, 0, 1) && says("arena is NULL"));
	CHECK(joulio_arena_length(NULL) == 0 && joulio_arena_free(NULL) == 0);
	struct joulio_arena *arena = joulio_arena_alloc(controller, 4 * PAGE);
	CHECK(arena && joulio_arena_length(arena) == 4 * PAGE);
	CHECK(!joulio_arena_take(arena, 0) && says("0 bytes"));
	CHECK(!joulio_arena_take(arena, 5 * PAGE) && says("left"));
	struct joulio_buffer *first = joulio_arena_take(arena, PAGE);
	struct joulio_buffer *third = joulio_arena_take_at(arena, 2 * PAGE, 100);
	CHECK(first && third && joulio_buffer_length(third) == 100);
	CHECK((char *)data(third) == (char *)data(first) + 2 * PAGE);
	CHECK(!joulio_arena_take_at(arena, 2 * PAGE + 96, 4) && says("not free"));
	CHECK(!joulio_arena_take_at(arena, 2, 4) && says("multiple of 4"));
	CHECK(!joulio_arena_take_at(arena, 4 * PAGE, 4) && says("not inside"));
	/* What is freed goes back. */
	CHECK(joulio_buffer_free(first) == 0);
	struct joulio_buffer *again = joulio_arena_take_at(arena, 0, 2 * PAGE);
	CHECK(again != NULL);
	CHECK(joulio_read(queue, 3, 1, again, 2) == 0 && ended_with(queue, 2, &back) == 0);
	CHECK(all(data(again), BLOCK, 3));
	/* Buffers outlive the arena. */
	CHECK(joulio_arena_free(arena) == 0);
	CHECK(joulio_arena_free(arena) == -EBADF && says("arena is not open"));
	CHECK(!joulio_arena_take(arena, 1) && says("arena is not open"));
	CHECK(joulio_read(queue, 4, 1, again, 2) == 0 && ended_with(queue, 2, &back) == 0);
	CHECK(all(data(again), BLOCK, 4));
	CHECK(joulio_buffer_free(again) == 0 && joulio_buffer_free(third) == 0);
}

static size_t unmapped;

static void unmap(void *base, size_t length)
{
	unmapped += length;
	munmap(base, length);
}

static void *mapping(size_t length)
{
	void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(base, length, MADV_DONTFORK);
	return base == MAP_FAILED ? NULL : base;
}

static void own_memory(void)
{
	size_t length = 64 * PAGE;
	unsigned char *base = mapping(length);
	struct joulio_buffer *back;

	CHECK(!joulio_arena_register(NULL, base, length, unmap) && says("controller is NULL"));
	CHECK(!joulio_arena_register(controller, NULL, length, unmap) && says("base is NULL"));
	CHECK(!joulio_arena_register(controller, base, 0, unmap) && says("0 bytes"));
	CHECK(!joulio_arena_register(controller, base, 100, unmap) && says("pages"));
	CHECK(!joulio_arena_register(controller, base + 4, PAGE, unmap) && says("pages"));
	/* Not there, or not to be written. */
	unsigned char *other = mapping(2 * PAGE);
	munmap(other + PAGE, PAGE);
	CHECK(!joulio_arena_register(controller, other, 2 * PAGE, unmap) && says("not all mapped"));
	mprotect(other, PAGE, PROT_READ);
	CHECK(!joulio_arena_register(controller, other, PAGE, unmap) && says("writable"));
	munmap(other, PAGE);
	CHECK(unmapped == 0);

	struct joulio_arena *arena = joulio_arena_register(controller, base, length, unmap);
	CHECK(arena && joulio_arena_length(arena) == length);
	struct joulio_buffer *frame = joulio_arena_take_at(arena, 7 * PAGE, PAGE);
	CHECK(data(frame) == base + 7 * PAGE);
	CHECK(joulio_read(queue, 8, 8, frame, 5) == 0 && ended_with(queue, 5, &back) == 0 && back == frame);
	for (int i = 0; i < 8; i++)
		CHECK(all(base + 7 * PAGE + i * BLOCK, BLOCK, 8 + i));
	/* The program's memory again once the last of it has gone. */
	CHECK(joulio_arena_free(arena) == 0 && unmapped == 0);
	CHECK(joulio_buffer_free(frame) == 0 && unmapped == length);

	/* Without a function the memory is the program's for ever. */
	static _Alignas(PAGE) unsigned char own[PAGE];
	arena = joulio_arena_register(controller, own, PAGE, NULL);
	CHECK(arena != NULL);
	frame = joulio_arena_take(arena, PAGE);
	CHECK(joulio_read(queue, 9, 1, frame, 6) == 0 && ended_with(queue, 6, &back) == 0 && all(own, BLOCK, 9));
	CHECK(joulio_buffer_free(frame) == 0 && joulio_arena_free(arena) == 0);
	CHECK(unmapped == length);
}

static void files(void)
{
	int memory = memfd_create("cache", MFD_CLOEXEC), disk = open("/proc/self/exe", O_RDONLY);
	struct joulio_buffer *back;
	unsigned char bytes[BLOCK];

	CHECK(memory >= 0 && ftruncate(memory, 8 * PAGE) == 0);
	CHECK(!joulio_arena_map(NULL, memory, 0, PAGE) && says("controller is NULL"));
	CHECK(!joulio_arena_map(controller, -1, 0, PAGE) && says("fd -1"));
	CHECK(!joulio_arena_map(controller, 1000, 0, PAGE) && says("fd 1000: Bad file descriptor"));
	CHECK(!joulio_arena_map(controller, disk, 0, PAGE) && *joulio_error());
	CHECK(!joulio_arena_map(controller, memory, 0, 0) && says("0 bytes"));
	CHECK(!joulio_arena_map(controller, memory, PAGE, 8 * PAGE) && says("hold the range"));
	CHECK(!joulio_arena_map(controller, memory, 100, PAGE) && *joulio_error());
	struct joulio_arena *arena = joulio_arena_map(controller, memory, PAGE, 4 * PAGE);
	CHECK(arena && joulio_arena_length(arena) == 4 * PAGE);
	struct joulio_buffer *buffer = joulio_arena_take_at(arena, PAGE, PAGE);
	CHECK(joulio_read(queue, 11, 1, buffer, 3) == 0 && ended_with(queue, 3, &back) == 0);
	CHECK(pread(memory, bytes, BLOCK, 2 * PAGE) == BLOCK && all(bytes, BLOCK, 11));
	CHECK(joulio_arena_free(arena) == 0 && joulio_buffer_free(buffer) == 0);
	close(memory);
	close(disk);
}

static void parts_of_buffers(void)
{
	struct joulio_buffer *buffer = joulio_buffer_alloc(controller, PAGE), *back;
	unsigned char *bytes = data(buffer);

	CHECK(joulio_read_at(NULL, 0, 1, buffer, 0, 0) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_write_at(NULL, 0, 1, buffer, 0, 0) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_read_at(queue, 0, 1, NULL, 0, 0) == -EINVAL && says("buffer is NULL"));
	CHECK(joulio_read_at(queue, 0, 1, buffer, PAGE - 4, 0) == -EINVAL && says("shorter"));
	CHECK(joulio_read_at(queue, 0, 1, buffer, 2, 0) == -EINVAL && *joulio_error());
	CHECK(joulio_read_at(queue, 0, 1, buffer, (size_t)-4, 0) == -EINVAL);
	memset(bytes, 0xee, PAGE);
	CHECK(joulio_read_at(queue, 5, 2, buffer, 1028, 4) == 0 && ended_with(queue, 4, &back) == 0 && back == buffer);
	CHECK(all(bytes, 1028, 0xee) && all(bytes + 1028, BLOCK, 5) && all(bytes + 1540, BLOCK, 6));
	CHECK(all(bytes + 2052, PAGE - 2052, 0xee));
	CHECK(joulio_write_at(queue, 20, 1, buffer, 1540, 4) == 0 && ended_with(queue, 4, &back) == 0);
	CHECK(joulio_read(queue, 20, 1, buffer, 4) == 0 && ended_with(queue, 4, &back) == 0 && all(bytes, BLOCK, 6));

	CHECK(!joulio_buffer_split(NULL, 4) && says("buffer is NULL"));
	size_t wrong[] = {0, 6, PAGE, PAGE + 4};
	for (int i = 0; i < 4; i++)
		CHECK(!joulio_buffer_split(buffer, wrong[i]) && says("not split"));
	struct joulio_buffer *rest = joulio_buffer_split(buffer, 1024);
	struct joulio_buffer *end = joulio_buffer_split(rest, 2048);
	CHECK(rest && end && data(rest) == bytes + 1024 && data(end) == bytes + 3072);
	CHECK(joulio_buffer_length(buffer) == 1024 && joulio_buffer_length(end) == 1024);
	/* Each goes its own way, both in flight at once. */
	CHECK(joulio_read(queue, 3, 2, buffer, 7) == 0 && joulio_read(queue, 9, 2, end, 8) == 0);
	CHECK(!joulio_buffer_split(buffer, 4) && says("in flight"));
	CHECK(joulio_buffer_join(buffer, rest) == -EBUSY && says("in flight"));
	CHECK(joulio_buffer_join(rest, end) == -EBUSY && says("in flight"));
	CHECK(joulio_buffer_length(rest) == 2048);
	struct joulio_completion done[2];
	CHECK(joulio_ring(queue) == 0 && joulio_reap(queue, 2, 2, -1, done) == 2);
	CHECK(bytes[0] == 3 && bytes[3072] == 9);
	CHECK(joulio_buffer_join(buffer, NULL) == -EINVAL && says("buffer is NULL"));
	CHECK(joulio_buffer_join(NULL, rest) == -EINVAL && says("buffer is NULL"));
	CHECK(joulio_buffer_join(buffer, end) == -EINVAL && says("does not begin"));
	CHECK(joulio_buffer_join(buffer, buffer) == -EBUSY);
	CHECK(joulio_buffer_join(buffer, rest) == 0 && joulio_buffer_join(buffer, end) == 0);
	CHECK(joulio_buffer_length(buffer) == PAGE);
	CHECK(joulio_buffer_free(rest) == -EBADF && joulio_buffer_free(end) == -EBADF);
	CHECK(joulio_read(queue, 24, 8, buffer, 9) == 0 && ended_with(queue, 9, &back) == 0 && bytes[PAGE - 1] == 31);
	CHECK(joulio_buffer_free(buffer) == 0);
}

/* Parts of a list are what it reads into and writes from, in its order. */
static void lists(void)
{
	struct joulio_controller *reader = joulio_open(DEVICE, 1, 0);
	struct joulio_queue *reads = joulio_queue_create(reader, 2, "poll");
	struct joulio_buffer *pages[4], *back, *foreign = joulio_buffer_alloc(reader, PAGE);
	struct joulio_part parts[4];
	unsigned char command[64] = {0};

	number_blocks(32);
	CHECK(joulio_buffer_alloc_many(controller, 4, PAGE, pages) == 0);
	for (int i = 0; i < 4; i++)
		parts[i] = (struct joulio_part){.buffer = pages[3 - i], .offset = 0, .length = PAGE};
	CHECK(joulio_readv(NULL, 0, 32, parts, 4, 0) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_writev(NULL, 0, 32, parts, 4, 0) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_submitv(NULL, command, parts, 4, 0) == -EINVAL && says("queue is NULL"));
	CHECK(joulio_readv(queue, 0, 32, NULL, 4, 0) == -EINVAL && says("parts is NULL"));
	CHECK(joulio_readv(queue, 0, 32, parts, 0, 0) == -EINVAL && says("count is 0"));
	CHECK(joulio_readv(queue, 0, 33, parts, 4, 0) == -EINVAL && says("shorter"));
	CHECK(joulio_readv(queue, 1ull << 60, 32, parts, 4, 0) == -EINVAL && says("outside"));
	CHECK(joulio_writev(reads, 0, 32, parts, 4, 0) == -EPERM && says("JOULIO_ALLOW_WRITE"));
	command[0] = 0x01; /* Write */
	CHECK(joulio_submitv(reads, command, parts, 4, 0) == -EPERM && says("JOULIO_ALLOW_WRITE"));
	CHECK(joulio_submitv(queue, NULL, parts, 4, 0) == -EINVAL && says("command is NULL"));
	parts[2].length = PAGE + 4;
	CHECK(joulio_readv(queue, 0, 8, parts, 4, 0) == -EINVAL && says("of a buffer of 4096"));
	parts[2].offset = (size_t)-4;
	CHECK(joulio_readv(queue, 0, 8, parts, 4, 0) == -EINVAL && says("of a buffer of 4096"));
	parts[2] = (struct joulio_part){.buffer = NULL, .length = PAGE};
	CHECK(joulio_readv(queue, 0, 8, parts, 4, 0) == -EINVAL && says("buffer is NULL"));
	parts[2].buffer = foreign;
	CHECK(joulio_readv(queue, 0, 8, parts, 4, 0) == -EINVAL && says("another device"));
	parts[2].buffer = pages[0];
	CHECK(joulio_readv(queue, 0, 8, parts, 4, 0) == -EBUSY);
	parts[2].buffer = pages[1];
	/* After all that the buffers are the caller's. */
	CHECK(joulio_outstanding(queue) == 0);
	CHECK(joulio_readv(queue, 0, 32, parts, 4, 12) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(joulio_buffer_free(pages[i]) == -EBUSY && says("in flight"));
	CHECK(joulio_readv(queue, 0, 32, parts, 4, 13) == -EBUSY);
	CHECK(ended_with(queue, 12, &back) == 0 && back == pages[3]);
	for (int i = 0; i < 32; i++)
		CHECK(all((unsigned char *)data(pages[3 - i / 8]) + i % 8 * BLOCK, BLOCK, i));
	/* Backwards. */
	for (int i = 0; i < 4; i++)
		parts[i].buffer = pages[i];
	CHECK(joulio_writev(queue, 0, 32, parts, 4, 14) == 0 && ended_with(queue, 14, &back) == 0 && back == pages[0]);
	command[0] = 0x02; /* Read of 16 blocks */
	command[48] = 15;
	CHECK(joulio_submitv(queue, command, parts, 2, 15) == 0 && ended_with(queue, 15, &back) == 0);
	CHECK(all(data(pages[0]), BLOCK, 24) && all(data(pages[1]), BLOCK, 16));
	/* A list of one, and one of parts that are no pages, by SGLs. */
	CHECK(joulio_readv(queue, 0, 8, parts, 1, 16) == 0 && ended_with(queue, 16, &back) == 0 && back == pages[0]);
	unsigned char *first = data(pages[0]), *second = data(pages[1]);
	memset(second, 0xee, PAGE);
	parts[0] = (struct joulio_part){.buffer = pages[0], .offset = 100, .length = BLOCK};
	parts[1] = (struct joulio_part){.buffer = pages[1], .offset = 4, .length = 3 * BLOCK};
	CHECK(joulio_readv(queue, 8, 4, parts, 2, 17) == 0 && ended_with(queue, 17, &back) == 0);
	CHECK(first[99] == 24 && all(first + 100, BLOCK, 16) && second[3] == 0xee);
	for (int i = 0; i < 3; i++)
		CHECK(all(second + 4 + i * BLOCK, BLOCK, 17 + i));
	CHECK(second[4 + 3 * BLOCK] == 0xee);
	parts[0].offset = 102;
	CHECK(joulio_readv(queue, 8, 4, parts, 2, 18) == -EINVAL && *joulio_error());
	/* A queue that is destroyed with a list in flight: its buffers are freed. */
	struct joulio_buffer *lost[2];
	CHECK(joulio_buffer_alloc_many(reader, 2, PAGE, lost) == 0);
	for (int i = 0; i < 2; i++)
		parts[i] = (struct joulio_part){.buffer = lost[i], .offset = 0, .length = PAGE};
	CHECK(joulio_readv(reads, 0, 16, parts, 2, 0) == 0);
	CHECK(joulio_buffer_data(lost[0]) && joulio_buffer_free(lost[1]) == -EBUSY);
	CHECK(joulio_queue_destroy(reads) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(joulio_buffer_data(lost[i]) == NULL && joulio_buffer_free(lost[i]) == 0);
		CHECK(joulio_buffer_free(lost[i]) == -EBADF);
	}
	for (int i = 0; i < 4; i++)
		CHECK(joulio_buffer_free(pages[i]) == 0);
	CHECK(joulio_buffer_free(foreign) == 0 && joulio_close(reader) == 0);
}

int main(void)
{
	controller = joulio_open(DEVICE, 1, JOULIO_ALLOW_WRITE);
	queue = joulio_queue_create(controller, 4, "poll");
	CHECK(controller && queue);
	if (!queue)
		return ended_badly();
	number_blocks(32);
	arenas();
	own_memory();
	files();
	parts_of_buffers();
	lists();
	CHECK(joulio_queue_destroy(queue) == 0 && joulio_close(controller) == 0);
	return ended_badly();
}
