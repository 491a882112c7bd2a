// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device interrupt for a registered thread, named by the eventfd that its
 * driver signals: whoever has the eventfd was given the interrupt.
 *
 * The driver (VFIO) is the producer of the IRQ bypass manager, which reports
 * the interrupt, and its end before the driver frees it. Between the two
 * callbacks the interrupt exists; nothing here touches it outside of them but
 * under the receiver's lock, while the route is set.
 *
 * The interrupt is moved to the thread's CPU, whatever CPUs an administrator
 * gave it, and kept there: user space (irqbalance) cannot move it while it is
 * bound, and it goes back to those CPUs afterwards. What can is the CPU going
 * offline (bindings_offline, before the kernel moves its interrupts), and a
 * write to /proc/irq/N/smp_affinity that was let through before the interrupt
 * was bound (receiver_lose_vector).
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/eventfd.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/irqdomain.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/version.h>
#include <asm/irqdomain.h>

#include "internal.h"

/* Receivers that have an interrupt. Taken inside the bypass manager's lock. */
static DEFINE_MUTEX(taken_lock);
static LIST_HEAD(taken);
static enum cpuhp_state offline_state;

static int register_consumer(struct irq_bypass_consumer *consumer, struct eventfd_ctx *eventfd)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	consumer->token = eventfd;
	return irq_bypass_register_consumer(consumer);
#else
	return irq_bypass_register_consumer(consumer, eventfd);
#endif
}

/*
 * Whether the interrupt has a vector of its own, and comes as an edge: then the
 * CPU can take it without anybody's help.
 */
static bool irq_is_direct(struct irq_data *irqd)
{
	struct irq_data *root;

	for (root = irqd; root->parent_data; root = root->parent_data)
		/* intremap=posted_msi: all devices share one vector. */
		if (root->chip && root->chip->name && !strcmp(root->chip->name, "INTEL-IR-POST"))
			return false;
	return root->domain == x86_vector_domain && !irqd_is_level_type(irqd) &&
	       !irqd_affinity_is_managed(irqd);
}

/* The CPUs that an administrator gave it, be it that it has yet to move to them. */
static void get_affinity(struct irq_data *irqd, struct cpumask *cpus)
{
	struct irq_desc *desc = irq_data_to_desc(irqd);
	unsigned long flags;

	raw_spin_lock_irqsave(&desc->lock, flags);
	if (irqd_is_setaffinity_pending(irqd))
		cpumask_copy(cpus, desc->pending_mask);
	else
		cpumask_copy(cpus, irq_data_get_affinity_mask(irqd));
	raw_spin_unlock_irqrestore(&desc->lock, flags);
}

/* It is the receiver's no more, and stays where it is. */
static void leave(struct receiver *r)
{
	mutex_lock(&taken_lock);
	list_del(&r->taken);
	mutex_unlock(&taken_lock);

	if (r->balanced)
		irq_clear_status_flags(r->irq, IRQ_NO_BALANCING);
	r->irq = 0;
}

static void give_back(struct receiver *r)
{
	unsigned int irq = r->irq;

	leave(r);
	/*
	 * Now; or with its next occurrence, when the kernel has not cleaned up
	 * after the last move yet. When its CPUs have gone offline it stays
	 * where it is.
	 */
	if (irq_force_affinity(irq, r->affinity) == -EBUSY)
		irq_set_affinity(irq, r->affinity);
}

/* -EINPROGRESS: the kernel has not cleaned up after the last move yet; it takes a jiffy. */
static int take(struct receiver *r, unsigned int irq)
{
	struct irq_data *irqd = irq_get_irq_data(irq);
	struct irq_route route = { .irqd = irqd, .irq = irq };
	int error;

	if (!irqd || !irq_is_direct(irqd))
		return -EOPNOTSUPP;

	/* The calling thread is the one, and pinned (binding_bind). */
	route.cpu = raw_smp_processor_id();
	r->irq = irq;
	r->balanced = irqd_can_balance(irqd);
	get_affinity(irqd, r->affinity);
	mutex_lock(&taken_lock);
	list_add(&r->taken, &taken);
	mutex_unlock(&taken_lock);

	irq_set_status_flags(irq, IRQ_NO_BALANCING);
	/* Forced: otherwise a move that cannot be now is one with its next occurrence. */
	error = irq_force_affinity(irq, cpumask_of(route.cpu));
	if (error) {
		/* It has not moved. To ask for its own CPUs would begin a move. */
		leave(r);
		return error == -EBUSY ? -EINPROGRESS : error;
	}
	route.vector = route_vector(irqd, route.cpu);
	if (!route.vector) {
		/* Without remapping some move with their next occurrence only. */
		give_back(r);
		return -EAGAIN;
	}
	receiver_set_route(r, &route);
	return 0;
}

/*
 * Process context, under the bypass manager's lock: the interrupt exists. All
 * of the machine's drivers wait for that lock, so nothing here waits for time to
 * pass.
 */
static int add_producer(struct irq_bypass_consumer *consumer, struct irq_bypass_producer *producer)
{
	struct receiver *r = container_of(consumer, struct receiver, consumer);

	/*
	 * Only what is there while the thread binds. The driver may offer the
	 * eventfd's interrupt anew later: the thread then has to bind anew.
	 */
	if (!r->binds || r->task != current)
		return 0;
	return take(r, producer->irq);
}

/*
 * As above; the driver frees the interrupt when this has returned, or the
 * thread unbinds. Disarmed first: the vector may be somebody else's right after.
 */
static void del_producer(struct irq_bypass_consumer *consumer, struct irq_bypass_producer *producer)
{
	struct receiver *r = container_of(consumer, struct receiver, consumer);

	if (!r->irq)
		return;
	receiver_disarm(r);
	give_back(r);
}

/*
 * Somebody signals the eventfd, under its lock: the kernel's handler, for an
 * interrupt that the thread was not there for, or anybody.
 */
static int on_signal(wait_queue_entry_t *entry, unsigned int mode, int sync, void *key)
{
	struct receiver *r = container_of(entry, struct receiver, listener.entry);

	if (key_to_poll(key) & EPOLLIN)
		WRITE_ONCE(r->missed, true);
	return 0;
}

/* From now on the receiver knows of the eventfd's signals, of those before as of one. */
static int get_eventfd(struct receiver *r, int fd)
{
	int before;

	WRITE_ONCE(r->missed, false);
	before = listener_open(&r->listener, fd, on_signal);
	if (before < 0)
		return before;
	if (before)
		WRITE_ONCE(r->missed, true);
	WRITE_ONCE(r->eventfd, r->listener.eventfd);
	return 0;
}

static void put_eventfd(struct receiver *r)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&r->lock, flags);
	WRITE_ONCE(r->eventfd, NULL);
	raw_spin_unlock_irqrestore(&r->lock, flags);
	/* Nobody starts it any more, and it reads the pointer once. */
	irq_work_sync(&r->rescue);
	listener_close(&r->listener);
}

static void drop_consumer(struct receiver *r)
{
	unsigned long flags;

	irq_bypass_unregister_consumer(&r->consumer);
	put_eventfd(r);
	r->bound = false;
	raw_spin_lock_irqsave(&r->lock, flags);
	if (r->phase == RECEIVER_LIVE)
		r->status.state = JOULIO_UINTR_REGISTERED;
	raw_spin_unlock_irqrestore(&r->lock, flags);
}

/* The CPU stays online until the route is set, so that its end is seen. */
static int try_to_bind(struct receiver *r, int fd)
{
	int error;

	if (r->bound)
		return -EBUSY;
	/* Before the first interrupt may be pending. */
	error = get_eventfd(r, fd);
	if (error)
		return error;
	r->binds = true;
	error = register_consumer(&r->consumer, r->eventfd);
	r->binds = false;
	if (error) {
		put_eventfd(r);
	} else if (!r->irq) {
		drop_consumer(r);
		error = -ENODEV;
	} else {
		r->bound = true;
		receiver_arm(r);
	}
	return error;
}

/* Binds the calling thread, which is the receiver's. */
int binding_bind(struct receiver *r, int fd)
{
	int tries = 20;
	int error;

	if (current->nr_cpus_allowed != 1)
		return -EXDEV;
	for (;;) {
		cpus_read_lock();
		mutex_lock(&r->binding);
		error = try_to_bind(r, fd);
		mutex_unlock(&r->binding);
		cpus_read_unlock();
		if (error != -EINPROGRESS)
			return error;
		if (!--tries)
			return -EAGAIN;
		usleep_range(500, 1500);
	}
}

/* By anybody. */
int binding_unbind(struct receiver *r)
{
	int error = 0;

	mutex_lock(&r->binding);
	if (r->bound)
		drop_consumer(r);
	else
		error = -ENOTCONN;
	mutex_unlock(&r->binding);
	return error;
}

/* @cpu goes offline: the kernel moves its interrupts, and bindings are lost. */
static int bindings_offline(unsigned int cpu)
{
	struct receiver *r;

	mutex_lock(&taken_lock);
	list_for_each_entry(r, &taken, taken)
		if (r->route.irqd && r->route.cpu == cpu)
			receiver_disarm(r);
	mutex_unlock(&taken_lock);
	return 0;
}

int binding_init(struct receiver *r)
{
	if (!zalloc_cpumask_var(&r->affinity, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	mutex_init(&r->binding);
	xa_init_flags(&r->watches, XA_FLAGS_ALLOC);
	r->consumer.add_producer = add_producer;
	r->consumer.del_producer = del_producer;
	return 0;
}

void binding_free(struct receiver *r)
{
	free_cpumask_var(r->affinity);
	xa_destroy(&r->watches);
}

int bindings_init(void)
{
	int state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "joulio_uintr:online", NULL,
					      bindings_offline);

	offline_state = state;
	return state < 0 ? state : 0;
}

void bindings_exit(void)
{
	cpuhp_remove_state_nocalls(offline_state);
}
