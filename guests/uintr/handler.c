/* The handler of user interrupts, and threads that are registered with it. */
#include <stdint.h>
#include <unistd.h>

#include "claims.h"

static volatile uint64_t delivered;
/* What the handler had counted, and a dry module noted, when it was cleared. */
static uint64_t cleared, noted;

/* Counts, posts the request for the next one, and returns. */
__asm__(".text\n"
	"handler: push %rax\n"
	"	incq delivered(%rip)\n"
	"	xor %eax, %eax\n"
	"	senduipi %rax\n"
	"	pop %rax\n"
	"	add $8, %rsp\n"
	"	uiret\n");
extern const char handler[];

bool hardware(void)
{
	static int known = -1;
	struct joulio_uintr_info info;
	int fd;

	if (known < 0) {
		fd = open_device();
		SAYS(call(fd, JOULIO_UINTR_INFO, &info), 0);
		close(fd);
		known = !!(info.flags & JOULIO_UINTR_HARDWARE);
	}
	return known;
}

uint64_t handler_address(void)
{
	return (uintptr_t)handler;
}

void let_through(void)
{
	if (hardware())
		__asm__ volatile("stui");
}

void hold_back(void)
{
	__asm__ volatile("clui");
}

uint64_t handler_runs(void)
{
	return delivered;
}

void handler_clear(void)
{
	cleared = delivered;
}

void handler_wait(int device)
{
	struct joulio_uintr_status now;

	if (hardware()) {
		while (delivered == cleared)
			;
		return;
	}
	do {
		now = status(device);
	} while (now.notified + now.injected == noted);
	noted = now.notified + now.injected;
}

long register_with(int device, uint64_t handler, uint32_t user_vector)
{
	struct joulio_uintr_thread thread = { .handler = handler, .user_vector = user_vector };
	long result = call(device, JOULIO_UINTR_REGISTER, &thread);

	if (!result)
		let_through();
	return result;
}

long register_thread(int device)
{
	return register_with(device, (uintptr_t)handler, 5);
}
