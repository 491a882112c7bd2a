/* SQLite's databases and logs on a volume of joulio's. */
#ifndef JOULIO_SQLITE_H
#define JOULIO_SQLITE_H

#include <sqlite3ext.h>
#include <stddef.h>
#include "joulio.h"

/* What all connections of this process share of a file: its locks, and the index of its log. */
struct node;

/* An open file, the start of what SQLite allocates for one. */
struct open_file {
	sqlite3_file base;
	/* NULL: an empty log that cannot be written. */
	struct joulio_file *file;
	struct node *node;
	/* SQLITE_LOCK_NONE to SQLITE_LOCK_EXCLUSIVE. */
	int level;
	/* Bits of the log's locks that this connection holds shared; `node` has who holds one exclusively. */
	unsigned int shared;
	/* Whether it uses the log's index. */
	int indexed;
	/* A database that may be written: the volume is synced when it is closed. */
	int database;
	/* Opened without allow_write=1: writes are refused, also a checkpoint's. */
	int read_only;
	/* Removed when it is closed. */
	char *temporary;
};

/* volume.c: the volume that this process has open. */

/* Opens the volume that the URI parameters of `name`, or the environment, say; the one that is open already
 * if they say nothing or the same. NULL: a line on standard error says why. */
struct joulio_volume *volume_for(sqlite3_filename name);

/* The open volume, or NULL. */
struct joulio_volume *volume_that_is_open(void);

/* Whether it was opened to be written. */
int volume_is_written(void);

/* Whether the URI parameters of the database `name`, or the environment, allow writing it. */
int is_to_be_written(sqlite3_filename name);

/* Prints what the last call of libjoulio says, and logs it for SQLite; returns `code`. */
int complain(int code, const char *name);

/* file.c */
extern const sqlite3_io_methods file_methods;

/* locks.c: connections of one process; no other has the device. */

/* The node of `name`, made if there is none. NULL: no memory. */
struct node *node_enter(const char *name);
void node_leave(struct node *node);

int lock(struct open_file *file, int level);
int unlock(struct open_file *file, int level);
int reserved(struct open_file *file);

int index_map(struct open_file *file, int region, int size, int extend, void volatile **mapped);
int index_lock(struct open_file *file, int first, int count, int flags);
void index_barrier(void);
void index_unmap(struct open_file *file);

#endif
