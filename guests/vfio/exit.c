/*
 * End the guest with a status that the host can see.
 *
 * A byte V written to QEMU's isa-debug-exit port makes QEMU exit with
 * (V << 1) | 1, so no V gives 0: a zero can only mean that the guest died.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>

#define DEBUG_EXIT_PORT 0xf4

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: exit-guest VALUE\n");
		return 2;
	}
	if (ioperm(DEBUG_EXIT_PORT, 1, 1) != 0) {
		perror("ioperm");
		return 1;
	}
	outb((unsigned char)atoi(argv[1]), DEBUG_EXIT_PORT);
	return 1; /* still here: QEMU runs without isa-debug-exit */
}
