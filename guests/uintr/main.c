/*
 * Claims about kmod/joulio_uintr, loaded with test_source=1, on a machine with
 * two CPUs: claims MODE WHAT [ADDRESS], where MODE is dry (the module was loaded
 * with dry_run=1) or hardware. Says what it found, and ends with 1 at the first
 * claim that does not hold.
 */
#include <stdio.h>
#include <string.h>

#include "claims.h"

/* Those that take a controller bound to VFIO, by its address. */
static const struct {
	const char *name;
	void (*claims)(const char *address);
} of_devices[] = {
	{ "bindings", claims_of_bindings },
	{ "affinity", claims_of_affinity },
	{ "removal", claims_of_removal },
};

static const struct {
	const char *name;
	void (*claims)(void);
} others[] = {
	{ "sources", claims_of_sources },
	{ "switches", claims_of_switches },
	{ "watches", claims_of_watches },
	{ "hardware", claims_of_hardware },
	{ "counters", claims_of_counters },
	{ "ipis", claims_of_ipis },
	{ "lifetimes", claims_of_lifetimes },
	{ "threads", claims_of_threads },
	{ "unplugging", claims_of_unplugging },
	{ "fuzzing", claims_of_fuzzing },
};

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	const char *what = argc > 2 ? argv[2] : "";
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(mode, "after-exec"))
		return claims_after_exec();
	if (strcmp(mode, "dry") && strcmp(mode, "hardware"))
		return 2;
	CHECK(hardware() == !strcmp(mode, "hardware"));
	for (i = 0; argc == 3 && i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(what, others[i].name)) {
			others[i].claims();
			return 0;
		}
	for (i = 0; argc == 4 && i < sizeof(of_devices) / sizeof(*of_devices); i++)
		if (!strcmp(what, of_devices[i].name)) {
			of_devices[i].claims(argv[3]);
			return 0;
		}
	return 2;
}
