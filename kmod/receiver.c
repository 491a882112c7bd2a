// SPDX-License-Identifier: GPL-2.0-only
/*
 * A registered thread: its state is in the registers of the CPU it runs on,
 * and in memory while it does not run.
 *
 * Only the thread itself can take its notifier off its own list. Four of its
 * ways lead there: it unregisters, closes the file, calls exec, or exits
 * (hooks.c). Until then its handler may be running, so the registers stay as
 * they are but for the vector, which can be taken away at any time. When another
 * thread closes the file, all but the vector stays with the thread until it goes
 * one of these ways or registers anew, and keeps the module loaded.
 */
#include <linux/eventfd.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <asm/apic.h>
#include <asm/smp.h>

#include "internal.h"

static struct workqueue_struct *leavers;

/* Whose state this CPU's registers hold. */
static DEFINE_PER_CPU(struct receiver *, loaded);

static void receiver_free(struct kref *kref)
{
	struct receiver *r = container_of(kref, struct receiver, kref);

	irq_work_sync(&r->rescue);
	binding_free(r);
	put_task_struct(r->task);
	kfree(r->memory);
	kfree(r);
	/*
	 * Never the last reference while code of the module runs: a file's
	 * caller has the file's, and a work item's end is waited for by
	 * destroy_workqueue.
	 */
	module_put(THIS_MODULE);
}

static void receiver_put(struct receiver *r)
{
	kref_put(&r->kref, receiver_free);
}

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
static void receiver_prefill(struct receiver *r)
{
	set_bit(r->user_vector, (unsigned long *)&r->memory->upid.requests);
}

/* The vector that is the thread's on this CPU, 0: none. Under the lock. */
static u8 receiver_vector(struct receiver *r)
{
	if (!r->aim.irqd || r->aim.cpu != smp_processor_id())
		return 0;
	if (!binding_aim_holds(&r->aim)) {
		r->aim.irqd = NULL;
		r->status.state = JOULIO_UINTR_LOST;
		return 0;
	}
	return r->aim.vector;
}

/* On the thread's CPU, under the lock. */
static void receiver_load(struct receiver *r, bool spurious)
{
	u8 vector = receiver_vector(r);

	if (vector) {
		receiver_prefill(r);
		if (spurious) {
			r->regs.requests |= BIT_ULL(r->user_vector);
			r->status.injected++;
		}
	}
	registers_load(&r->regs, r->memory, vector);
	r->cpu = smp_processor_id();
	__this_cpu_write(loaded, r);
}

/* On the CPU that holds the state, under the lock. */
static void receiver_unload(struct receiver *r)
{
	registers_save(&r->regs);
	r->cpu = -1;
	__this_cpu_write(loaded, NULL);
	if (r->regs.requests && r->eventfd) {
		r->status.rescued++;
		irq_work_queue(&r->rescue);
	}
}

/*
 * The thread is back on a CPU; interrupts are on, preemption is off. It may
 * have missed an interrupt, which the kernel's handler then had: a spurious one
 * makes it look.
 */
static void receiver_sched_in(struct preempt_notifier *notifier, int cpu)
{
	struct receiver *r = container_of(notifier, struct receiver, notifier);
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	r->status.switches_in++;
	if (!no_notifiers)
		receiver_load(r, true);
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
	if (r->cpu == smp_processor_id() && !r->aim.irqd)
		registers_aim(0);
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/*
 * Calls @function on the CPU that holds the thread's state. When the thread
 * leaves that CPU meanwhile, its state is saved; what makes it come back with
 * another (the aim) must have been changed before.
 */
static void receiver_reach(struct receiver *r, smp_call_func_t function)
{
	int cpu = READ_ONCE(r->cpu);

	if (cpu >= 0)
		smp_call_function_single(cpu, function, r, true);
}

/* From now on the interrupt may arrive, once the thread is on the aim's CPU. */
void receiver_aim(struct receiver *r, const struct aim *aim)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	r->aim = *aim;
	r->status.state = JOULIO_UINTR_BOUND;
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/* By the thread itself, after receiver_aim: it is on its CPU already. */
void receiver_arm(struct receiver *r)
{
	unsigned long flags;
	u8 vector;

	raw_spin_lock_irqsave(&r->lock, flags);
	vector = r->cpu == smp_processor_id() ? receiver_vector(r) : 0;
	if (vector) {
		receiver_prefill(r);
		registers_aim(vector);
	}
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/* When this returns no CPU takes the interrupt for the thread any more. */
void receiver_disarm(struct receiver *r)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	r->aim.irqd = NULL;
	if (r->status.state == JOULIO_UINTR_BOUND)
		r->status.state = JOULIO_UINTR_LOST;
	raw_spin_unlock_irqrestore(&r->lock, flags);
	receiver_reach(r, receiver_disarm_here);
}

/* In the thread's own context. False when it had let go before. */
static bool receiver_detach(struct receiver *r)
{
	unsigned long flags;
	bool first;

	raw_spin_lock_irqsave(&r->lock, flags);
	first = r->life != RECEIVER_DETACHED;
	if (first) {
		r->life = RECEIVER_DETACHED;
		r->aim.irqd = NULL;
		r->status.state = JOULIO_UINTR_LOST;
		if (r->cpu == smp_processor_id())
			receiver_unload(r);
		preempt_notifier_unregister(&r->notifier);
	}
	raw_spin_unlock_irqrestore(&r->lock, flags);
	return first;
}

/* What must not be done in the thread's last moments. */
static void receiver_gone(struct work_struct *work)
{
	struct receiver *r = container_of(work, struct receiver, gone);

	/* Only without notifiers can the state be on a CPU that the thread left. */
	receiver_reach(r, receiver_unload_here);
	binding_unbind(r);
	receiver_put(r);
}

static void receivers_leave(bool all)
{
	struct preempt_notifier *notifier;
	struct hlist_node *next;

	/* Nobody but the thread itself changes this list. */
	hlist_for_each_entry_safe(notifier, next, &current->preempt_notifiers, link) {
		struct receiver *r = container_of(notifier, struct receiver, notifier);

		if (notifier->ops != &receiver_ops)
			continue;
		if ((all || r->life == RECEIVER_CLOSED) && receiver_detach(r))
			queue_work(leavers, &r->gone);
	}
}

/*
 * The thread exits, or runs another program: what it registered names a handler
 * that is no longer there. It may be called with preemption off.
 */
void receivers_leave_current(void)
{
	receivers_leave(true);
}

static bool current_is_registered(void)
{
	struct preempt_notifier *notifier;

	hlist_for_each_entry(notifier, &current->preempt_notifiers, link)
		if (notifier->ops == &receiver_ops)
			return true;
	return false;
}

static struct uintr_memory *memory_alloc(u8 user_vector)
{
	/* A whole power of two, so it is aligned to its size. */
	size_t size = roundup_pow_of_two(sizeof(struct uintr_memory));
	struct uintr_memory *memory = kzalloc(size, GFP_KERNEL_ACCOUNT);
	u32 apic;

	if (!memory)
		return NULL;
	/* Suppressed: senduipi fills in the request and sends nothing. */
	memory->upid.notification = BIT(1);
	apic = per_cpu(x86_cpu_to_apicid, raw_smp_processor_id());
	memory->upid.notification_destination = x2apic_mode ? apic : apic << 8;
	memory->targets[0].valid = 1;
	memory->targets[0].user_vector = user_vector;
	memory->targets[0].upid = (uintptr_t)&memory->upid;
	return memory;
}

/* Registers the calling thread. */
struct receiver *receiver_register(const struct joulio_uintr_thread *thread)
{
	struct receiver *r;
	unsigned long flags;
	int error = -ENOMEM;

	if (thread->flags || thread->user_vector > 63 || !thread->handler ||
	    thread->handler >= TASK_SIZE_MAX)
		return ERR_PTR(-EINVAL);
	receivers_leave(false);
	if (current_is_registered())
		return ERR_PTR(-EBUSY);

	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return ERR_PTR(-ENOMEM);
	r->memory = memory_alloc(thread->user_vector);
	if (!r->memory)
		goto free;
	error = binding_init(r);
	if (error)
		goto free;

	__module_get(THIS_MODULE);
	kref_init(&r->kref);
	r->task = get_task_struct(current);
	r->user_vector = thread->user_vector;
	r->regs.handler = thread->handler;
	r->status.state = JOULIO_UINTR_REGISTERED;
	raw_spin_lock_init(&r->lock);
	init_irq_work(&r->rescue, receiver_rescue);
	INIT_WORK(&r->gone, receiver_gone);
	preempt_notifier_init(&r->notifier, &receiver_ops);

	kref_get(&r->kref);
	raw_spin_lock_irqsave(&r->lock, flags);
	preempt_notifier_register(&r->notifier);
	receiver_load(r, false);
	raw_spin_unlock_irqrestore(&r->lock, flags);
	return r;
free:
	kfree(r->memory);
	kfree(r);
	return ERR_PTR(error);
}

/* Whether the calling thread is the one, and still is what it was. */
bool receiver_is_mine(const struct receiver *r)
{
	return r->task == current && READ_ONCE(r->life) == RECEIVER_LIVE;
}

/* Whether the thread has let go: exited, or become another program. */
bool receiver_is_over(const struct receiver *r)
{
	return READ_ONCE(r->life) == RECEIVER_DETACHED;
}

/* The file lets go of it; by any thread. */
void receiver_close(struct receiver *r)
{
	bool mine = r->task == current && receiver_detach(r);
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	if (r->life == RECEIVER_LIVE)
		r->life = RECEIVER_CLOSED;
	raw_spin_unlock_irqrestore(&r->lock, flags);

	binding_unbind(r);
	if (mine)
		receiver_put(r);
	receiver_put(r);
}

void receiver_status(struct receiver *r, struct joulio_uintr_status *status)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	*status = r->status;
	if (r->aim.irqd) {
		status->irq = r->aim.irq;
		status->vector = r->aim.vector;
		status->cpu = r->aim.cpu;
	}
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/*
 * The kernel is about to give @vector of this CPU to somebody else: the device's
 * interrupt was moved elsewhere. On that CPU, interrupts off, under the kernel's
 * lock of the vectors. A thread that is off the CPU finds out when it comes back.
 */
void receivers_lose_vector(unsigned int cpu, unsigned int vector)
{
	struct receiver *r = __this_cpu_read(loaded);

	if (!r || cpu != smp_processor_id())
		return;
	raw_spin_lock(&r->lock);
	if (r->aim.irqd && r->aim.cpu == cpu && r->aim.vector == vector) {
		r->aim.irqd = NULL;
		r->status.state = JOULIO_UINTR_LOST;
		registers_aim(0);
	}
	raw_spin_unlock(&r->lock);
}

int receivers_init(void)
{
	leavers = alloc_workqueue("joulio_uintr", WQ_UNBOUND, 0);
	if (!leavers)
		return -ENOMEM;
	preempt_notifier_inc();
	return 0;
}

void receivers_exit(void)
{
	preempt_notifier_dec();
	destroy_workqueue(leavers);
}
