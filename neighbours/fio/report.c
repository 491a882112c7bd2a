#include <stdlib.h>
#include <string.h>
#include "fio.h"
#include "report.h"

/* Beside the JSON, and not in it, where that is asked for. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (output_format & FIO_OUTPUT_NORMAL)
		log_info("%s", text);
	else
		fputs(text, stderr);
}

/* The key is name and suffix. */
static void add_to_json(struct thread_data *td, const char *name, const char *suffix, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void add_to_json(struct thread_data *td, const char *name, const char *suffix, const char *format, ...)
{
	struct print_option *option = calloc(1, sizeof(*option));
	char key[128], text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (!option)
		return;
	snprintf(key, sizeof(key), "%s%s", name, suffix);
	/* fio frees all three. */
	option->name = strdup(key);
	option->value = strdup(text);
	flist_add_tail(&option->list, &td->opt_list);
}

void report_counters(struct thread_data *td, const char *device, const char *completion,
		     unsigned long long ios, const struct joulio_counters *counters)
{
	const struct {
		const char *name, *option;
		unsigned long long count;
	} all[] = {
		{"polls", "joulio_polls_per_io", counters->polls},
		{"interrupts", "joulio_interrupts_per_io", counters->interrupts},
		{"blocks", "joulio_blocks_per_io", counters->blocks},
		{"wakes", "joulio_wakes_per_io", counters->wakes},
		{"sleeps", "joulio_sleeps_per_io", counters->sleeps},
		{"pauses", "joulio_pauses_per_io", counters->pauses},
	};
	char line[256];
	size_t at = 0, i;

	add_to_json(td, "joulio_ios", "", "%llu", ios);
	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		double per_io = ios ? (double)all[i].count / ios : 0;

		add_to_json(td, all[i].option, "", "%.4f", per_io);
		at += snprintf(line + at, sizeof(line) - at, ", %s %.3f", all[i].name, per_io);
	}
	say("joulio: %s: %s, %s: %llu I/Os; an I/O%s\n", td->o.name, device, completion, ios, line);
}

/* A sentence, and in the JSON its figures too. With several figures the keys end in the meter's name. */
static void report_meter(struct thread_data *td, unsigned long long ios, const struct joulio_energy *one, int alone)
{
	const char *how = one->modelled ? "modelled" : "measured";
	char suffix[sizeof(one->meter) + 1] = "", per_joule[64] = "";
	char *letter;

	if (!alone)
		snprintf(suffix, sizeof(suffix), "_%s", one->meter);
	/* fio escapes values, and not keys. */
	for (letter = suffix; *letter; letter++)
		if (*letter == '"' || *letter == '\\')
			*letter = '_';
	add_to_json(td, "joulio_joules", suffix, "%.6f", one->joules);
	if (one->joules > 0) {
		snprintf(per_joule, sizeof(per_joule), ", %.1f I/Os per joule", ios / one->joules);
		add_to_json(td, "joulio_ios_per_joule", suffix, "%.6g", ios / one->joules);
	}
	add_to_json(td, "joulio_boundary", suffix, "%s", one->boundary);
	add_to_json(td, "joulio_modelled", suffix, "%d", one->modelled);
	add_to_json(td, "joulio_energy", suffix, "%s by %s, %s: %.6f J in %.3f s%s", one->boundary, one->meter, how,
		    one->joules, one->seconds, per_joule);
	say("joulio: %s by %s, %s: %.3f J in %.3f s%s\n", one->boundary, one->meter, how, one->joules,
	    one->seconds, per_joule);
}

void report_energy(struct thread_data *td, unsigned long long ios, const struct joulio_energy *energies,
		   int count)
{
	int i;

	if (count < 0)
		say("joulio: no energy: %s\n", joulio_error());
	for (i = 0; i < count; i++)
		report_meter(td, ios, &energies[i], count == 1);
}
