// SPDX-License-Identifier: GPL-2.0-only
/* /dev/joulio_uintr: an open file is one thread and its interrupt. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "internal.h"

bool dry_run;
module_param(dry_run, bool, 0444);
MODULE_PARM_DESC(dry_run, "all but the CPU's registers, on any CPU; nothing is delivered");

bool test_source;
module_param(test_source, bool, 0444);
MODULE_PARM_DESC(test_source, "interrupts without a device, for processes with CAP_SYS_RAWIO");

#ifdef JOULIO_UINTR_TESTS
bool no_notifiers;
module_param(no_notifiers, bool, 0444);
MODULE_PARM_DESC(no_notifiers, "processes take each other's user interrupts: a test of the test");
#endif

struct client {
	struct mutex lock;
	struct receiver *receiver;
};

static long client_info(void __user *to)
{
	struct joulio_uintr_info info = {
		.abi = JOULIO_UINTR_ABI,
		.flags = (dry_run ? JOULIO_UINTR_DRY_RUN : JOULIO_UINTR_HARDWARE) |
			 (test_source ? JOULIO_UINTR_TEST_SOURCE : 0),
	};

	return copy_to_user(to, &info, sizeof(info)) ? -EFAULT : 0;
}

static long client_register(struct client *client, const void __user *from)
{
	struct joulio_uintr_thread thread;
	struct receiver *receiver;

	if (copy_from_user(&thread, from, sizeof(thread)))
		return -EFAULT;
	if (client->receiver && !receiver_is_over(client->receiver))
		return -EBUSY;
	receiver = receiver_register(&thread);
	if (IS_ERR(receiver))
		return PTR_ERR(receiver);
	if (client->receiver)
		receiver_close(client->receiver);
	client->receiver = receiver;
	return 0;
}

static long client_unregister(struct client *client)
{
	receiver_close(client->receiver);
	client->receiver = NULL;
	return 0;
}

static long client_bind(struct client *client, const void __user *from)
{
	struct joulio_uintr_bind bind;

	if (copy_from_user(&bind, from, sizeof(bind)))
		return -EFAULT;
	if (bind.flags)
		return -EINVAL;
	return binding_bind(client->receiver, bind.eventfd);
}

static long client_status(const struct client *client, void __user *to)
{
	struct joulio_uintr_status status = { .state = JOULIO_UINTR_NONE };

	if (client->receiver)
		receiver_status(client->receiver, &status);
	return copy_to_user(to, &status, sizeof(status)) ? -EFAULT : 0;
}

static long client_source(const void __user *from)
{
	struct joulio_uintr_source source;

	return copy_from_user(&source, from, sizeof(source)) ? -EFAULT : source_create(&source);
}

static long client_watch(struct client *client, const void __user *from)
{
	struct joulio_uintr_watch watch;

	if (copy_from_user(&watch, from, sizeof(watch)))
		return -EFAULT;
	if (watch.flags)
		return -EINVAL;
	return watch_add(client->receiver, watch.eventfd);
}

static long client_unwatch(struct client *client, const void __user *from)
{
	__u32 number;

	if (copy_from_user(&number, from, sizeof(number)))
		return -EFAULT;
	return watch_remove(client->receiver, number);
}

/* What only the registered thread itself may ask for. */
static long client_own(struct client *client, unsigned int request, void __user *argument)
{
	if (!client->receiver)
		return -ESRCH;
	if (!receiver_is_mine(client->receiver))
		return -EPERM;

	switch (request) {
	case JOULIO_UINTR_UNREGISTER:
		return client_unregister(client);
	case JOULIO_UINTR_BIND:
		return client_bind(client, argument);
	case JOULIO_UINTR_WATCH:
		return client_watch(client, argument);
	case JOULIO_UINTR_UNWATCH:
		return client_unwatch(client, argument);
	default: /* JOULIO_UINTR_UNBIND */
		return binding_unbind(client->receiver);
	}
}

static long client_ioctl(struct file *file, unsigned int request, unsigned long number)
{
	struct client *client = file->private_data;
	void __user *argument = (void __user *)number;
	long result;

	switch (request) {
	case JOULIO_UINTR_INFO:
		return client_info(argument);
	case JOULIO_UINTR_SOURCE:
		return client_source(argument);
	case JOULIO_UINTR_REGISTER:
	case JOULIO_UINTR_UNREGISTER:
	case JOULIO_UINTR_BIND:
	case JOULIO_UINTR_UNBIND:
	case JOULIO_UINTR_STATUS:
	case JOULIO_UINTR_WATCH:
	case JOULIO_UINTR_UNWATCH:
		break;
	default:
		return -ENOTTY;
	}

	if (mutex_lock_interruptible(&client->lock))
		return -ERESTARTSYS;
	if (request == JOULIO_UINTR_REGISTER)
		result = client_register(client, argument);
	else if (request == JOULIO_UINTR_STATUS)
		result = client_status(client, argument);
	else
		result = client_own(client, request, argument);
	mutex_unlock(&client->lock);
	return result;
}

static int client_open(struct inode *inode, struct file *file)
{
	struct client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);

	if (!client)
		return -ENOMEM;
	mutex_init(&client->lock);
	file->private_data = client;
	return 0;
}

static int client_release(struct inode *inode, struct file *file)
{
	struct client *client = file->private_data;

	if (client->receiver)
		receiver_close(client->receiver);
	kfree(client);
	return 0;
}

static const struct file_operations client_operations = {
	.owner = THIS_MODULE,
	.open = client_open,
	.release = client_release,
	.unlocked_ioctl = client_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "joulio_uintr",
	.fops = &client_operations,
};

static int __init joulio_uintr_init(void)
{
	int error = registers_init();

	if (error)
		return error;
	error = receivers_init();
	if (error)
		goto registers;
	error = bindings_init();
	if (error)
		goto receivers;
	error = hooks_init();
	if (error)
		goto bindings;
	error = source_irqs_init();
	if (error)
		goto hooks;
	error = misc_register(&device);
	if (error)
		goto sources;
#ifdef JOULIO_UINTR_TESTS
	pr_warn("a build for tests\n");
#endif
	return 0;

sources:
	source_irqs_exit();
hooks:
	hooks_exit();
bindings:
	bindings_exit();
receivers:
	receivers_exit();
registers:
	registers_exit();
	return error;
}

static void __exit joulio_uintr_exit(void)
{
	misc_deregister(&device);
	source_irqs_exit();
	hooks_exit();
	bindings_exit();
	/* It waits for what the others have started. */
	receivers_exit();
	registers_exit();
}

module_init(joulio_uintr_init);
module_exit(joulio_uintr_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A device interrupt as a user interrupt of one thread");
MODULE_AUTHOR("The joulio authors");
MODULE_VERSION("1");
