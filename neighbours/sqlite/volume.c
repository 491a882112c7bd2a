/* The volume: one a process, opened by the first database that names it. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "joulio_sqlite.h"

SQLITE_EXTENSION_INIT3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct joulio_volume *volume;
static char *device;
static int written;

/* A parameter of the URI, else of the environment, else `otherwise`. */
static const char *parameter(sqlite3_filename name, const char *key, const char *variable,
			     const char *otherwise)
{
	const char *value = name ? sqlite3_uri_parameter(name, key) : NULL;

	if (!value)
		value = getenv(variable);
	return value ? value : otherwise;
}

static int is_set(sqlite3_filename name, const char *key, const char *variable)
{
	return !strcmp(parameter(name, key, variable, "0"), "1");
}

int is_to_be_written(sqlite3_filename name)
{
	return is_set(name, "allow_write", "JOULIO_ALLOW_WRITE");
}

int complain(int code, const char *name)
{
	sqlite3_log(code, "joulio: %s: %s", name, joulio_error());
	fprintf(stderr, "joulio: %s: %s\n", name, joulio_error());
	return code;
}

static struct joulio_volume *opened(sqlite3_filename name, const char *wanted)
{
	const char *completion = parameter(name, "completion", "JOULIO_COMPLETION", "interrupt");
	long queues = strtol(parameter(name, "queues", "JOULIO_QUEUES", "4"), NULL, 10);
	unsigned int flags = is_set(name, "format", "JOULIO_FORMAT") ? JOULIO_VOLUME_FORMAT : 0;
	struct joulio_controller *controller;
	struct joulio_volume *made = NULL;

	written = is_to_be_written(name);
	if (queues < 1 || queues > 65535)
		queues = 0;
	controller = joulio_open(wanted, (unsigned int)queues, written ? JOULIO_ALLOW_WRITE : 0);
	if (controller) {
		made = joulio_volume_open(controller, completion, flags);
		if (!made)
			complain(SQLITE_CANTOPEN, wanted);
		joulio_close(controller);
	} else {
		complain(SQLITE_CANTOPEN, wanted);
	}
	if (made)
		device = strdup(wanted);
	return made;
}

struct joulio_volume *volume_for(sqlite3_filename name)
{
	const char *wanted = parameter(name, "device", "JOULIO_DEVICE", NULL);
	struct joulio_volume *found;

	pthread_mutex_lock(&mutex);
	if (!volume && !wanted) {
		fprintf(stderr, "joulio: no device: write file:NAME?vfs=joulio&device=DEVICE, or set "
				"JOULIO_DEVICE\n");
	} else if (!volume) {
		volume = opened(name, wanted);
	} else if (wanted && (!device || strcmp(device, wanted))) {
		fprintf(stderr, "joulio: %s: this process has a volume on %s, and can have one only\n",
			wanted, device ? device : "another device");
		pthread_mutex_unlock(&mutex);
		return NULL;
	}
	found = volume;
	pthread_mutex_unlock(&mutex);
	return found;
}

struct joulio_volume *volume_that_is_open(void)
{
	struct joulio_volume *found;

	pthread_mutex_lock(&mutex);
	found = volume;
	pthread_mutex_unlock(&mutex);
	return found;
}

int volume_is_written(void)
{
	return written;
}
