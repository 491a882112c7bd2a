/* Where things are in the guest's memory; `run` tells Bochs the same. */
#define ROM_BASE 0xc0000
#define ROM_SIZE 512
#define PARAMETERS 0x10000
#define KERNEL 0x1000000
#define INITRD 0x4000000
