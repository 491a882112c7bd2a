// SPDX-License-Identifier: GPL-2.0-only
/*
 * CR4.UINTR, which is part of a thread's state like the rest: on no other
 * thread's time do the instructions exist. For the CPU it runs on, with
 * interrupts off.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <asm/cpufeature.h>
#include <asm/special_insns.h>
#include <asm/tlbflush.h>

#include "internal.h"

#define CR4_UINTR BIT_ULL(25)

/* Whether a kernel of its own uses the bit. */
bool cr4_is_taken(void)
{
	return __read_cr4() & CR4_UINTR;
}

#ifdef JOULIO_CR4_SHADOW

void cr4_uintr(bool on)
{
	cr4_update_irqsoff(on ? CR4_UINTR : 0, on ? 0 : CR4_UINTR);
}

int cr4_begin(void)
{
	return 0;
}

void cr4_end(void)
{
}

#else
/*
 * This kernel keeps its copy of CR4 from modules, so that the bit is in the
 * register alone. When it changes another bit it writes its copy, and this one
 * is lost: while a thread runs, that is when its process lets itself read the
 * time stamp counter or not (PR_SET_TSC), or maps perf counters for rdpmc. A
 * probe sets the bit again where that function returns, before an instruction
 * of the thread's can miss it.
 *
 * The probe is not the kernel's life: registers_save() sets the bit before it
 * uses an instruction that is none without it.
 */
static DEFINE_PER_CPU(bool, wanted);

static void write_bit(bool on)
{
	unsigned long old = __read_cr4();
	unsigned long new = on ? old | CR4_UINTR : old & ~CR4_UINTR;

	if (new != old)
		asm volatile("mov %0, %%cr4" : : "r" (new) : "memory");
}

void cr4_uintr(bool on)
{
	__this_cpu_write(wanted, on);
	write_bit(on);
}

#ifdef CONFIG_KRETPROBES
static int cr4_written(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	if (__this_cpu_read(wanted))
		write_bit(true);
	return 0;
}
NOKPROBE_SYMBOL(cr4_written);

static struct kretprobe probe = {
	.handler = cr4_written,
	.kp.symbol_name = "cr4_update_irqsoff",
};

static int probe_begin(void)
{
	return register_kretprobe(&probe);
}

static void probe_end(void)
{
	unregister_kretprobe(&probe);
}
#else
static int probe_begin(void)
{
	return -EOPNOTSUPP;
}

static void probe_end(void)
{
}
#endif

int cr4_begin(void)
{
	int error;

	if (dry_run)
		return 0;
	/* Without the instruction the kernel flushes by a write of its copy. */
	if (!boot_cpu_has(X86_FEATURE_INVPCID)) {
		pr_err("this kernel keeps CR4 from modules and flushes by it: boot without noinvpcid\n");
		return -EOPNOTSUPP;
	}
	error = probe_begin();
	if (error)
		pr_err("this kernel keeps CR4 from modules, and cr4_update_irqsoff cannot be probed (%d): it wants CONFIG_KRETPROBES, and kprobes that are not locked down\n",
		       error);
	return error;
}

void cr4_end(void)
{
	if (!dry_run)
		probe_end();
}
#endif
