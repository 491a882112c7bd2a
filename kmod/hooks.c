// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel reports by its tracepoints, at once and in the right place:
 *
 * - A thread exits, in the thread. Its file may live on elsewhere.
 * - A thread has called exec, in the thread and before the new program's first
 *   instruction: a handler's address must never be one in a program that its
 *   caller did not choose the code of (set-user-ID). Nothing that hangs on the
 *   old address space would do: it lives on when another process shares it.
 * - A vector is about to be free for others, on the CPU whose vector it is.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>
#include <linux/version.h>

#include "internal.h"

#ifndef CONFIG_TRACEPOINTS
#error "joulio_uintr hears of threads that exit by tracepoints: CONFIG_TRACEPOINTS"
#endif

struct linux_binprm;

static void on_exec(void *data, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	receiver_leave_current();
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
static void on_exit(void *data, struct task_struct *task)
#else
static void on_exit(void *data, struct task_struct *task, bool group_dead)
#endif
{
	receiver_leave_current();
}

static void on_vector_free(void *data, unsigned int irq, unsigned int cpu, unsigned int vector,
			   bool managed)
{
	receiver_lose_vector(cpu, vector);
}

static struct hook {
	const char *name;
	void *probe;
	struct tracepoint *at;
} hooks[] = {
	{ "sched_process_exec", on_exec },
	{ "sched_process_exit", on_exit },
	{ "vector_free_moved", on_vector_free },
};

static void find_hook(struct tracepoint *tracepoint, void *data)
{
	struct hook *hook = data;

	if (!strcmp(tracepoint->name, hook->name))
		hook->at = tracepoint;
}

static void hooks_remove(size_t count)
{
	while (count--)
		tracepoint_probe_unregister(hooks[count].at, hooks[count].probe, NULL);
	/* None runs any more when this returns. */
	tracepoint_synchronize_unregister();
}

int hooks_init(void)
{
	size_t i;
	int error = 0;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		for_each_kernel_tracepoint(find_hook, &hooks[i]);
		if (!hooks[i].at) {
			pr_err("this kernel has no tracepoint %s\n", hooks[i].name);
			error = -EOPNOTSUPP;
			break;
		}
		error = tracepoint_probe_register(hooks[i].at, hooks[i].probe, NULL);
		if (error)
			break;
	}
	if (error)
		hooks_remove(i);
	return error;
}

void hooks_exit(void)
{
	hooks_remove(ARRAY_SIZE(hooks));
}
