// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests of the CPU, loaded with sends=1: senduipi sends. Of 0 to the thread
 * itself, of 1 to the last that was registered before it. The interrupt has the
 * vector of what the thread has bound, and goes to the CPU that the thread is on;
 * while it is on none it is suppressed, and what was requested meanwhile is pending
 * when the thread comes back. Nothing is filled in for a device.
 */
#include <linux/bitops.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <asm/apic.h>
#include <asm/smp.h>

#include "internal.h"

bool sends;
module_param(sends, bool, 0444);
MODULE_PARM_DESC(sends, "senduipi sends its interrupt: a test of the CPU");

#define OUTSTANDING 0 /* bits of the descriptor's first word */
#define SUPPRESSED 1

static DEFINE_MUTEX(latest_lock);
static struct receiver *latest;

/* Others may be sending: they change the descriptor under a bus lock. */
static unsigned long *control(struct receiver *r)
{
	return (unsigned long *)&r->memory->upid;
}

/* On the thread's CPU, under its lock: from now on it is notified. */
void sends_arm(struct receiver *r, u8 vector)
{
	struct uintr_upid *upid = &r->memory->upid;
	u32 apic = per_cpu(x86_cpu_to_apicid, smp_processor_id());

	upid->notification_vector = vector;
	upid->notification_destination = x2apic_mode ? apic : apic << 8;
	clear_bit(OUTSTANDING, control(r));
	clear_bit(SUPPRESSED, control(r));
}

/* What came while it was not is pending, where its state is yet to be loaded. */
void sends_take(struct receiver *r)
{
	r->regs.requests |= xchg(&r->memory->upid.requests, 0);
}

void sends_disarm(struct receiver *r)
{
	set_bit(SUPPRESSED, control(r));
}

/* A receiver that nobody else knows yet. */
void sends_join(struct receiver *r)
{
	struct uintr_target *target = &r->memory->targets[1];

	mutex_lock(&latest_lock);
	r->before = latest && kref_get_unless_zero(&latest->kref) ? latest : NULL;
	if (r->before) {
		target->valid = 1;
		target->user_vector = r->before->user_vector;
		target->upid = (uintptr_t)&r->before->memory->upid;
	}
	latest = r;
	mutex_unlock(&latest_lock);
}

/* Its last reference is gone; returns the one that it sent to. */
struct receiver *sends_leave(struct receiver *r)
{
	mutex_lock(&latest_lock);
	if (latest == r)
		latest = r->before;
	mutex_unlock(&latest_lock);
	return r->before;
}
