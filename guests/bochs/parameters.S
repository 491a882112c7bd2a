/*
 * The kernel's parameters (struct boot_params, Documentation/x86/zero-page.rst): where the initrd is,
 * and the command line on the page after them. boot.S adds the memory map.
 */
#include "layout.h"

	.org 0x1fe
	.word 0xaa55
	.org 0x202
	.ascii "HdrS"
	.word 0x20f			/* version of the boot protocol */
	.org 0x210
	.byte 0xff			/* a boot loader without a number */
	.byte 1				/* the kernel is above 1 MB */
	.org 0x218
	.long INITRD, INITRD_SIZE
	.org 0x228
	.long PARAMETERS + 0x1000	/* the command line */
	.org 0x230
	.long KERNEL			/* alignment */
	.org 0x238
	.long 2047			/* how long the command line may be */
	.org 0x1000
	.asciz COMMAND_LINE
