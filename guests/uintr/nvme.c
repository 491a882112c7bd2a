/*
 * As much of an NVMe controller as makes it interrupt: the admin queues and
 * Identify, whose completion is vector 0 (NVMe Base Specification 2.0, 3.1.3,
 * 5.17).
 */
#define _GNU_SOURCE
#include <linux/vfio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "claims.h"

#define PAGE 4096
#define ENTRIES 16
#define IOVA 0x100000

enum { CC = 0x14, CSTS = 0x1c, AQA = 0x24, ASQ = 0x28, ACQ = 0x30, DOORBELLS = 0x1000 };

static volatile uint8_t *registers;
static uint8_t *memory; /* submissions, completions, data: a page each */
static unsigned int issued;

static void put(unsigned int offset, uint32_t value)
{
	*(volatile uint32_t *)(registers + offset) = value;
}

static void wait_ready(uint32_t ready)
{
	int tries = 10000;

	while ((*(volatile uint32_t *)(registers + CSTS) & 1) != ready && --tries)
		usleep(1000);
	CHECK(tries);
}

void nvme_start(struct vfio *vfio)
{
	struct vfio_region_info region = { .argsz = sizeof(region) };
	struct vfio_iommu_type1_dma_map map = { .argsz = sizeof(map) };
	uint16_t command = 0x6; /* memory, bus master */

	region.index = VFIO_PCI_CONFIG_REGION_INDEX;
	CHECK(ioctl(vfio->device, VFIO_DEVICE_GET_REGION_INFO, &region) == 0);
	CHECK(pwrite(vfio->device, &command, 2, region.offset + 4) == 2);

	region.index = VFIO_PCI_BAR0_REGION_INDEX;
	CHECK(ioctl(vfio->device, VFIO_DEVICE_GET_REGION_INFO, &region) == 0);
	registers = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, vfio->device,
			 region.offset);
	CHECK(registers != MAP_FAILED);

	memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	map.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
	map.vaddr = (uintptr_t)memory;
	map.iova = IOVA;
	map.size = 3 * PAGE;
	CHECK(ioctl(vfio->container, VFIO_IOMMU_MAP_DMA, &map) == 0);

	put(CC, 0);
	wait_ready(0);
	put(AQA, (ENTRIES - 1) << 16 | (ENTRIES - 1));
	put(ASQ, IOVA);
	put(ASQ + 4, 0);
	put(ACQ, IOVA + PAGE);
	put(ACQ + 4, 0);
	put(CC, 4 << 20 | 6 << 16 | 1); /* 16 and 64 bytes an entry; enable */
	wait_ready(1);
	issued = 0;
}

/* One command, one completion, one interrupt. The caller keeps its CPU. */
void nvme_identify(void)
{
	uint32_t command[16] = { 0x06 };
	volatile uint16_t *status =
		(uint16_t *)(memory + PAGE + issued % ENTRIES * 16 + 14);
	uint16_t phase = !(issued / ENTRIES % 2);
	unsigned long polls = 10000000000;

	command[6] = IOVA + 2 * PAGE;
	command[10] = 1; /* the controller */
	memcpy(memory + issued % ENTRIES * 64, command, sizeof(command));
	issued++;
	__sync_synchronize();
	put(DOORBELLS, issued % ENTRIES);
	while ((*status & 1) != phase && --polls)
		__asm__ volatile("pause");
	CHECK(polls);
	SAYS(*status >> 1, 0);
	put(DOORBELLS + 4, issued % ENTRIES);
}

/* Its registers are a mapping of VFIO's file, which stays open as long. */
void nvme_stop(void)
{
	put(CC, 0);
	wait_ready(0);
	munmap((void *)registers, 2 * PAGE);
	munmap(memory, 3 * PAGE);
}
