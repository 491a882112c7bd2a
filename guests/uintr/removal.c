/* The device, or the CPU, goes away under a bound thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "claims.h"

void claims_of_removal(const char *address)
{
	int device = open_device(), eventfd = new_eventfd(), wanted = new_eventfd(), tries = SOON;
	char path[128];
	struct vfio vfio;

	vfio_open(&vfio, address);
	vfio_vectors(&vfio, &eventfd, 1);
	vfio_request(&vfio, wanted);
	pin(1);
	SAYS(register_thread(device), 0);
	SAYS(bind_thread(device, eventfd), 0);
	printf("guest: unplug nvme0\n");
	while (!taken(wanted) && --tries)
		usleep(1000);
	CHECK(tries);

	/* VFIO waits for its user; so long all is as it was. */
	SAYS(status(device).state, JOULIO_UINTR_BOUND);
	vfio_close(&vfio);
	SAYS(status(device).state, JOULIO_UINTR_LOST);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", address);
	for (tries = SOON; !access(path, F_OK) && tries; tries--)
		usleep(1000);
	CHECK(tries);
	SAYS(unbind_thread(device), 0);
	SAYS(bind_thread(device, eventfd), -ENODEV);
	printf("removed: lost when VFIO let go\n");
}

void claims_of_unplugging(void)
{
	int device = open_device(), eventfd = new_eventfd(), i;
	int source = new_source(device, eventfd, 1);
	int irq = irq_of("joulio-uintr");
	struct joulio_uintr_status now;
	uint64_t one = 1;

	SAYS(register_thread(device), 0);
	for (i = 0; i < 3; i++) {
		pin(1);
		SAYS(bind_thread(device, eventfd), 0);
		SAYS(effective_cpu(irq), 1);
		/* By the bound thread itself, which has to leave. */
		online(1, false);
		now = status(device);
		SAYS(now.state, JOULIO_UINTR_LOST);
		SAYS(now.irq, 0);
		SAYS(effective_cpu(irq), 0);
		taken(eventfd);
		CHECK(write(source, &one, sizeof(one)) == sizeof(one));
		SAYS(taken(eventfd), 1);

		/* It is not taken up again when the CPU comes back. */
		online(1, true);
		pin(1);
		now = status(device);
		usleep(1000);
		SAYS(status(device).state, JOULIO_UINTR_LOST);
		SAYS(status(device).injected, now.injected);
		SAYS(unbind_thread(device), 0);
	}
	printf("cpu offline: lost, bound again, 3 of 3 times\n");
	close(source);
}
