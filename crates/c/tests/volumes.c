/* Volumes and files of joulio.h, used well and badly. Exit status 0: all as the header says. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include "claims.h"

#define DEVICE "emulated:instant,size=16M"

static void collect(void *context, const char *name)
{
	strcat(context, name);
	strcat(context, " ");
}

static void misuse(void)
{
	struct joulio_controller *reader = joulio_open(DEVICE, 1, 0);
	struct joulio_counters counters;
	uint64_t size = 0;
	char byte = 0;

	CHECK(!joulio_volume_open(NULL, "poll", 0) && says("controller is NULL"));
	CHECK(!joulio_volume_open(reader, "pol", 0) && says("pol"));
	CHECK(!joulio_volume_open(reader, "interrupt", 0) && says("no volume on the device"));
	CHECK(!joulio_volume_open(reader, "interrupt", JOULIO_VOLUME_FORMAT) &&
	      says("JOULIO_ALLOW_WRITE"));
	CHECK(!joulio_volume_open(reader, "interrupt", JOULIO_ALLOW_WRITE) && says("joulio_open()"));
	CHECK(!joulio_volume_open(reader, "interrupt", JOULIO_VOLUME_OVERWRITE));
	CHECK(joulio_close(reader) == 0);
	CHECK(joulio_volume_close(NULL) == 0 && joulio_file_close(NULL) == 0);
	CHECK(joulio_volume_sync(NULL) == -EINVAL && says("volume is NULL"));
	CHECK(joulio_volume_stat(NULL, "a", NULL) == -EINVAL);
	CHECK(joulio_volume_remove(NULL, "a") == -EINVAL);
	CHECK(joulio_volume_rename(NULL, "a", "b") == -EINVAL);
	CHECK(joulio_volume_names(NULL, NULL, collect, NULL) == -EINVAL);
	CHECK(joulio_volume_space(NULL, NULL, NULL) == -EINVAL);
	CHECK(joulio_volume_counters(NULL, &counters) == -EINVAL);
	CHECK(!joulio_file_open(NULL, "a", 0) && says("volume is NULL"));
	CHECK(joulio_file_read(NULL, 0, &byte, 1, NULL) == -EINVAL && says("file is NULL"));
	CHECK(joulio_file_read_many(NULL, NULL, 0) == -EINVAL);
	CHECK(!joulio_file_read_start(NULL, 0, &byte, 1) && says("file is NULL"));
	CHECK(joulio_file_read_wait(NULL, NULL) == -EINVAL && says("started is NULL"));
	CHECK(joulio_file_read_cancel(NULL) == 0);
	CHECK(joulio_file_write(NULL, 0, &byte, 1) == -EINVAL);
	CHECK(joulio_file_append(NULL, &byte, 1, NULL) == -EINVAL);
	CHECK(joulio_file_truncate(NULL, 0) == -EINVAL);
	CHECK(joulio_file_sync(NULL) == -EINVAL);
	CHECK(joulio_file_size(NULL, &size) == -EINVAL);
}

/* Reads in flight at once: waited for in another order, cancelled with their memory freed, and left by their file. */
static void started_reads(struct joulio_volume *volume)
{
	enum { LENGTH = 300000, READS = 8 };
	struct joulio_file *file = joulio_file_open(volume, "c", JOULIO_FILE_CREATE);
	struct joulio_started_read *reads[READS];
	unsigned char *written = malloc(LENGTH), *memory[READS];
	size_t done = 0;

	for (int i = 0; i < LENGTH; i++)
		written[i] = i / 512 * 7 + i % 251;
	CHECK(joulio_file_write(file, 0, written, LENGTH) == 0);
	CHECK(!joulio_file_read_start(file, 0, NULL, 1) && says("into is NULL"));
	for (int i = 0; i < READS; i++) {
		memory[i] = malloc(LENGTH);
		reads[i] = joulio_file_read_start(file, 1000 * i, memory[i], LENGTH);
		CHECK(reads[i] != NULL);
	}
	for (int i = 0; i < READS; i += 2) {
		CHECK(joulio_file_read_cancel(reads[i]) == 0);
		free(memory[i]);
	}
	CHECK(joulio_file_read_cancel(reads[0]) == -EBADF && says("started is not open"));
	CHECK(joulio_file_close(file) == 0);
	for (int i = READS - 1; i > 0; i -= 2) {
		CHECK(joulio_file_read_wait(reads[i], &done) == 0);
		CHECK(done == LENGTH - 1000u * i && !memcmp(memory[i], written + 1000 * i, done));
		free(memory[i]);
	}
	CHECK(joulio_file_read_wait(reads[1], &done) == -EBADF);
	free(written);
	CHECK(joulio_volume_remove(volume, "c") == 0);
}

struct half {
	struct joulio_file *file;
	unsigned long long offset;
	int failed;
};

static void *write_half(void *argument)
{
	struct half *half = argument;
	char bytes[1000];

	memset(bytes, 'a' + half->offset % 26, sizeof(bytes));
	for (int round = 0; round < 50; round++)
		half->failed |= joulio_file_write(half->file, half->offset + 2000 * round, bytes,
						  sizeof(bytes));
	return NULL;
}

static void use(void)
{
	struct joulio_controller *controller = joulio_open(DEVICE, 2, JOULIO_ALLOW_WRITE);
	struct joulio_volume *volume =
		joulio_volume_open(controller, "interrupt", JOULIO_VOLUME_FORMAT);
	struct joulio_counters counters;
	char names[256] = "", bytes[3000] = "";
	uint64_t size = 0, total = 0, left = 0, offset = 0;
	size_t done = 0;

	CHECK(volume != NULL);
	CHECK(!joulio_file_open(volume, "a", 0) && says("no such file"));
	CHECK(!joulio_file_open(volume, "a", 8) && says("JOULIO_FILE_CREATE"));
	CHECK(!joulio_file_open(volume, "", JOULIO_FILE_CREATE) && says("255 bytes"));
	CHECK(!joulio_file_open(volume, NULL, 0) && says("name is NULL"));
	struct joulio_file *file = joulio_file_open(volume, "a", JOULIO_FILE_CREATE);
	CHECK(file != NULL);
	CHECK(!joulio_file_open(volume, "a", JOULIO_FILE_CREATE | JOULIO_FILE_EXCLUSIVE) &&
	      says("already"));
	CHECK(joulio_file_write(file, 0, NULL, 1) == -EINVAL && says("from is NULL"));
	CHECK(joulio_file_read(file, 0, NULL, 1, NULL) == -EINVAL && says("into is NULL"));
	CHECK(joulio_file_write(file, 0, "joules", 6) == 0);
	CHECK(joulio_file_append(file, " per I/O", 8, &offset) == 0 && offset == 6);
	CHECK(joulio_file_size(file, &size) == 0 && size == 14);
	CHECK(joulio_file_read(file, 0, bytes, sizeof(bytes), &done) == 0 && done == 14);
	CHECK(!strcmp(bytes, "joules per I/O"));
	CHECK(joulio_file_truncate(file, 6) == 0 && joulio_file_sync(file) == 0);
	CHECK(joulio_volume_stat(volume, "a", &size) == 0 && size == 6);
	CHECK(joulio_volume_stat(volume, "b", NULL) == -ENOENT && says("b:"));
	CHECK(joulio_file_truncate(file, 1ull << 60) == -EFBIG);

	struct half halves[2] = {{file, 10, 0}, {file, 1010, 0}};
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, write_half, &halves[i]));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], NULL) && !halves[i].failed);
	struct joulio_file_part parts[2] = {{10, bytes, 1000, 0}, {1010 + 2000 * 49, bytes + 1000, 2000, 0}};
	CHECK(joulio_file_read_many(file, parts, 2) == 0);
	CHECK(parts[0].done == 1000 && parts[1].done == 1000);
	for (int i = 0; i < 2000; i++)
		if (bytes[i] != (i < 1000 ? 'a' + 10 : 'a' + 1010 % 26)) {
			CHECK(!"the bytes that were written");
			break;
		}

	started_reads(volume);
	struct joulio_file *other = joulio_file_open(volume, "db/b", JOULIO_FILE_CREATE);
	CHECK(joulio_volume_names(volume, NULL, collect, names) == 2 && !strcmp(names, "a db/b "));
	CHECK(joulio_volume_names(volume, "db/", NULL, NULL) == -EINVAL && says("each is NULL"));
	CHECK(joulio_volume_rename(volume, "a", "db/b") == 0);
	CHECK(joulio_volume_names(volume, "db/", collect, names) == 1);
	CHECK(joulio_volume_remove(volume, "a") == -ENOENT);
	CHECK(joulio_volume_space(volume, &total, &left) == 0 && left < total);
	CHECK(joulio_volume_counters(volume, &counters) == 0 && counters.polls > 0);
	CHECK(joulio_file_close(other) == 0);
	CHECK(joulio_file_close(other) == -EBADF && says("not open"));
	CHECK(joulio_volume_sync(volume) == 0);

	CHECK(!joulio_volume_open(controller, "interrupt", 64) && says("flags 0x40"));
	/* A file and a volume outlive what they are of. */
	CHECK(joulio_close(controller) == 0);
	CHECK(joulio_volume_close(volume) == 0);
	CHECK(joulio_volume_sync(volume) == -EBADF && says("volume is not open"));
	CHECK(joulio_file_read(file, 0, bytes, 6, &done) == 0 && !memcmp(bytes, "joules", 6));
	CHECK(joulio_file_close(file) == 0);
}

int main(void)
{
	misuse();
	use();
	return ended_badly();
}
