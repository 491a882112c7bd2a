// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registers of user interrupts (SDM volume 3, chapter "User Interrupts").
 * Everything here is for the CPU it runs on, with interrupts off.
 *
 * CR4.UINTR is part of a thread's state like the rest: on no other thread's
 * time do the instructions exist.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/processor.h>
#include <asm/special_insns.h>
#include <asm/tlbflush.h>

#include "internal.h"

#define MSR_UINTR_RR 0x985
#define MSR_UINTR_HANDLER 0x986
#define MSR_UINTR_STACKADJUST 0x987
#define MSR_UINTR_MISC 0x988 /* 31:0 last index of the table, 39:32 UINV */
#define MSR_UINTR_PD 0x989
#define MSR_UINTR_TT 0x98a

#define TT_ENABLE 1
#define RED_ZONE 128 /* bytes below RSP that the ABI leaves to leaf functions */
#define CR4_UINTR BIT_ULL(25)
#define FEATURE_UINTR (CPUID_7_EDX * 32 + 5) /* on every CPU of the machine */

static void write_register(u32 msr, u64 value)
{
	wrmsr(msr, (u32)value, (u32)(value >> 32));
}

#ifdef JOULIO_CR4_SHADOW
static void cr4_uintr(bool on)
{
	cr4_update_irqsoff(on ? CR4_UINTR : 0, on ? 0 : CR4_UINTR);
}
#else
/*
 * This kernel keeps its copy of CR4 from modules. When it changes another bit
 * while the thread runs (perf lets the process read counters by rdpmc), the
 * bit is lost until the thread's next turn: the device's vector is then an
 * ordinary interrupt, and senduipi an invalid instruction.
 */
static void cr4_uintr(bool on)
{
	unsigned long old = __read_cr4();
	unsigned long new = on ? old | CR4_UINTR : old & ~CR4_UINTR;

	if (new != old)
		asm volatile("mov %0, %%cr4" : : "r" (new) : "memory");
}
#endif

/* Whether this machine can do it; 0 or an errno, said why. */
int registers_check(void)
{
	if (dry_run)
		return 0;
	if (!boot_cpu_has(FEATURE_UINTR)) {
		pr_err("this CPU has no user interrupts (CPUID 7.0:EDX[5]); dry_run=1 does all else\n");
		return -ENODEV;
	}
	if (__read_cr4() & CR4_UINTR) {
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

/*
 * From now on @vector is the thread's, 0: none is. The table has one entry, so
 * its last index is 0.
 */
void registers_aim(u8 vector)
{
	if (!dry_run)
		write_register(MSR_UINTR_MISC, (u64)vector << 32);
}

void registers_load(const struct uintr_registers *regs, const struct uintr_memory *memory,
		    u8 vector)
{
	if (dry_run)
		return;
	cr4_uintr(true);
	write_register(MSR_UINTR_HANDLER, regs->handler);
	write_register(MSR_UINTR_STACKADJUST, RED_ZONE);
	write_register(MSR_UINTR_PD, (uintptr_t)&memory->upid);
	write_register(MSR_UINTR_TT, (uintptr_t)memory->targets | TT_ENABLE);
	write_register(MSR_UINTR_RR, regs->requests);
	/* Last: nothing may arrive before there is a place for it. */
	registers_aim(vector);
	if (regs->flag)
		asm volatile(".byte 0xf3, 0x0f, 0x01, 0xef # stui");
}

void registers_save(struct uintr_registers *regs)
{
	u32 low, high;

	if (dry_run) {
		/* As if the handler had run. */
		regs->requests = 0;
		return;
	}
	asm volatile(".byte 0xf3, 0x0f, 0x01, 0xed # testui\n\t"
		     "setc %0" : "=qm" (regs->flag) : : "cc");
	asm volatile(".byte 0xf3, 0x0f, 0x01, 0xee # clui");
	/* First: nothing may arrive any more when the requests are read. */
	registers_aim(0);
	rdmsr(MSR_UINTR_RR, low, high);
	regs->requests = (u64)high << 32 | low;
	write_register(MSR_UINTR_RR, 0);
	write_register(MSR_UINTR_PD, 0);
	write_register(MSR_UINTR_TT, 0);
	write_register(MSR_UINTR_HANDLER, 0);
	cr4_uintr(false);
}
