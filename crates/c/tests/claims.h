/* How the programs of this folder count claims that do not hold. */
#ifndef JOULIO_CLAIMS_H
#define JOULIO_CLAIMS_H

#include <stdio.h>
#include <string.h>
#include "joulio.h"

static int failures;

static inline void check(int holds, const char *what, const char *file, int line)
{
	if (!holds) {
		fprintf(stderr, "%s:%d: %s (%s)\n", file, line, what, joulio_error());
		failures++;
	}
}
#define CHECK(what) check(what, #what, __FILE__, __LINE__)

/* The last call failed with this text in its message, which is one line. */
static inline int says(const char *text)
{
	return strstr(joulio_error(), text) && !strchr(joulio_error(), '\n');
}

/* Ends the one command in flight and returns its status, or -1. Its buffer is *first. */
static inline int ended_with(struct joulio_queue *queue, uint64_t tag, struct joulio_buffer **first)
{
	struct joulio_completion done;

	if (joulio_ring(queue) || joulio_reap(queue, 1, 1, -1, &done) != 1 || done.tag != tag)
		return -1;
	*first = done.buffer;
	return done.status;
}

/* Ends the one command in flight and returns its status, or -1. */
static inline int ended(struct joulio_queue *queue, uint64_t tag)
{
	struct joulio_buffer *first;

	return ended_with(queue, tag, &first);
}

static inline int ended_badly(void)
{
	printf("%d claims do not hold\n", failures);
	return failures != 0;
}

#endif
