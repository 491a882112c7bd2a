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
/* As the volume was opened with them. */
static char *used_completion, *used_queues;
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

/* The number of queues that `text` says; 0: it is none. */
static unsigned int queues_of(const char *text)
{
	char *end = NULL;
	long queues = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : 0;

	if (queues >= 1 && queues <= 65535 && !*end)
		return (unsigned int)queues;
	fprintf(stderr, "joulio: queues=%s: a number from 1 to 65535\n", text);
	return 0;
}

static struct joulio_volume *opened(sqlite3_filename name, const char *wanted)
{
	const char *completion = parameter(name, "completion", "JOULIO_COMPLETION", "interrupt");
	const char *count = parameter(name, "queues", "JOULIO_QUEUES", "4");
	unsigned int queues = queues_of(count);
	unsigned int flags = is_set(name, "format", "JOULIO_FORMAT") ? JOULIO_VOLUME_FORMAT : 0;
	struct joulio_controller *controller;
	struct joulio_volume *made = NULL;

	if (!queues)
		return NULL;
	written = is_to_be_written(name);
	controller = joulio_open(wanted, queues, written ? JOULIO_ALLOW_WRITE : 0);
	if (controller) {
		made = joulio_volume_open(controller, completion, flags);
		if (!made)
			complain(SQLITE_CANTOPEN, wanted);
		joulio_close(controller);
	} else {
		complain(SQLITE_CANTOPEN, wanted);
	}
	if (made) {
		device = strdup(wanted);
		used_completion = strdup(completion);
		used_queues = strdup(count);
	}
	return made;
}

/* Whether a database's own parameter is the one that the volume was opened with; says so if not. */
static int agrees(sqlite3_filename name, const char *key, const char *used)
{
	const char *wanted = name ? sqlite3_uri_parameter(name, key) : NULL;

	if (!wanted || (used && !strcmp(wanted, used)))
		return 1;
	fprintf(stderr, "joulio: %s=%s: this process has its volume open with %s=%s\n", key, wanted, key,
		used ? used : "another");
	return 0;
}

struct joulio_volume *volume_for(sqlite3_filename name)
{
	const char *wanted = parameter(name, "device", "JOULIO_DEVICE", NULL);
	struct joulio_volume *found;
	int fits = 1;

	pthread_mutex_lock(&mutex);
	if (!volume && !wanted) {
		fprintf(stderr, "joulio: no device: write file:NAME?vfs=joulio&device=DEVICE, or set "
				"JOULIO_DEVICE\n");
	} else if (!volume) {
		volume = opened(name, wanted);
	} else if (wanted && (!device || strcmp(device, wanted))) {
		fprintf(stderr, "joulio: %s: this process has a volume on %s, and can have one only\n",
			wanted, device ? device : "another device");
		fits = 0;
	} else {
		fits = agrees(name, "completion", used_completion) && agrees(name, "queues", used_queues);
	}
	found = fits ? volume : NULL;
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
