// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eventfds whose signals are user interrupts of a thread: what KVM's irqfd is to
 * a guest. The interrupts of a thread's other devices stay the kernel's, which
 * signals their eventfds; the thread hears of it at once, where it is.
 *
 * A watch holds the eventfd's context, which has what it waits in; so a file that
 * is closed meanwhile leaves a watch of which nothing more is heard, until it is
 * taken away: by its number, since there is no descriptor any more, or with the
 * thread's registration.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "internal.h"

struct watch {
	struct receiver *receiver;
	struct listener listener;
};

static void listener_queue(struct file *file, wait_queue_head_t *signals, poll_table *table)
{
	struct listener *listener = container_of(table, struct listener, table);

	listener->signals = signals;
	/* In its own order: nobody waits for what it does. */
	add_wait_queue(signals, &listener->entry);
}

/*
 * From now on @signalled is called whenever the eventfd is, under its lock and in
 * any context; @signalled must be set by then. Returns whether it was before.
 */
int listener_open(struct listener *listener, int fd, wait_queue_func_t called)
{
	struct file *file = eventfd_fget(fd);
	struct eventfd_ctx *eventfd;
	bool before;

	if (IS_ERR(file))
		return PTR_ERR(file);
	/* Also keeps what the listener waits in. */
	eventfd = eventfd_ctx_fileget(file);
	init_waitqueue_func_entry(&listener->entry, called);
	init_poll_funcptr(&listener->table, listener_queue);
	before = vfs_poll(file, &listener->table) & EPOLLIN;
	fput(file);
	listener->eventfd = eventfd;
	return before;
}

/* When this returns nobody calls it any more. */
void listener_close(struct listener *listener)
{
	remove_wait_queue(listener->signals, &listener->entry);
	eventfd_ctx_put(listener->eventfd);
}

static int watch_signalled(wait_queue_entry_t *entry, unsigned int mode, int sync, void *key)
{
	struct watch *watch = container_of(entry, struct watch, listener.entry);

	if (key_to_poll(key) & EPOLLIN)
		receiver_notify(watch->receiver);
	return 0;
}

/* By the registered thread. Returns the number of the watch. */
int watch_add(struct receiver *r, int fd)
{
	struct watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);
	u32 number;
	int result;

	if (!watch)
		return -ENOMEM;
	watch->receiver = r;
	mutex_lock(&r->binding);
	result = xa_alloc(&r->watches, &number, watch, XA_LIMIT(0, JOULIO_UINTR_WATCHES - 1),
			  GFP_KERNEL_ACCOUNT);
	if (result) {
		/* -EBUSY is how it says that all numbers are taken. */
		result = result == -EBUSY ? -ENOSPC : result;
		goto free;
	}
	result = listener_open(&watch->listener, fd, watch_signalled);
	if (result < 0) {
		xa_erase(&r->watches, number);
		goto free;
	}
	if (result)
		receiver_notify(r);
	mutex_unlock(&r->binding);
	return number;

free:
	mutex_unlock(&r->binding);
	kfree(watch);
	return result;
}

/* By the registered thread. */
int watch_remove(struct receiver *r, u32 number)
{
	struct watch *watch;

	mutex_lock(&r->binding);
	watch = xa_erase(&r->watches, number);
	mutex_unlock(&r->binding);
	if (!watch)
		return -ENOENT;
	listener_close(&watch->listener);
	kfree(watch);
	return 0;
}

/* By anybody: the thread, or its file, has let go. */
void watches_end(struct receiver *r)
{
	struct watch *watch;
	unsigned long number;

	mutex_lock(&r->binding);
	xa_for_each(&r->watches, number, watch) {
		xa_erase(&r->watches, number);
		listener_close(&watch->listener);
		kfree(watch);
	}
	mutex_unlock(&r->binding);
}
