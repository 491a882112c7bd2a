/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * /dev/joulio_uintr: a device interrupt as a user interrupt of one thread.
 *
 * What user space and the module say to each other; README.md says what each
 * call does and every error it gives.
 */
#ifndef JOULIO_UINTR_H
#define JOULIO_UINTR_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define JOULIO_UINTR_ABI 2

/* joulio_uintr_info.flags */
#define JOULIO_UINTR_HARDWARE (1 << 0)    /* this CPU has user interrupts and they are on */
#define JOULIO_UINTR_DRY_RUN (1 << 1)     /* all but the registers: nothing is ever delivered */
#define JOULIO_UINTR_TEST_SOURCE (1 << 2) /* JOULIO_UINTR_SOURCE may be used */

struct joulio_uintr_info {
	__u32 abi;
	__u32 flags;
};

struct joulio_uintr_thread {
	__u64 handler;     /* address of the thread's handler */
	__u32 user_vector; /* 0 to 63: what the handler finds on its stack */
	__u32 flags;       /* 0 */
};

struct joulio_uintr_bind {
	__s32 eventfd; /* the one that VFIO signals for the interrupt */
	__u32 flags;   /* 0 */
};

/* Watches of one thread at once. */
#define JOULIO_UINTR_WATCHES 1024

struct joulio_uintr_watch {
	__s32 eventfd; /* any: its signals are user interrupts of the thread */
	__u32 flags;   /* 0 */
};

/* joulio_uintr_status.state */
#define JOULIO_UINTR_NONE 0
#define JOULIO_UINTR_REGISTERED 1
#define JOULIO_UINTR_BOUND 2
#define JOULIO_UINTR_LOST 3 /* the interrupt was taken away: unbind, then bind again, or
			     * the thread exited or called exec: register another
			     */

struct joulio_uintr_status {
	__u32 state;
	__u32 irq;    /* Linux' number of the interrupt, 0 when not bound */
	__u32 vector; /* its vector on that CPU, 0 when not bound */
	__u32 cpu;
	__u64 switches_out; /* the thread left its CPU */
	__u64 switches_in;  /* and came back */
	__u64 injected;     /* user interrupts for what an eventfd reported while it was away */
	__u64 rescued;      /* a device's was pending when it left: the eventfd was signalled */
	__u64 notified;     /* user interrupts for what a watched one reported while it ran */
	__u64 reserved;     /* 0 */
};

struct joulio_uintr_source {
	__s32 eventfd; /* signalled by the interrupt when it reaches the kernel */
	__u32 cpu;     /* where it first goes */
	__u32 flags;   /* 0 */
	__u32 pad;     /* 0 */
};

#define JOULIO_UINTR_TYPE 0xBB

#define JOULIO_UINTR_INFO _IOR(JOULIO_UINTR_TYPE, 0, struct joulio_uintr_info)
/*
 * The calling thread becomes this open file's. Its user interrupts are off (UIF
 * is 0): it says stui when its handler is ready.
 */
#define JOULIO_UINTR_REGISTER _IOW(JOULIO_UINTR_TYPE, 1, struct joulio_uintr_thread)
#define JOULIO_UINTR_UNREGISTER _IO(JOULIO_UINTR_TYPE, 2)
#define JOULIO_UINTR_BIND _IOW(JOULIO_UINTR_TYPE, 3, struct joulio_uintr_bind)
#define JOULIO_UINTR_UNBIND _IO(JOULIO_UINTR_TYPE, 4)
#define JOULIO_UINTR_STATUS _IOR(JOULIO_UINTR_TYPE, 5, struct joulio_uintr_status)
/*
 * Returns a descriptor of a test interrupt. A write of a u64 that is not 0
 * raises it; a read gives a u64: how often it was raised, counted before it is.
 */
#define JOULIO_UINTR_SOURCE _IOW(JOULIO_UINTR_TYPE, 6, struct joulio_uintr_source)

/*
 * From now on a signal of that eventfd is a user interrupt of the calling thread.
 * Returns the number of the watch, by which UNWATCH ends it.
 */
#define JOULIO_UINTR_WATCH _IOW(JOULIO_UINTR_TYPE, 9, struct joulio_uintr_watch)
#define JOULIO_UINTR_UNWATCH _IOW(JOULIO_UINTR_TYPE, 10, __u32)

/* On the descriptor of a test interrupt: */
#define JOULIO_UINTR_RAISE_AFTER _IOW(JOULIO_UINTR_TYPE, 7, __u64) /* in so many ns, once */
/* The next time the calling thread reaches the instruction at this address; 0: not. */
#define JOULIO_UINTR_RAISE_AT _IOW(JOULIO_UINTR_TYPE, 8, __u64)

#endif
