/* What the claims about kmod/joulio_uintr share. */
#ifndef CLAIMS_H
#define CLAIMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "joulio_uintr.h"

#define CHECK(claim) \
	do { \
		if (!(claim)) \
			failed(__FILE__, __LINE__, #claim); \
	} while (0)
/* Waits of a millisecond for what comes soon: a minute, as the machine may be busy. */
#define SOON 60000
/* That a call said this: 0 or more, or an errno with a minus. */
#define SAYS(result, expected) said(__FILE__, __LINE__, #result, result, expected)

void failed(const char *file, int line, const char *claim) __attribute__((noreturn));
void said(const char *file, int line, const char *call, long result, long expected);

/* The module. Calls return -errno. */
long call(int fd, unsigned long request, void *argument);
int open_device(void);
long bind_thread(int device, int eventfd);
long unbind_thread(int device);
long watch(int device, int eventfd);
long unwatch(int device, uint32_t number);
struct joulio_uintr_status status(int device);
/* A process or a thread that ended lets go a moment later. */
void bind_soon(int device, int eventfd);
void state_soon(int device, uint32_t state);
int new_eventfd(void);
int new_source(int device, int eventfd, int cpu);

/* handler.c: user interrupts, where the module is not dry. */
long register_with(int device, uint64_t handler, uint32_t user_vector);
long register_thread(int device);
bool hardware(void);
uint64_t handler_address(void);
void let_through(void); /* by a registered thread only */
void hold_back(void);
uint64_t handler_runs(void);
void handler_clear(void);
void handler_wait(int device); /* until the handler has run since; a dry one: until it would have */

/* The machine. */
void read_text(const char *path, char *text, size_t size);
void pin(int cpu);
void online(int cpu, bool on);
void trace_event(const char *name);
uint64_t taken(int eventfd);
int irq_of(const char *name);
uint64_t interrupts(int irq, int cpu);
int effective_cpu(int irq);
void affinity(int irq, char *text, size_t size);
long set_affinity(int irq, const char *mask);
int child(void (*function)(void *), void *argument);
void until_it_sleeps(int pid);
void reap(int pid, int status);

/* vfio.c: a controller, by VFIO. */
struct vfio {
	int container;
	int group;
	int device;
	const char *address;
};

void vfio_open(struct vfio *vfio, const char *address);
void vfio_close(struct vfio *vfio);
void vfio_vectors(struct vfio *vfio, const int *eventfds, int count);
void vfio_no_vectors(struct vfio *vfio);
void vfio_request(struct vfio *vfio, int eventfd);
int vfio_irq(const struct vfio *vfio, int vector);

/* nvme.c: makes it interrupt. */
void nvme_start(struct vfio *vfio);
void nvme_identify(void);
void nvme_stop(void);

/* The claims; each ends the program when it does not hold. */
void claims_of_sources(void);
void claims_of_switches(void);
void claims_of_watches(void);
void claims_of_hardware(void);
void claims_of_counters(void);
void claims_of_ipis(void);
void claims_of_bindings(const char *address);
void claims_of_affinity(const char *address);
void claims_of_lifetimes(void);
void claims_of_threads(void);
void claims_of_removal(const char *address);
void claims_of_unplugging(void);
void claims_of_fuzzing(void);
int claims_after_exec(void);

#endif
