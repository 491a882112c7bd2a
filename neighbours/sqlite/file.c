/* Files: reads, writes, and what SQLite may rely on. */
#include <errno.h>
#include <string.h>
#include "joulio_sqlite.h"

SQLITE_EXTENSION_INIT3

static struct open_file *of(sqlite3_file *file)
{
	return (struct open_file *)file;
}

/* The code of SQLite's for an errno of libjoulio's, `otherwise` for most. */
static int code(int error, int otherwise)
{
	switch (error) {
	case 0:
		return SQLITE_OK;
	case -ENOSPC:
	case -EFBIG:
		return SQLITE_FULL;
	case -EPERM:
		return SQLITE_READONLY;
	default:
		return complain(otherwise, "I/O");
	}
}

static int file_close(sqlite3_file *base)
{
	struct open_file *file = of(base);
	int result = SQLITE_OK;

	/* By synchronous=off SQLite has synced nothing, and sizes are lost with the process. */
	if (file->database)
		result = code(joulio_file_sync(file->file), SQLITE_IOERR_CLOSE);
	index_unmap(file);
	unlock(file, SQLITE_LOCK_NONE);
	node_leave(file->node);
	joulio_file_close(file->file);
	if (file->temporary)
		joulio_volume_remove(volume_that_is_open(), file->temporary);
	sqlite3_free(file->temporary);
	return result;
}

static int file_read(sqlite3_file *base, void *into, int length, sqlite3_int64 offset)
{
	struct joulio_file *file = of(base)->file;
	size_t done = 0;
	int error = file ? joulio_file_read(file, (uint64_t)offset, into, (size_t)length, &done) : 0;

	if (error)
		return code(error, SQLITE_IOERR_READ);
	if (done == (size_t)length)
		return SQLITE_OK;
	memset((char *)into + done, 0, (size_t)length - done);
	return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *from, int length, sqlite3_int64 offset)
{
	if (of(base)->read_only)
		return SQLITE_READONLY;
	return code(joulio_file_write(of(base)->file, (uint64_t)offset, from, (size_t)length),
		    SQLITE_IOERR_WRITE);
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	if (of(base)->read_only)
		return SQLITE_READONLY;
	return code(joulio_file_truncate(of(base)->file, (uint64_t)size), SQLITE_IOERR_TRUNCATE);
}

static int file_sync(sqlite3_file *base, int flags)
{
	struct joulio_file *file = of(base)->file;

	(void)flags;
	return file ? code(joulio_file_sync(file), SQLITE_IOERR_FSYNC) : SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
	struct joulio_file *file = of(base)->file;
	uint64_t bytes = 0;
	int error = file ? joulio_file_size(file, &bytes) : 0;

	*size = (sqlite3_int64)bytes;
	return code(error, SQLITE_IOERR_FSTAT);
}

static int file_lock(sqlite3_file *base, int level)
{
	return lock(of(base), level);
}

static int file_unlock(sqlite3_file *base, int level)
{
	return unlock(of(base), level);
}

static int file_reserved(sqlite3_file *base, int *held)
{
	*held = reserved(of(base));
	return SQLITE_OK;
}

/* PRAGMA joulio_counters: how the process waited until now. */
static char *counters(void)
{
	struct joulio_counters counted;

	if (joulio_volume_counters(volume_that_is_open(), &counted))
		return sqlite3_mprintf("%s", joulio_error());
	return sqlite3_mprintf("polls %llu, interrupts %llu, blocks %llu, sleeps %llu, pauses %llu",
			       counted.polls, counted.interrupts, counted.blocks, counted.sleeps,
			       counted.pauses);
}

static int file_control(sqlite3_file *base, int operation, void *argument)
{
	(void)base;
	if (operation == SQLITE_FCNTL_VFSNAME) {
		*(char **)argument = sqlite3_mprintf("joulio");
		return SQLITE_OK;
	}
	if (operation == SQLITE_FCNTL_PRAGMA) {
		char **words = argument;

		if (!sqlite3_stricmp(words[1], "joulio_counters")) {
			words[0] = counters();
			return SQLITE_OK;
		}
	}
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *base)
{
	(void)base;
	return 4096;
}

/* Blocks are written as a whole, and the rest of one is kept. Files can be removed while they are open: a connection must
 * not keep its journal open, which another may remove. A size is durable only with its data, but that is no
 * SQLITE_IOCAP_SAFE_APPEND: by journal_mode=persist the journal is written over, and what a power cut leaves of the one
 * before would be taken for a part of it. */
static int file_characteristics(sqlite3_file *base)
{
	(void)base;
	return SQLITE_IOCAP_ATOMIC512 | SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int file_index_map(sqlite3_file *base, int region, int size, int extend,
			  void volatile **mapped)
{
	return index_map(of(base), region, size, extend, mapped);
}

static int file_index_lock(sqlite3_file *base, int first, int count, int flags)
{
	return index_lock(of(base), first, count, flags);
}

static void file_index_barrier(sqlite3_file *base)
{
	(void)base;
	index_barrier();
}

/* `remove` comes with the last connection only, with which the index goes anyway. */
static int file_index_unmap(sqlite3_file *base, int remove)
{
	(void)remove;
	index_unmap(of(base));
	return SQLITE_OK;
}

const sqlite3_io_methods file_methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_characteristics,
	.xShmMap = file_index_map,
	.xShmLock = file_index_lock,
	.xShmBarrier = file_index_barrier,
	.xShmUnmap = file_index_unmap,
};
