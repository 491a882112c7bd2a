/* A controller in user space, by VFIO's group API and plain ioctls. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "claims.h"

void vfio_open(struct vfio *vfio, const char *address)
{
	char path[128], link[128];
	ssize_t length;

	vfio->address = address;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", address);
	length = readlink(path, link, sizeof(link) - 1);
	CHECK(length > 0);
	link[length] = 0;
	snprintf(path, sizeof(path), "/dev/vfio/%s", strrchr(link, '/') + 1);

	vfio->container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	CHECK(vfio->container >= 0);
	vfio->group = open(path, O_RDWR | O_CLOEXEC);
	CHECK(vfio->group >= 0);
	CHECK(ioctl(vfio->group, VFIO_GROUP_SET_CONTAINER, &vfio->container) == 0);
	CHECK(ioctl(vfio->container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU) == 0);
	vfio->device = ioctl(vfio->group, VFIO_GROUP_GET_DEVICE_FD, address);
	CHECK(vfio->device >= 0);
}

void vfio_close(struct vfio *vfio)
{
	close(vfio->device);
	close(vfio->group);
	close(vfio->container);
}

static void set_irqs(struct vfio *vfio, unsigned int index, unsigned int flags,
		     const int *eventfds, unsigned int count)
{
	struct vfio_irq_set *set = calloc(1, sizeof(*set) + count * sizeof(int));

	CHECK(set);
	set->argsz = sizeof(*set) + count * sizeof(int);
	set->flags = flags | VFIO_IRQ_SET_ACTION_TRIGGER;
	set->index = index;
	set->count = count;
	if (count)
		memcpy(set->data, eventfds, count * sizeof(int));
	CHECK(ioctl(vfio->device, VFIO_DEVICE_SET_IRQS, set) == 0);
	free(set);
}

void vfio_vectors(struct vfio *vfio, const int *eventfds, int count)
{
	set_irqs(vfio, VFIO_PCI_MSIX_IRQ_INDEX, VFIO_IRQ_SET_DATA_EVENTFD, eventfds, count);
}

void vfio_no_vectors(struct vfio *vfio)
{
	set_irqs(vfio, VFIO_PCI_MSIX_IRQ_INDEX, VFIO_IRQ_SET_DATA_NONE, NULL, 0);
}

/* Signalled when somebody wants the device back. */
void vfio_request(struct vfio *vfio, int eventfd)
{
	set_irqs(vfio, VFIO_PCI_REQ_IRQ_INDEX, VFIO_IRQ_SET_DATA_EVENTFD, &eventfd, 1);
}

/* What the kernel calls the interrupt of a vector. */
int vfio_irq(const struct vfio *vfio, int vector)
{
	char name[64];
	int irq;

	snprintf(name, sizeof(name), "vfio-msix[%d](%s)", vector, vfio->address);
	irq = irq_of(name);
	CHECK(irq > 0);
	return irq;
}
