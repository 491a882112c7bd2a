/* What fio's report does not have. */
#ifndef JOULIO_FIO_REPORT_H
#define JOULIO_FIO_REPORT_H

#include "shared.h"

struct thread_data;

/* What a job counted, as a line, and in the JSON as options of the job: fio's report has no other place
 * for an engine's figures. */
void report_counters(struct thread_data *td, const char *device, const char *completion,
		     unsigned long long ios, const struct joulio_counters *counters);

/* The energy of the jobs that ran together, in the same places; in the JSON of the last that ended. Each key is
 * there once: where several meters have a figure its name ends in the meter's. */
void report_energy(struct thread_data *td, unsigned long long ios, const struct joulio_energy *energies,
		   int count);

#endif
