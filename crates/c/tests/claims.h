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

static inline int ended_badly(void)
{
	printf("%d claims do not hold\n", failures);
	return failures != 0;
}

#endif
