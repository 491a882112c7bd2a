// SPDX-License-Identifier: GPL-2.0-only
/*
 * A registered thread's state: in the registers of the CPU it runs on, and in
 * memory while it does not run.
 */
#include <linux/eventfd.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/version.h>

#include "internal.h"

/* Whose state this CPU's registers hold. */
static DEFINE_PER_CPU(struct receiver *, loaded);

/*
 * A user interrupt that was pending when the thread left its CPU: whoever waits
 * for the eventfd must hear of it, since no handler of the kernel ran.
 */
static void receiver_rescue(struct irq_work *work)
{
	struct receiver *r = container_of(work, struct receiver, rescue);
	/* Unbinding takes it away first, then waits for this to end. */
	struct eventfd_ctx *eventfd = READ_ONCE(r->eventfd);

	if (!eventfd)
		return;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	eventfd_signal(eventfd, 1);
#else
	eventfd_signal(eventfd);
#endif
}

/*
 * A device's interrupt does not say whom it is for: the request is there before
 * it comes. One that finds none would be taken by the CPU and given to nobody.
 */
static void receiver_prefill(struct receiver *r, u8 vector)
{
	if (sends)
		sends_arm(r, vector);
	else
		set_bit(r->user_vector, (unsigned long *)&r->memory->upid.requests);
}

/*
 * Whether the CPU took a device's interrupt for the thread that no handler ran
 * for: it took the request with it. One that was injected leaves it there.
 */
static bool receiver_has_one(struct receiver *r)
{
	return r->regs.requests &&
	       !test_bit(r->user_vector, (unsigned long *)&r->memory->upid.requests);
}

/* The vector that is the thread's on this CPU, 0: none. Under the lock. */
static u8 receiver_vector(struct receiver *r)
{
	if (!r->route.irqd || r->route.cpu != smp_processor_id())
		return 0;
	if (!route_holds(&r->route)) {
		r->route.irqd = NULL;
		r->status.state = JOULIO_UINTR_LOST;
		return 0;
	}
	return r->route.vector;
}

/*
 * On the thread's CPU, under the lock. When the eventfd was signalled while the
 * thread was away the kernel's handler had an interrupt: an injected one makes
 * the thread poll. A signal later than that finds it here, or away again.
 */
static void receiver_load(struct receiver *r)
{
	u8 vector = receiver_vector(r);

	if (vector) {
		receiver_prefill(r, vector);
		if (READ_ONCE(r->missed)) {
			WRITE_ONCE(r->missed, false);
			r->regs.requests |= BIT_ULL(r->user_vector);
			r->status.injected++;
		}
	}
	if (r->notified) {
		r->notified = false;
		r->regs.requests |= BIT_ULL(r->user_vector);
		r->status.injected++;
	}
	if (sends)
		sends_take(r);
	registers_load(&r->regs, r->memory, vector);
	r->cpu = smp_processor_id();
	__this_cpu_write(loaded, r);
}

/* On the CPU that holds the state, under the lock. */
static void receiver_unload(struct receiver *r)
{
	if (sends)
		sends_disarm(r);
	registers_save(&r->regs);
	r->cpu = -1;
	__this_cpu_write(loaded, NULL);
	if (receiver_has_one(r) && r->eventfd) {
		r->status.rescued++;
		irq_work_queue(&r->rescue);
	}
}

/* A watched eventfd was signalled, and the thread is on this CPU. Under the lock. */
static void receiver_inject(struct receiver *r)
{
	if (!r->notified)
		return;
	r->notified = false;
	r->status.notified++;
	registers_request(r->user_vector);
}

/*
 * Calls the CPU that the thread is on, another one, to inject it. Under the lock: as
 * long as it is held the thread stays there, and its CPU online. Also within the call
 * before: its data are free again when its function runs.
 */
static void receiver_call(struct receiver *r)
{
	r->notifying = !smp_call_function_single_async(r->cpu, &r->notify);
}

static void receiver_inject_here(void *info)
{
	struct receiver *r = info;
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	r->notifying = false;
	if (r->cpu == smp_processor_id())
		receiver_inject(r);
	else if (r->cpu >= 0 && r->notified)
		/* It has come back on another CPU, and the signal after that called nobody. */
		receiver_call(r);
	/* Else it hears of it when it comes back, or has heard. */
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/*
 * A watched eventfd was signalled. In any context, under the eventfd's lock: so
 * nothing that is done under the receiver's may signal one.
 */
void receiver_notify(struct receiver *r)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	r->notified = true;
	if (r->cpu == smp_processor_id())
		receiver_inject(r);
	else if (r->cpu >= 0 && !r->notifying)
		receiver_call(r);
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/* When this returns no call is under way. Nobody notifies it any more. */
void receiver_settle(struct receiver *r)
{
	unsigned long flags;
	bool notifying;

	irq_work_sync(&r->rescue);
	do {
		cpu_relax();
		raw_spin_lock_irqsave(&r->lock, flags);
		notifying = r->notifying;
		raw_spin_unlock_irqrestore(&r->lock, flags);
	} while (notifying);
}

/* The thread is back on a CPU; interrupts are on, preemption is off. */
static void receiver_sched_in(struct preempt_notifier *notifier, int cpu)
{
	struct receiver *r = container_of(notifier, struct receiver, notifier);
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	r->status.switches_in++;
	if (!no_notifiers)
		receiver_load(r);
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/* The thread leaves its CPU; interrupts are off, the scheduler's locks held. */
static void receiver_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	struct receiver *r = container_of(notifier, struct receiver, notifier);
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	r->status.switches_out++;
	if (!no_notifiers && r->cpu == smp_processor_id())
		receiver_unload(r);
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

static struct preempt_ops receiver_ops = {
	.sched_in = receiver_sched_in,
	.sched_out = receiver_sched_out,
};

static void receiver_unload_here(void *info)
{
	struct receiver *r = info;
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	if (r->cpu == smp_processor_id())
		receiver_unload(r);
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

static void receiver_disarm_here(void *info)
{
	struct receiver *r = info;
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	if (r->cpu == smp_processor_id() && !r->route.irqd) {
		if (sends)
			sends_disarm(r);
		registers_set_vector(0);
	}
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/*
 * Calls @function on the CPU that holds the thread's state. When the thread
 * leaves that CPU meanwhile, its state is saved; what makes it come back with
 * another (the route) must have been changed before.
 */
static void receiver_reach(struct receiver *r, smp_call_func_t function)
{
	int cpu = READ_ONCE(r->cpu);

	if (cpu >= 0)
		smp_call_function_single(cpu, function, r, true);
}

/* The calling thread's, NULL: it has none. Nobody else changes its list. */
struct receiver *receiver_current(void)
{
	struct preempt_notifier *notifier;

	hlist_for_each_entry(notifier, &current->preempt_notifiers, link)
		if (notifier->ops == &receiver_ops)
			return container_of(notifier, struct receiver, notifier);
	return NULL;
}

/* From now on it is the calling thread's. */
void receiver_attach(struct receiver *r)
{
	static atomic64_t owners = ATOMIC64_INIT(0);
	unsigned long flags;

	raw_spin_lock_init(&r->lock);
	init_irq_work(&r->rescue, receiver_rescue);
	INIT_CSD(&r->notify, receiver_inject_here, r);
	preempt_notifier_init(&r->notifier, &receiver_ops);
	r->regs.owner = atomic64_inc_return(&owners);

	raw_spin_lock_irqsave(&r->lock, flags);
	preempt_notifier_register(&r->notifier);
	receiver_load(r);
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/* By the thread itself, wherever it is. False when it had let go before. */
bool receiver_detach(struct receiver *r)
{
	unsigned long flags;
	bool first;

	raw_spin_lock_irqsave(&r->lock, flags);
	first = r->phase != RECEIVER_DETACHED;
	if (first) {
		r->phase = RECEIVER_DETACHED;
		r->route.irqd = NULL;
		r->status.state = JOULIO_UINTR_LOST;
		if (r->cpu == smp_processor_id())
			receiver_unload(r);
		preempt_notifier_unregister(&r->notifier);
	}
	raw_spin_unlock_irqrestore(&r->lock, flags);
	return first;
}

/* Only without notifiers is there still something on a CPU that the thread left. */
void receiver_unload_elsewhere(struct receiver *r)
{
	if (no_notifiers)
		receiver_reach(r, receiver_unload_here);
}

/* From now on the interrupt may arrive, once the thread is on the route's CPU. */
void receiver_set_route(struct receiver *r, const struct irq_route *route)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	r->route = *route;
	r->status.state = JOULIO_UINTR_BOUND;
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/* By the thread itself, after receiver_set_route: it is on its CPU already. */
void receiver_arm(struct receiver *r)
{
	unsigned long flags;
	u8 vector;

	raw_spin_lock_irqsave(&r->lock, flags);
	vector = r->cpu == smp_processor_id() ? receiver_vector(r) : 0;
	if (vector) {
		receiver_prefill(r, vector);
		registers_set_vector(vector);
	}
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/* When this returns no CPU takes the interrupt for the thread any more. */
void receiver_disarm(struct receiver *r)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	r->route.irqd = NULL;
	if (r->status.state == JOULIO_UINTR_BOUND)
		r->status.state = JOULIO_UINTR_LOST;
	raw_spin_unlock_irqrestore(&r->lock, flags);
	receiver_reach(r, receiver_disarm_here);
}

void receiver_status(struct receiver *r, struct joulio_uintr_status *status)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	*status = r->status;
	if (r->route.irqd) {
		status->irq = r->route.irq;
		status->vector = r->route.vector;
		status->cpu = r->route.cpu;
	}
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/*
 * The kernel is about to give @vector of this CPU to somebody else: the device's
 * interrupt was moved elsewhere. On that CPU, interrupts off, under the kernel's
 * lock of the vectors. A thread that is off the CPU finds out when it comes back.
 */
void receiver_lose_vector(unsigned int cpu, unsigned int vector)
{
	struct receiver *r = __this_cpu_read(loaded);

	if (!r || cpu != smp_processor_id())
		return;
	raw_spin_lock(&r->lock);
	if (r->route.irqd && r->route.cpu == cpu && r->route.vector == vector) {
		r->route.irqd = NULL;
		r->status.state = JOULIO_UINTR_LOST;
		registers_set_vector(0);
	}
	raw_spin_unlock(&r->lock);
}
