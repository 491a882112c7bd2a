/* Locks and the log's index among the connections of this process. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "joulio_sqlite.h"

SQLITE_EXTENSION_INIT3

struct node {
	struct node *next;
	char *name;
	int handles;
	/* Connections that read, the one that is to write, and the one that does or waits for the readers. */
	int readers;
	struct open_file *reserved, *pending;
	/* The index of the log, how many connections use it, and who holds its locks. */
	void **regions;
	int region_count;
	int index_users;
	int index_readers[SQLITE_SHM_NLOCK];
	struct open_file *index_writer[SQLITE_SHM_NLOCK];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct node *nodes;

struct node *node_enter(const char *name)
{
	struct node *node;

	pthread_mutex_lock(&mutex);
	for (node = nodes; node && strcmp(node->name, name); node = node->next)
		;
	if (!node) {
		node = calloc(1, sizeof(*node));
		if (node && !(node->name = strdup(name))) {
			free(node);
			node = NULL;
		}
		if (node) {
			node->next = nodes;
			nodes = node;
		}
	}
	if (node)
		node->handles++;
	pthread_mutex_unlock(&mutex);
	return node;
}

void node_leave(struct node *node)
{
	struct node **at;

	pthread_mutex_lock(&mutex);
	if (--node->handles == 0) {
		for (at = &nodes; *at != node; at = &(*at)->next)
			;
		*at = node->next;
		free(node->name);
		free(node);
	}
	pthread_mutex_unlock(&mutex);
}

static int others(const struct open_file *holder, const struct open_file *file)
{
	return holder && holder != file;
}

int lock(struct open_file *file, int level)
{
	struct node *node = file->node;
	int result = SQLITE_OK;

	if (file->level >= level)
		return SQLITE_OK;
	pthread_mutex_lock(&mutex);
	if (level == SQLITE_LOCK_SHARED) {
		if (others(node->pending, file))
			result = SQLITE_BUSY;
		else
			node->readers++;
	} else if (level == SQLITE_LOCK_RESERVED) {
		if (others(node->reserved, file) || others(node->pending, file))
			result = SQLITE_BUSY;
		else
			node->reserved = file;
	} else {
		if (others(node->reserved, file) || others(node->pending, file)) {
			result = SQLITE_BUSY;
		} else {
			node->pending = file;
			file->level = SQLITE_LOCK_PENDING;
			if (level == SQLITE_LOCK_EXCLUSIVE && node->readers > 1)
				result = SQLITE_BUSY;
		}
	}
	if (result == SQLITE_OK)
		file->level = level;
	pthread_mutex_unlock(&mutex);
	return result;
}

static void drop(struct open_file **holder, const struct open_file *file)
{
	if (*holder == file)
		*holder = NULL;
}

int unlock(struct open_file *file, int level)
{
	struct node *node = file->node;

	if (file->level <= level)
		return SQLITE_OK;
	pthread_mutex_lock(&mutex);
	drop(&node->reserved, file);
	drop(&node->pending, file);
	if (level == SQLITE_LOCK_NONE)
		node->readers--;
	file->level = level;
	pthread_mutex_unlock(&mutex);
	return SQLITE_OK;
}

int reserved(struct open_file *file)
{
	int held;

	pthread_mutex_lock(&mutex);
	held = file->node->reserved || file->node->pending;
	pthread_mutex_unlock(&mutex);
	return held;
}

int index_map(struct open_file *file, int region, int size, int extend, void volatile **mapped)
{
	struct node *node = file->node;
	int result = SQLITE_OK;

	*mapped = NULL;
	pthread_mutex_lock(&mutex);
	if (!file->indexed) {
		file->indexed = 1;
		node->index_users++;
	}
	while (extend && node->region_count <= region) {
		void **more = realloc(node->regions, sizeof(*more) * (size_t)(node->region_count + 1));

		if (more)
			node->regions = more;
		if (!more || !(more[node->region_count] = calloc(1, (size_t)size))) {
			result = SQLITE_IOERR_NOMEM;
			break;
		}
		node->region_count++;
	}
	if (region < node->region_count)
		*mapped = node->regions[region];
	pthread_mutex_unlock(&mutex);
	return result;
}

int index_lock(struct open_file *file, int first, int count, int flags)
{
	struct node *node = file->node;
	unsigned int bits = ((1u << count) - 1) << first;
	int result = SQLITE_OK;

	pthread_mutex_lock(&mutex);
	for (int i = first; i < first + count; i++) {
		unsigned int bit = 1u << i;

		if (flags & SQLITE_SHM_UNLOCK) {
			if (file->shared & bit)
				node->index_readers[i]--;
			drop(&node->index_writer[i], file);
		} else if (others(node->index_writer[i], file) ||
			   ((flags & SQLITE_SHM_EXCLUSIVE) &&
			    node->index_readers[i] > !!(file->shared & bit))) {
			result = SQLITE_BUSY;
		}
	}
	if (flags & SQLITE_SHM_UNLOCK) {
		file->shared &= ~bits;
	} else if (result == SQLITE_OK) {
		for (int i = first; i < first + count; i++) {
			if (flags & SQLITE_SHM_EXCLUSIVE)
				node->index_writer[i] = file;
			else if (!(file->shared & (1u << i)))
				node->index_readers[i]++;
		}
		if (!(flags & SQLITE_SHM_EXCLUSIVE))
			file->shared |= bits;
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

void index_barrier(void)
{
	/* A mutex alone orders what is done under it, and lets what stands around it in. */
	atomic_thread_fence(memory_order_seq_cst);
}

/* The index goes with the last connection that uses it: who opens the log next makes one anew, of what is in it
 * then. One that stayed would tell of a log that was removed, and of a database as long as it was then. */
void index_unmap(struct open_file *file)
{
	struct node *node = file->node;

	index_lock(file, 0, SQLITE_SHM_NLOCK, SQLITE_SHM_UNLOCK);
	pthread_mutex_lock(&mutex);
	if (file->indexed) {
		file->indexed = 0;
		if (--node->index_users == 0) {
			for (int i = 0; i < node->region_count; i++)
				free(node->regions[i]);
			free(node->regions);
			node->regions = NULL;
			node->region_count = 0;
		}
	}
	pthread_mutex_unlock(&mutex);
}
