// Preloaded into QEMU, whose vfio-user-pci cannot be unplugged without it (11.1): when such a device is finalized,
// vfio_user_msix_teardown takes the region of pending bits out of its container a second time, and
// memory_region_del_subregion asserts that it is there. Here that assertion ends the function instead of QEMU: the
// transaction that it began is committed, and its caller goes on as after any other call. Every other assertion fails
// as ever.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

// QEMU's own.
extern void memory_region_transaction_commit(void) __attribute__((weak));

// Where a function's caller goes on, and the registers that it has there, by their numbers in DWARF.
enum { RBX = 3, RBP = 6, R12 = 12, R13, R14, R15 };
struct caller {
	int frame;
	uintptr_t ip, sp, rbx, rbp, r12, r13, r14, r15;
};

// Frame 0 is __assert_fail here, 1 the function that asserts, 2 its caller.
static _Unwind_Reason_Code find(struct _Unwind_Context *context, void *data) {
	struct caller *caller = data;
	if (caller->frame++ < 2) {
		return _URC_NO_REASON;
	}
	caller->ip = _Unwind_GetIP(context);
	caller->sp = _Unwind_GetCFA(context);
	caller->rbx = _Unwind_GetGR(context, RBX);
	caller->rbp = _Unwind_GetGR(context, RBP);
	caller->r12 = _Unwind_GetGR(context, R12);
	caller->r13 = _Unwind_GetGR(context, R13);
	caller->r14 = _Unwind_GetGR(context, R14);
	caller->r15 = _Unwind_GetGR(context, R15);
	return _URC_END_OF_STACK;
}

__attribute__((noinline, noreturn)) void __assert_fail(const char *assertion, const char *file, unsigned line,
						       const char *function) {
	if (strcmp(function, "memory_region_del_subregion") == 0 &&
	    strcmp(assertion, "subregion->container == mr") == 0 && memory_region_transaction_commit != NULL) {
		memory_region_transaction_commit();
		static struct caller caller;
		caller = (struct caller){0};
		_Unwind_Backtrace(find, &caller);
		if (caller.frame == 3) {
			__asm__ volatile("movq 24(%0), %%rbx\n\t"
					 "movq 32(%0), %%rbp\n\t"
					 "movq 40(%0), %%r12\n\t"
					 "movq 48(%0), %%r13\n\t"
					 "movq 56(%0), %%r14\n\t"
					 "movq 64(%0), %%r15\n\t"
					 "movq 16(%0), %%rsp\n\t"
					 "jmp *8(%0)"
					 :
					 : "a"(&caller)
					 : "memory");
		}
	}
	void (*fail)(const char *, const char *, unsigned, const char *) =
		(void (*)(const char *, const char *, unsigned, const char *))dlsym(RTLD_NEXT, "__assert_fail");
	fail(assertion, file, line, function);
	abort();
}
