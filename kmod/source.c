// SPDX-License-Identifier: GPL-2.0-only
/*
 * An interrupt without a device, for tests: a handler that signals an eventfd as
 * VFIO's does, and three ways to raise it. It is offered to the IRQ bypass
 * manager, so that a thread binds it like any other.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/hw_breakpoint.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "internal.h"

#define MAX_DELAY_NS (60 * NSEC_PER_SEC)

struct source {
	unsigned int irq;
	atomic64_t raised;
	struct eventfd_ctx *eventfd;
	struct irq_bypass_producer producer;
	struct hrtimer timer;
	struct mutex lock; /* of the breakpoint */
	struct perf_event *breakpoint;
	atomic_t waits; /* for the next hit of the breakpoint, no other */
};

static int register_producer(struct source *source)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	source->producer.token = source->eventfd;
	source->producer.irq = source->irq;
	return irq_bypass_register_producer(&source->producer);
#else
	return irq_bypass_register_producer(&source->producer, source->eventfd, source->irq);
#endif
}

static irqreturn_t source_interrupt(int irq, void *data)
{
	struct eventfd_ctx *eventfd = data;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	eventfd_signal(eventfd, 1);
#else
	eventfd_signal(eventfd);
#endif
	return IRQ_HANDLED;
}

/* Any context. The count is there before the interrupt is. */
static void source_raise(struct source *source)
{
	atomic64_inc(&source->raised);
	source_irq_raise(source->irq);
}

static enum hrtimer_restart source_timer(struct hrtimer *timer)
{
	source_raise(container_of(timer, struct source, timer));
	return HRTIMER_NORESTART;
}

static void source_breakpoint(struct perf_event *event, struct perf_sample_data *sample,
			      struct pt_regs *regs)
{
	struct source *source = event->overflow_handler_context;

	if (atomic_xchg(&source->waits, 0))
		source_raise(source);
}

static long source_raise_after(struct source *source, u64 ns)
{
	if (ns > MAX_DELAY_NS)
		return -EINVAL;
	if (ns)
		hrtimer_start(&source->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_HARD);
	else
		hrtimer_cancel(&source->timer);
	return 0;
}

static long source_raise_at(struct source *source, u64 address)
{
	struct perf_event_attr attr;
	struct perf_event *event;
	long error = 0;

	if (address >= TASK_SIZE_MAX)
		return -EINVAL;

	mutex_lock(&source->lock);
	if (source->breakpoint)
		unregister_hw_breakpoint(source->breakpoint);
	source->breakpoint = NULL;
	if (address) {
		hw_breakpoint_init(&attr);
		attr.bp_addr = address;
		attr.bp_len = sizeof(long);
		attr.bp_type = HW_BREAKPOINT_X;
		attr.exclude_kernel = 1;
		atomic_set(&source->waits, 1);
		event = register_user_hw_breakpoint(&attr, source_breakpoint, source, current);
		if (IS_ERR(event))
			error = PTR_ERR(event);
		else
			source->breakpoint = event;
	}
	mutex_unlock(&source->lock);
	return error;
}

static long source_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	struct source *source = file->private_data;
	u64 value;

	if (request != JOULIO_UINTR_RAISE_AFTER && request != JOULIO_UINTR_RAISE_AT)
		return -ENOTTY;
	if (copy_from_user(&value, (void __user *)argument, sizeof(value)))
		return -EFAULT;
	if (request == JOULIO_UINTR_RAISE_AFTER)
		return source_raise_after(source, value);
	return source_raise_at(source, value);
}

static ssize_t source_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	u64 value;

	if (size != sizeof(value))
		return -EINVAL;
	if (copy_from_user(&value, from, sizeof(value)))
		return -EFAULT;
	if (!value)
		return -EINVAL;
	source_raise(file->private_data);
	return sizeof(value);
}

static ssize_t source_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct source *source = file->private_data;
	u64 raised = atomic64_read(&source->raised);

	if (size < sizeof(raised))
		return -EINVAL;
	if (copy_to_user(to, &raised, sizeof(raised)))
		return -EFAULT;
	return sizeof(raised);
}

static int source_release(struct inode *inode, struct file *file)
{
	struct source *source = file->private_data;

	if (source->breakpoint)
		unregister_hw_breakpoint(source->breakpoint);
	hrtimer_cancel(&source->timer);
	/* Nothing raises it any more. As VFIO: unregister, then free. */
	irq_bypass_unregister_producer(&source->producer);
	free_irq(source->irq, source->eventfd);
	/* One that was raised just now has to reach its CPU while it has a vector. */
	synchronize_rcu();
	source_irq_free(source->irq);
	eventfd_ctx_put(source->eventfd);
	kfree(source);
	return 0;
}

static const struct file_operations source_operations = {
	.owner = THIS_MODULE,
	.release = source_release,
	.read = source_read,
	.write = source_write,
	.unlocked_ioctl = source_ioctl,
	.llseek = noop_llseek,
};

static int source_irq(struct source *source, unsigned int cpu)
{
	int error, irq = source_irq_alloc(cpu);

	if (irq < 0)
		return irq;
	error = request_irq(irq, source_interrupt, 0, "joulio-uintr", source->eventfd);
	if (error)
		source_irq_free(irq);
	else
		source->irq = irq;
	return error;
}

/* A descriptor of a new one, for the calling process. */
int source_create(const struct joulio_uintr_source *request)
{
	struct source *source;
	int error, fd;

	if (!test_source)
		return -EOPNOTSUPP;
	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	if (request->flags || request->pad || request->cpu >= nr_cpu_ids)
		return -EINVAL;

	source = kzalloc(sizeof(*source), GFP_KERNEL_ACCOUNT);
	if (!source)
		return -ENOMEM;
	mutex_init(&source->lock);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(&source->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	source->timer.function = source_timer;
#else
	hrtimer_setup(&source->timer, source_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#endif

	source->eventfd = eventfd_ctx_fdget(request->eventfd);
	if (IS_ERR(source->eventfd)) {
		error = PTR_ERR(source->eventfd);
		goto free;
	}
	error = source_irq(source, request->cpu);
	if (error)
		goto put;
	error = register_producer(source);
	if (error)
		goto irq;
	fd = anon_inode_getfd("[joulio_uintr]", &source_operations, source, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		return fd;

	error = fd;
	irq_bypass_unregister_producer(&source->producer);
irq:
	free_irq(source->irq, source->eventfd);
	source_irq_free(source->irq);
put:
	eventfd_ctx_put(source->eventfd);
free:
	kfree(source);
	return error;
}
