// SPDX-License-Identifier: GPL-2.0-only
/*
 * The beginning and the end of a registered thread.
 *
 * Only the thread itself can take its notifier off its own list. Four of its
 * ways lead there: it unregisters, closes the file, calls exec, or exits
 * (hooks.c). Until then its handler may be running, so the registers stay as
 * they are but for the vector, which can be taken away at any time. When another
 * thread closes the file, all but the vector stays with the thread until it goes
 * one of these ways or registers anew, and keeps the module loaded.
 */
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/apic.h>
#include <asm/smp.h>

#include "internal.h"

static struct workqueue_struct *leavers;

static void receiver_put(struct receiver *r);

static void receiver_free(struct kref *kref)
{
	struct receiver *r = container_of(kref, struct receiver, kref);
	struct receiver *before = sends ? sends_leave(r) : NULL;

	receiver_settle(r);
	binding_free(r);
	put_task_struct(r->task);
	kfree(r->memory);
	kfree(r);
	if (before)
		receiver_put(before);
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

/* What is left to do after receiver_detach, which may be called anywhere. */
static void receiver_let_go(struct receiver *r)
{
	receiver_unload_elsewhere(r);
	binding_unbind(r);
	watches_end(r);
	receiver_put(r);
}

static void receiver_leaving(struct work_struct *work)
{
	receiver_let_go(container_of(work, struct receiver, leaving));
}

/*
 * The thread exits, or runs another program: what it registered names a handler
 * that is no longer there. It may be called with preemption off.
 */
void receiver_leave_current(void)
{
	struct receiver *r = receiver_current();

	if (r && receiver_detach(r))
		queue_work(leavers, &r->leaving);
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
	int error = -ENOMEM;

	if (thread->flags || thread->user_vector > 63 || !thread->handler ||
	    thread->handler >= TASK_SIZE_MAX)
		return ERR_PTR(-EINVAL);
	r = receiver_current();
	if (r && READ_ONCE(r->phase) == RECEIVER_LIVE)
		return ERR_PTR(-EBUSY);
	/* One whose file is closed: a thread has one at most. */
	receiver_leave_current();

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
	INIT_WORK(&r->leaving, receiver_leaving);

	kref_get(&r->kref);
	if (sends)
		sends_join(r);
	receiver_attach(r);
	return r;
free:
	kfree(r->memory);
	kfree(r);
	return ERR_PTR(error);
}

/* Whether the calling thread is the one, and still is what it was. */
bool receiver_is_mine(const struct receiver *r)
{
	return r->task == current && READ_ONCE(r->phase) == RECEIVER_LIVE;
}

/* Whether the thread has let go: exited, or become another program. */
bool receiver_is_over(const struct receiver *r)
{
	return READ_ONCE(r->phase) == RECEIVER_DETACHED;
}

/* The file lets go of it; by any thread. */
void receiver_close(struct receiver *r)
{
	bool mine = r->task == current && receiver_detach(r);
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	if (r->phase == RECEIVER_LIVE)
		r->phase = RECEIVER_CLOSED;
	raw_spin_unlock_irqrestore(&r->lock, flags);

	if (mine) {
		receiver_let_go(r);
	} else {
		binding_unbind(r);
		watches_end(r);
	}
	receiver_put(r);
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
