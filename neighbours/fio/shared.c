#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "fio.h"
#include "shared.h"

struct shared_controller {
	struct shared_controller *next;
	struct joulio_controller *controller;
	char *device;
	unsigned int jobs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared_controller *controllers;

static struct {
	struct joulio_meters *meters;
	/* The meters that the jobs that run chose. */
	char *words;
	unsigned int jobs;
	unsigned long long ios;
} window;

int refuse(const char *job, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_err("joulio: %s: %s\n", job, text);
	return 1;
}

void controllers_lock(void)
{
	pthread_mutex_lock(&lock);
}

void controllers_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static struct shared_controller *opened(const char *job, const char *device, unsigned int queues,
					unsigned int flags)
{
	struct shared_controller *shared = calloc(1, sizeof(*shared));

	if (!shared || !(shared->device = strdup(device))) {
		refuse(job, "out of memory");
		free(shared);
		return NULL;
	}
	shared->controller = joulio_open(device, queues, flags);
	if (!shared->controller) {
		refuse(job, "%s", joulio_error());
		free(shared->device);
		free(shared);
		return NULL;
	}
	shared->next = controllers;
	controllers = shared;
	return shared;
}

struct joulio_controller *controller_join(const char *job, const char *device, unsigned int queues,
					  unsigned int flags)
{
	struct shared_controller *shared;

	controllers_lock();
	for (shared = controllers; shared; shared = shared->next)
		if (!strcmp(shared->device, device))
			break;
	if (!shared)
		shared = opened(job, device, queues, flags);
	if (shared)
		shared->jobs++;
	controllers_unlock();
	return shared ? shared->controller : NULL;
}

void controller_leave(struct joulio_controller *controller)
{
	struct shared_controller **at, *shared;

	controllers_lock();
	for (at = &controllers; (shared = *at); at = &shared->next)
		if (shared->controller == controller && !--shared->jobs) {
			*at = shared->next;
			joulio_close(shared->controller);
			free(shared->device);
			free(shared);
			break;
		}
	controllers_unlock();
}

int energy_check(const char *job, const char *words, struct joulio_controller *controller)
{
	struct joulio_meters *meters;
	int failed = 0;

	if (!strcmp(words, "none"))
		return 0;
	controllers_lock();
	/* One who has the words before is measuring with them. */
	if (!window.jobs) {
		meters = joulio_meters_open(words, controller);
		if (!meters)
			failed = refuse(job, "meter=%s: %s", words, joulio_error());
		joulio_meters_close(meters);
	}
	controllers_unlock();
	return failed;
}

static void window_close(void)
{
	joulio_meters_close(window.meters);
	window.meters = NULL;
	free(window.words);
	window.words = NULL;
}

static int window_open(const char *job, const char *words, struct joulio_controller *controller)
{
	window.words = strdup(words);
	if (!window.words)
		return refuse(job, "out of memory");
	if (!strcmp(words, "none"))
		return 0;
	window.meters = joulio_meters_open(words, controller);
	if (window.meters && !joulio_meters_start(window.meters))
		return 0;
	refuse(job, "meter=%s: %s", words, joulio_error());
	window_close();
	return 1;
}

int energy_join(const char *job, const char *words, struct joulio_controller *controller)
{
	int failed = 0;

	controllers_lock();
	if (!window.jobs)
		failed = window_open(job, words, controller);
	else if (strcmp(words, window.words))
		failed = refuse(job, "meter=%s: another job runs with meter=%s: jobs that run together must have the same "
				"meters", words, window.words);
	if (!failed)
		window.jobs++;
	controllers_unlock();
	return failed;
}

int energy_leave(unsigned long long *ios, struct joulio_energy *energies)
{
	int found = 0;

	controllers_lock();
	window.ios += *ios;
	if (!--window.jobs) {
		*ios = window.ios;
		window.ios = 0;
		if (window.meters)
			found = joulio_meters_stop(window.meters, energies, ENERGIES_MAX);
		window_close();
	}
	controllers_unlock();
	return found;
}
