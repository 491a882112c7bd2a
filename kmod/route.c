// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a device interrupt goes: its vector on one CPU, and whether it still
 * has that.
 */
#include <linux/cpumask.h>
#include <linux/irq.h>
#include <asm/hw_irq.h>
#include <asm/irq_vectors.h>
#include <asm/irqdomain.h>

#include "internal.h"

/* The vector that @irqd has on @cpu now, 0: none. */
u8 route_vector(struct irq_data *irqd, unsigned int cpu)
{
	const struct cpumask *where = irq_data_get_effective_affinity_mask(irqd);
	const struct irq_cfg *cfg = irqd_cfg(irqd);
	unsigned int vector = cfg ? READ_ONCE(cfg->vector) : 0;

	if (cpumask_weight(where) != 1 || !cpumask_test_cpu(cpu, where))
		return 0;
	/* Those above are the kernel's own, and of interrupts that are shut down. */
	if (vector < FIRST_EXTERNAL_VECTOR || vector >= FIRST_SYSTEM_VECTOR)
		return 0;
	return vector;
}

/*
 * Whether the interrupt still has that vector on that CPU. Called on that CPU
 * with interrupts off, under the receiver's lock; it may be changed elsewhere
 * right after, but the old vector cannot be given away before this CPU has run
 * the kernel's clean-up of it, which calls receiver_lose_vector.
 */
bool route_holds(const struct irq_route *route)
{
	return route_vector(route->irqd, route->cpu) == route->vector;
}
