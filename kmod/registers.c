// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registers of user interrupts (SDM volume 3, chapter "User Interrupts").
 * Everything here is for the CPU it runs on, with interrupts off.
 *
 * A switch writes what it changes. The handler, the descriptor and the table of
 * the thread that was here last stay in their registers while others run: with
 * CR4.UINTR clear there is no instruction that reads them and no delivery, and
 * with UINV 0 no interrupt that is looked up in them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/suspend.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/processor.h>

#include "internal.h"

#define MSR_UINTR_RR 0x985
#define MSR_UINTR_HANDLER 0x986
#define MSR_UINTR_STACKADJUST 0x987
#define MSR_UINTR_MISC 0x988 /* 31:0 last index of the table, 39:32 UINV */
#define MSR_UINTR_PD 0x989
#define MSR_UINTR_TT 0x98a

#define TT_ENABLE 1
#define RED_ZONE 128 /* bytes below RSP that the ABI leaves to leaf functions */
#define FEATURE_UINTR (CPUID_7_EDX * 32 + 5) /* on every CPU of the machine */

/* What this CPU's registers hold. */
struct held {
	u64 owner;    /* whose handler, descriptor and table, 0: nobody's */
	u64 waking;   /* since when: after how many of the machine's sleeps */
	u64 requests; /* UIRR, as long as CR4.UINTR is clear */
	u8 vector;    /* UINV */
};

static DEFINE_PER_CPU(struct held, held);

/* What registers lose in the machine's sleep is not relied on from its beginning on. */
static bool sleeping;
static u64 waking;

#ifdef JOULIO_UINTR_TESTS
static atomic_t writes = ATOMIC_INIT(0), reads = ATOMIC_INIT(0);
module_param_named(register_writes, writes.counter, int, 0444);
MODULE_PARM_DESC(register_writes, "WRMSR so far");
module_param_named(register_reads, reads.counter, int, 0444);
MODULE_PARM_DESC(register_reads, "RDMSR so far");
#define COUNT(counter) atomic_inc(&(counter))
#else
#define COUNT(counter)
#endif

static void write_register(u32 msr, u64 value)
{
	COUNT(writes);
	if (!dry_run)
		wrmsr(msr, (u32)value, (u32)(value >> 32));
}

static u64 read_requests(void)
{
	u32 low = 0, high = 0;

	COUNT(reads);
	/* In a dry run as if the handler had run. */
	if (!dry_run)
		rdmsr(MSR_UINTR_RR, low, high);
	return (u64)high << 32 | low;
}

/* Whether this machine can do it; 0 or an errno, said why. */
static int registers_check(void)
{
	if (dry_run)
		return 0;
	if (!boot_cpu_has(FEATURE_UINTR)) {
		pr_err("this CPU has no user interrupts (CPUID 7.0:EDX[5]); dry_run=1 does all else\n");
		return -ENODEV;
	}
	if (cr4_is_taken()) {
		pr_err("this kernel has user interrupts of its own (CR4.UINTR is set)\n");
		return -EBUSY;
	}
	/* The CPU reads the descriptor and the table by user space's page table. */
	if (boot_cpu_has(X86_FEATURE_PTI)) {
		pr_err("page table isolation is on; boot with pti=off\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* The table has one entry, so its last index is 0. */
static void write_vector(u8 vector)
{
	write_register(MSR_UINTR_MISC, (u64)vector << 32 | (sends ? 1 : 0));
}

/* From now on @vector is the thread's, 0: none is. */
void registers_set_vector(u8 vector)
{
	struct held *here = this_cpu_ptr(&held);

	if (here->vector == vector)
		return;
	here->vector = vector;
	write_vector(vector);
}

void registers_load(const struct uintr_registers *regs, const struct uintr_memory *memory,
		    u8 vector)
{
	struct held *here = this_cpu_ptr(&held);
	bool asleep = READ_ONCE(sleeping);

	smp_rmb(); /* pairs with on_sleep */
	if (!dry_run)
		cr4_uintr(true);
	if (asleep || here->owner != regs->owner || here->waking != READ_ONCE(waking)) {
		here->owner = regs->owner;
		here->waking = READ_ONCE(waking);
		here->requests = regs->requests;
		here->vector = vector;
		write_register(MSR_UINTR_HANDLER, regs->handler);
		write_register(MSR_UINTR_STACKADJUST, RED_ZONE);
		write_register(MSR_UINTR_PD, (uintptr_t)&memory->upid);
		write_register(MSR_UINTR_TT, (uintptr_t)memory->targets | TT_ENABLE);
		write_register(MSR_UINTR_RR, regs->requests);
		/* Last: nothing may arrive before there is a place for it. */
		write_vector(vector);
	} else {
		if (here->requests != regs->requests)
			write_register(MSR_UINTR_RR, regs->requests);
		registers_set_vector(vector);
	}
	if (regs->flag && !dry_run)
		asm volatile(".byte 0xf3, 0x0f, 0x01, 0xef # stui");
}

void registers_save(struct uintr_registers *regs)
{
	if (!dry_run) {
		/* The kernel may have written its own CR4 (cr4.c). */
		cr4_uintr(true);
		asm volatile(".byte 0xf3, 0x0f, 0x01, 0xed # testui\n\t"
			     "setc %0" : "=qm" (regs->flag) : : "cc");
		asm volatile(".byte 0xf3, 0x0f, 0x01, 0xee # clui");
	}
	/* First: nothing may arrive any more when the requests are read. */
	registers_set_vector(0);
	regs->requests = read_requests();
	__this_cpu_write(held.requests, regs->requests);
	if (!dry_run)
		cr4_uintr(false);
}

/* From now on that user interrupt is pending, of the thread whose state is loaded. */
void registers_request(u8 user_vector)
{
	write_register(MSR_UINTR_RR, read_requests() | BIT_ULL(user_vector));
}

/* Nothing of anybody's is left on this CPU. */
static void registers_forget(void)
{
	struct held *here = this_cpu_ptr(&held);

	here->owner = 0;
	here->requests = 0;
	here->vector = 0;
	write_register(MSR_UINTR_MISC, 0);
	write_register(MSR_UINTR_RR, 0);
	write_register(MSR_UINTR_PD, 0);
	write_register(MSR_UINTR_TT, 0);
	write_register(MSR_UINTR_HANDLER, 0);
}

static void forget_here(void *unused)
{
	registers_forget();
}

/* On the CPU, which may have lost them; nothing but the kernel ran on it yet. */
static int on_online(unsigned int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	registers_forget();
	local_irq_restore(flags);
	return 0;
}

/* Before threads are frozen, and after they run again: in between all is written. */
static int on_sleep(struct notifier_block *block, unsigned long event, void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		WRITE_ONCE(sleeping, true);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		WRITE_ONCE(waking, waking + 1);
		smp_wmb(); /* who sees the end of the sleep sees that it was one */
		WRITE_ONCE(sleeping, false);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block sleep_notifier = { .notifier_call = on_sleep };
static enum cpuhp_state online_state;

int registers_init(void)
{
	int error = registers_check();

	if (!error)
		error = cr4_begin();
	if (error)
		return error;
	error = register_pm_notifier(&sleep_notifier);
	if (error)
		goto cr4;
	error = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "joulio_uintr:registers", on_online,
					  NULL);
	if (error < 0)
		goto notifier;
	online_state = error;
	return 0;

notifier:
	unregister_pm_notifier(&sleep_notifier);
cr4:
	cr4_end();
	return error;
}

/* When no thread is registered any more. */
void registers_exit(void)
{
	cpuhp_remove_state_nocalls(online_state);
	unregister_pm_notifier(&sleep_notifier);
	on_each_cpu(forget_here, NULL, true);
	cr4_end();
}
