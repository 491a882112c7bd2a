/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of joulio_uintr say to each other. */
#ifndef JOULIO_UINTR_INTERNAL_H
#define JOULIO_UINTR_INTERNAL_H

#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqbypass.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "joulio_uintr.h"

extern bool dry_run;
extern bool test_source;
#ifdef JOULIO_UINTR_TESTS
extern bool no_notifiers;
extern bool sends;
#else
#define no_notifiers false
#define sends false
#endif

/* cr4.c: whether user interrupts exist. */

bool cr4_is_taken(void);
void cr4_uintr(bool on);
int cr4_begin(void);
void cr4_end(void);

/* registers.c: the CPU's registers, and what it reads of memory. */

/* SDM volume 3, user posted-interrupt descriptor. */
struct uintr_upid {
	u8 notification; /* bit 0: outstanding, bit 1: suppressed */
	u8 reserved;
	u8 notification_vector;
	u8 reserved2;
	u32 notification_destination;
	u64 requests; /* PIR, a bit per user vector */
} __aligned(64);

/* SDM volume 3, user-interrupt target table entry. */
struct uintr_target {
	u8 valid;
	u8 user_vector;
	u8 reserved[6];
	u64 upid;
} __aligned(16);

/* In memory of its own, since the CPU writes to it. */
struct uintr_memory {
	struct uintr_upid upid;
	struct uintr_target targets[2]; /* the second in tests only, see sends.c */
};

/* What a thread has in the CPU's registers, while it is not on a CPU. */
struct uintr_registers {
	u64 owner; /* the thread's number, no other's ever */
	u64 handler;
	u64 requests; /* UIRR */
	bool flag;    /* UIF */
};

int registers_init(void);
void registers_exit(void);
void registers_load(const struct uintr_registers *regs, const struct uintr_memory *memory,
		    u8 vector);
void registers_save(struct uintr_registers *regs);
void registers_set_vector(u8 vector);
void registers_request(u8 user_vector);

/* watch.c: signals of eventfds. */

struct listener {
	struct eventfd_ctx *eventfd;
	wait_queue_head_t *signals; /* the eventfd's */
	wait_queue_entry_t entry;
	poll_table table; /* while it is being opened */
};

int listener_open(struct listener *listener, int fd, wait_queue_func_t called);
void listener_close(struct listener *listener);

/* route.c: where a device interrupt goes. */

/* Its vector on one CPU; no irqd: nowhere. */
struct irq_route {
	struct irq_data *irqd;
	unsigned int irq;
	unsigned int cpu;
	u8 vector;
};

u8 route_vector(struct irq_data *irqd, unsigned int cpu);
bool route_holds(const struct irq_route *route);

/* receiver.c: a registered thread's state. */

enum receiver_phase {
	RECEIVER_LIVE,
	RECEIVER_CLOSED,   /* its file is gone; the thread has yet to let go */
	RECEIVER_DETACHED, /* the thread has let go */
};

struct receiver {
	struct kref kref; /* one is the file's, one is the thread's */
	struct task_struct *task;
	struct uintr_memory *memory;
	struct preempt_notifier notifier;
	struct work_struct leaving;
	struct receiver *before; /* sends.c's */
	u8 user_vector;

	/*
	 * Protects what follows. Taken by the scheduler under its own locks,
	 * so nothing may be woken and no CPU waited for while it is held.
	 */
	raw_spinlock_t lock;
	enum receiver_phase phase;
	int cpu; /* whose registers hold the thread's state, -1: none */
	struct uintr_registers regs;
	struct irq_route route;
	struct joulio_uintr_status status;
	struct eventfd_ctx *eventfd; /* also read by rescue, without the lock */
	struct irq_work rescue;
	bool missed; /* the eventfd was signalled; written without the lock */
	bool notified; /* a watched one was, and the thread has yet to hear of it */
	bool notifying; /* the call to its CPU is under way */
	call_single_data_t notify;

	/*
	 * binding.c's. The mutex serialises bind and unbind; what the consumer's
	 * callbacks change is under the bypass manager's own.
	 */
	struct mutex binding;
	bool bound; /* the consumer is registered */
	bool binds; /* and the thread is waiting for its interrupt */
	struct irq_bypass_consumer consumer;
	struct listener listener; /* on the eventfd */
	unsigned int irq; /* the one that was taken, 0: none */
	bool balanced;	  /* what it was before */
	cpumask_var_t affinity;
	struct list_head taken;

	struct xarray watches; /* watch.c's, under the mutex as well */
};

struct receiver *receiver_current(void);
void receiver_attach(struct receiver *r);
bool receiver_detach(struct receiver *r);
void receiver_unload_elsewhere(struct receiver *r);
void receiver_set_route(struct receiver *r, const struct irq_route *route);
void receiver_arm(struct receiver *r);
void receiver_disarm(struct receiver *r);
void receiver_status(struct receiver *r, struct joulio_uintr_status *status);
void receiver_lose_vector(unsigned int cpu, unsigned int vector);
void receiver_notify(struct receiver *r);
void receiver_settle(struct receiver *r);

/* lifetime.c: its beginning and end. */
int receivers_init(void);
void receivers_exit(void);
struct receiver *receiver_register(const struct joulio_uintr_thread *thread);
bool receiver_is_mine(const struct receiver *r);
bool receiver_is_over(const struct receiver *r);
void receiver_close(struct receiver *r);
void receiver_leave_current(void);

/* binding.c: a device interrupt for a registered thread. */
int bindings_init(void);
void bindings_exit(void);
int binding_init(struct receiver *r);
void binding_free(struct receiver *r);
int binding_bind(struct receiver *r, int eventfd);
int binding_unbind(struct receiver *r);

/* watch.c: eventfds whose signals are user interrupts too. */
int watch_add(struct receiver *r, int fd);
int watch_remove(struct receiver *r, u32 number);
void watches_end(struct receiver *r);

/* hooks.c: what the kernel reports of threads and vectors. */
int hooks_init(void);
void hooks_exit(void);

/* sends.c: senduipi sends, in tests. */
void sends_arm(struct receiver *r, u8 vector);
void sends_take(struct receiver *r);
void sends_disarm(struct receiver *r);
void sends_join(struct receiver *r);
struct receiver *sends_leave(struct receiver *r);

/* source.c: an interrupt without a device. */
int source_create(const struct joulio_uintr_source *request);

/* source_irq.c: its interrupt. */
int source_irqs_init(void);
void source_irqs_exit(void);
int source_irq_alloc(unsigned int cpu);
void source_irq_free(unsigned int irq);
void source_irq_raise(unsigned int irq);

#endif
