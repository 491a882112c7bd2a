/*
 * Where things are in the guest's memory; `run` gives Bochs the same. The kernel's entry (ENTRY) and
 * the initrd (INITRD), which lies past the kernel, are the kernel's: `unpack` says them.
 */
#define ROM_BASE 0xc0000
#define ROM_SIZE 512
#define PARAMETERS 0x10000
#define KERNEL 0x1000000
