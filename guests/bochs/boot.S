/*
 * Starts Linux in Bochs without a boot loader and without a disk: Bochs puts the unpacked kernel,
 * the initrd and the kernel's parameters into memory (optramimage in `run`), and its BIOS calls this
 * as the ROM of the video card, after it has made its ACPI tables. What is left to do is what
 * Documentation/x86/boot.rst asks of a 64-bit boot loader: a memory map in the parameters, long mode
 * with the start of memory mapped to itself, flat segments 0x10 and 0x18, RSI = the parameters.
 */
#include "layout.h"

#define TABLES 0x20000 /* two pages of them, below what Linux reserves and forgets */
#define E820_ENTRIES 0x1e8
#define E820_TABLE 0x2d0

	.code16
start:	.byte 0x55, 0xaa, ROM_SIZE / 512

	/* The memory map, as only the BIOS knows it. */
	mov $(PARAMETERS >> 4), %ax
	mov %ax, %es
	mov $E820_TABLE, %di
	xor %ebx, %ebx
1:	mov $0xe820, %eax
	mov $0x534d4150, %edx		/* SMAP */
	mov $20, %ecx
	int $0x15
	jc 2f
	incb %es:E820_ENTRIES
	add $20, %di
	test %ebx, %ebx
	jnz 1b

2:	cli
	cld
	in $0x92, %al			/* A20 */
	or $2, %al
	out %al, $0x92
	lgdtl %cs:(gdtr - start)
	mov %cr0, %eax
	or $1, %al			/* PE */
	mov %eax, %cr0
	ljmpl $0x20, $protected

	.code32
protected:
	mov $0x18, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov $TABLES, %edi
	mov %edi, %cr3
	xor %eax, %eax
	mov $0x2000 / 4, %ecx
	rep stosl
	movl $(TABLES + 0x1003), TABLES	/* present, writable */
	movl $0x83, TABLES + 0x1000	/* and 1 GB large */
	mov %cr4, %eax
	or $0x20, %eax			/* PAE */
	mov %eax, %cr4
	mov $0xc0000080, %ecx		/* EFER */
	rdmsr
	or $0x100, %eax			/* LME */
	wrmsr
	mov %cr0, %eax
	or $0x80000000, %eax		/* PG */
	mov %eax, %cr0
	ljmpl $0x10, $long

	.code64
long:	mov $PARAMETERS, %esi
	mov $ENTRY, %eax
	jmp *%rax

	/* All marked as accessed: the CPU cannot do so in a ROM. */
	.balign 8
gdt:	.quad 0, 0
	.quad 0x00af9b000000ffff	/* 0x10: 64-bit code */
	.quad 0x00cf93000000ffff	/* 0x18: data */
	.quad 0x00cf9b000000ffff	/* 0x20: 32-bit code */
gdtr:	.word . - gdt - 1
	.long gdt

	.org ROM_SIZE - 1
	.byte CHECKSUM
