/*
 * Claims about kmod/joulio_uintr, loaded with test_source=1, on a machine with
 * two CPUs: with dry_run=1 where the CPU has no user interrupts, without where it
 * has. Says what it found, and ends with 1 at the first claim that does not hold.
 */
#include <stdio.h>
#include <string.h>

#include "claims.h"

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *address = argc > 2 ? argv[2] : NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "sources"))
		claims_of_sources();
	else if (!strcmp(what, "switches"))
		claims_of_switches();
	else if (!strcmp(what, "watches"))
		claims_of_watches();
	else if (!strcmp(what, "hardware"))
		claims_of_hardware();
	else if (!strcmp(what, "lives"))
		claims_of_lives();
	else if (!strcmp(what, "threads"))
		claims_of_threads();
	else if (!strcmp(what, "unplugging"))
		claims_of_unplugging();
	else if (!strcmp(what, "fuzzing"))
		claims_of_fuzzing();
	else if (!strcmp(what, "bindings") && address)
		claims_of_bindings(address);
	else if (!strcmp(what, "affinity") && address)
		claims_of_affinity(address);
	else if (!strcmp(what, "removal") && address)
		claims_of_removal(address);
	else if (!strcmp(what, "after-exec"))
		return claims_after_exec();
	else
		return 2;
	return 0;
}
