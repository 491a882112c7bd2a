// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interrupts of source.c: vectors of the local APIC's, below an interrupt
 * controller that has no registers. They move in process context and are raised
 * by the APIC itself, as an interrupt to oneself is.
 */
#include <linux/cpu.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/version.h>
#include <asm/hw_irq.h>
#include <asm/irqdomain.h>

#include "internal.h"

static struct fwnode_handle *fwnode;
static struct irq_domain *domain;

static void nothing(struct irq_data *irqd)
{
}

static struct irq_chip chip = {
	.name = "joulio",
	.irq_mask = nothing,
	.irq_unmask = nothing,
	.irq_ack = irq_chip_ack_parent,
	.irq_set_affinity = irq_chip_set_affinity_parent,
	.irq_retrigger = irq_chip_retrigger_hierarchy,
};

static int domain_alloc(struct irq_domain *domain, unsigned int irq, unsigned int count, void *info)
{
	int error = irq_domain_alloc_irqs_parent(domain, irq, count, info);
	unsigned int i;

	if (error)
		return error;
	for (i = irq; i < irq + count; i++) {
		irq_domain_set_info(domain, i, i, &chip, NULL, handle_edge_irq, NULL, "edge");
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
		irq_set_status_flags(i, IRQ_MOVE_PCNTXT);
#endif
	}
	return 0;
}

static const struct irq_domain_ops domain_operations = {
	.alloc = domain_alloc,
	.free = irq_domain_free_irqs_common,
};

/* A new interrupt, which goes to @cpu; an errno, negative, when there is none. */
int source_irq_alloc(unsigned int cpu)
{
	struct irq_alloc_info info = { .mask = cpumask_of(cpu) };
	int irq = -ENXIO;

	cpus_read_lock();
	if (cpu_online(cpu))
		irq = irq_domain_alloc_irqs(domain, 1, NUMA_NO_NODE, &info);
	cpus_read_unlock();
	return irq;
}

void source_irq_free(unsigned int irq)
{
	irq_dispose_mapping(irq);
}

/* Any context. To the CPU and vector that it has now, as a device's would go. */
void source_irq_raise(unsigned int irq)
{
	irq_chip_retrigger_hierarchy(irq_get_irq_data(irq));
}

int source_irqs_init(void)
{
	if (!test_source)
		return 0;
	fwnode = irq_domain_alloc_named_fwnode("joulio-uintr");
	if (!fwnode)
		return -ENOMEM;
	domain = irq_domain_create_hierarchy(x86_vector_domain, 0, 0, fwnode, &domain_operations,
					     NULL);
	if (!domain) {
		irq_domain_free_fwnode(fwnode);
		return -ENOMEM;
	}
	return 0;
}

void source_irqs_exit(void)
{
	if (!test_source)
		return;
	irq_domain_remove(domain);
	irq_domain_free_fwnode(fwnode);
}
