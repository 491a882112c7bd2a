/* Options of the engine, in words that the joulio command has too. */
#include "fio.h"
#include "optgroup.h"
#include "engine_options.h"

#define ENGINE .category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID
#define TEXT(member) .type = FIO_OPT_STR_STORE, .off1 = offsetof(struct engine_options, member)

struct fio_option engine_option_table[] = {
	{
		.name = "device",
		.lname = "Device",
		TEXT(device),
		.help = "emulated:PROFILE, pcie:ADDRESS or vfio-user:SOCKET; without it filename= is the device",
		ENGINE,
	},
	{
		.name = "completion",
		.lname = "Completion mode",
		TEXT(completion),
		.def = "poll",
		.help = "poll, interrupt, hybrid, adaptive ...: any that joulio bench --completion takes",
		ENGINE,
	},
	{
		.name = "slo",
		.lname = "Promise of latencies",
		TEXT(slo),
		.help = "p99=15us,p99.9=40us: the least energy that keeps it (completion=adaptive)",
		ENGINE,
	},
	{
		.name = "meter",
		.lname = "Energy meters",
		TEXT(meter),
		.def = "all",
		.help = "all, none, a boundary or a meter's name, as joulio bench --meter takes them",
		ENGINE,
	},
	{
		.name = "allow_write",
		.lname = "Allow writes",
		.type = FIO_OPT_BOOL,
		.off1 = offsetof(struct engine_options, allow_write),
		.def = "0",
		.help = "Let a job that writes or trims change the data on the device",
		ENGINE,
	},
	{.name = NULL},
};
