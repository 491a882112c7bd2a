/* In the guest: mark NUMBER, at which plugin.c writes what it has counted so far, 0 to 9; or mark check: loads and
 * stores whose number is known, between the marks 1 and 2, 2 and 3, 3 and 4. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK(number) __asm__ volatile("nopl 0x4a4f55" #number "(%%rax,%%rax)" ::: "memory")

static void mark(int number)
{
	switch (number) {
	case 0: MARK(00); break;
	case 1: MARK(01); break;
	case 2: MARK(02); break;
	case 3: MARK(03); break;
	case 4: MARK(04); break;
	case 5: MARK(05); break;
	case 6: MARK(06); break;
	case 7: MARK(07); break;
	case 8: MARK(08); break;
	case 9: MARK(09); break;
	}
}

/* Three instructions a turn, one of which is the access. */
#define REPEAT(access) \
	__asm__ volatile("1: " access "\n\tsub $1, %0\n\tjnz 1b" : "+r"(turns) : "r"(&cell) : "rax", "memory", "cc")

static void check(void)
{
	unsigned long turns, cell = 0;

	MARK(01);
	turns = 30000;
	REPEAT("mov (%1), %%rax");
	MARK(02);
	turns = 20000;
	REPEAT("mov %%rax, (%1)");
	MARK(03);
	turns = 10000;
	REPEAT("lock addq $1, (%1)");
	MARK(04);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "check")) {
		check();
	} else if (argc == 2 && argv[1][0] >= '0' && argv[1][0] <= '9' && !argv[1][1]) {
		mark(argv[1][0] - '0');
	} else {
		fprintf(stderr, "usage: mark 0..9 | mark check\n");
		return 2;
	}
	return 0;
}
