/* Controllers and the energy window that the jobs of a fio share. */
#ifndef JOULIO_FIO_SHARED_H
#define JOULIO_FIO_SHARED_H

#include "joulio.h"

#define ENERGIES_MAX 16

/* A line for the user, and failure. */
int refuse(const char *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The controller of device, opened for the first job that has it; NULL: a line is printed. */
struct joulio_controller *controller_join(const char *job, const char *device, unsigned int queues,
					  unsigned int flags);
void controller_leave(struct joulio_controller *controller);

/* A handle is used by one thread at a time: calls on a controller are made between these. */
void controllers_lock(void);
void controllers_unlock(void);

/* Whether the words choose meters; "none" does. */
int energy_check(const char *job, const char *words, struct joulio_controller *controller);
/* Windows of energy: from the first job that runs to the last that ends. The words are the same for all of them. */
int energy_join(const char *job, const char *words, struct joulio_controller *controller);
/* Number of figures of the last job that ends, 0 of the others; below 0: joulio_error() says why there is
 * none. ios: of this job; the sum of all comes back. */
int energy_leave(unsigned long long *ios, struct joulio_energy *energies);

#endif
