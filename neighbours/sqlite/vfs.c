/* The VFS "joulio": names on the volume; files that no one shall find again are the system's. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "joulio_sqlite.h"

SQLITE_EXTENSION_INIT1

/* The VFS that was the default: for temporary files, random numbers, sleeping and time. */
static sqlite3_vfs *under;

/* Files that live as long as they are open, and need not survive anything. */
#define SHORT_LIVED                                                                                \
	(SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_TRANSIENT_DB |               \
	 SQLITE_OPEN_SUBJOURNAL)

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *base, int flags, int *got)
{
	struct open_file *file = (struct open_file *)base;
	struct joulio_volume *volume;
	unsigned int how = flags & SQLITE_OPEN_CREATE ? JOULIO_FILE_CREATE : 0;
	int writes;

	(void)vfs;
	if (!name || flags & SHORT_LIVED)
		return under->xOpen(under, name, base, flags, got);
	memset(file, 0, sizeof(*file));
	volume = volume_for(name);
	if (!volume)
		return SQLITE_CANTOPEN;
	writes = volume_is_written();
	/* The names of logs and journals may have no parameters; SQLite opens them as their database allows. */
	if (flags & SQLITE_OPEN_MAIN_DB) {
		int wanted = is_to_be_written(name);

		if (wanted && !writes) {
			fprintf(stderr, "joulio: %s: allow_write=1 comes too late: this process has the volume open "
					"to be read, as its first database was opened without it\n", name);
			return SQLITE_CANTOPEN;
		}
		writes = wanted;
	}
	if (!writes) {
		flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
		how = 0;
	} else if (how && flags & SQLITE_OPEN_EXCLUSIVE) {
		how |= JOULIO_FILE_EXCLUSIVE;
	}
	file->file = joulio_file_open(volume, name, how);
	if (!file->file) {
		if (how || joulio_volume_stat(volume, name, NULL) != -ENOENT)
			return complain(SQLITE_CANTOPEN, name);
		/* A database that was closed has no log, and on a volume that is only read nobody makes one: it is empty. */
		if (!writes && flags & SQLITE_OPEN_MAIN_DB)
			fprintf(stderr, "joulio: %s: there is no such database, and only allow_write=1 in its own URI, "
					"or JOULIO_ALLOW_WRITE=1, makes one\n", name);
		if (!(flags & SQLITE_OPEN_WAL) || volume_is_written())
			return SQLITE_CANTOPEN;
	}
	file->node = node_enter(name);
	if (flags & SQLITE_OPEN_DELETEONCLOSE)
		file->temporary = sqlite3_mprintf("%s", name);
	if (!file->node) {
		joulio_file_close(file->file);
		sqlite3_free(file->temporary);
		return SQLITE_NOMEM;
	}
	file->database = (flags & SQLITE_OPEN_MAIN_DB) && writes;
	file->read_only = !writes;
	file->base.pMethods = &file_methods;
	if (got)
		*got = flags;
	return SQLITE_OK;
}

/* Removing is durable when it returns, whether SQLite asks for that or not. */
static int vfs_delete(sqlite3_vfs *vfs, const char *name, int durable)
{
	int error = joulio_volume_remove(volume_that_is_open(), name);

	(void)vfs;
	(void)durable;
	if (error == -ENOENT)
		return SQLITE_IOERR_DELETE_NOENT;
	return error ? complain(SQLITE_IOERR_DELETE, name) : SQLITE_OK;
}

/* As in the system's VFS an empty file is none: a log without content is not to be recovered. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *may)
{
	uint64_t size = 0;
	int there = !joulio_volume_stat(volume_that_is_open(), name, &size);

	(void)vfs;
	if (flags == SQLITE_ACCESS_EXISTS)
		*may = there && size > 0;
	else if (flags == SQLITE_ACCESS_READWRITE)
		*may = there && volume_is_written();
	else
		*may = there;
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int room, char *full)
{
	(void)vfs;
	if (strlen(name) >= (size_t)room)
		return SQLITE_CANTOPEN;
	strcpy(full, name);
	return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int length, char *bytes)
{
	(void)vfs;
	return under->xRandomness(under, length, bytes);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
	(void)vfs;
	return under->xSleep(under, microseconds);
}

static int vfs_time(sqlite3_vfs *vfs, double *days)
{
	(void)vfs;
	return under->xCurrentTime(under, days);
}

static int vfs_time_ms(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds)
{
	(void)vfs;
	return under->xCurrentTimeInt64(under, milliseconds);
}

static int vfs_last_error(sqlite3_vfs *vfs, int room, char *text)
{
	(void)vfs;
	if (room > 0)
		sqlite3_snprintf(room, text, "%s", joulio_error());
	return 0;
}

/* SQLite loads an extension by the VFS of the connection that asks for it. */
static void *vfs_library_open(sqlite3_vfs *vfs, const char *path)
{
	(void)vfs;
	return under->xDlOpen(under, path);
}

static void vfs_library_error(sqlite3_vfs *vfs, int room, char *text)
{
	(void)vfs;
	under->xDlError(under, room, text);
}

static void (*vfs_library_symbol(sqlite3_vfs *vfs, void *library, const char *name))(void)
{
	(void)vfs;
	return under->xDlSym(under, library, name);
}

static void vfs_library_close(sqlite3_vfs *vfs, void *library)
{
	(void)vfs;
	under->xDlClose(under, library);
}

static sqlite3_vfs joulio_vfs = {
	.iVersion = 2,
	/* Shorter than a name on the volume by what SQLite puts behind a database's. */
	.mxPathname = 240,
	.zName = "joulio",
	.xOpen = vfs_open,
	.xDelete = vfs_delete,
	.xAccess = vfs_access,
	.xFullPathname = vfs_full_name,
	.xDlOpen = vfs_library_open,
	.xDlError = vfs_library_error,
	.xDlSym = vfs_library_symbol,
	.xDlClose = vfs_library_close,
	.xRandomness = vfs_randomness,
	.xSleep = vfs_sleep,
	.xCurrentTime = vfs_time,
	.xGetLastError = vfs_last_error,
	.xCurrentTimeInt64 = vfs_time_ms,
};

/* The entry point that `.load` and sqlite3_load_extension() call. */
__attribute__((visibility("default"))) int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	int result;

	(void)db;
	SQLITE_EXTENSION_INIT2(api);
	if (joulio_check_interface(JOULIO_INTERFACE)) {
		*error = sqlite3_mprintf("%s", joulio_error());
		return SQLITE_ERROR;
	}
	under = sqlite3_vfs_find(NULL);
	if (under == &joulio_vfs)
		return SQLITE_OK_LOAD_PERMANENTLY;
	joulio_vfs.szOsFile = (int)sizeof(struct open_file);
	if (joulio_vfs.szOsFile < under->szOsFile)
		joulio_vfs.szOsFile = under->szOsFile;
	result = sqlite3_vfs_register(&joulio_vfs, 0);
	return result == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : result;
}
