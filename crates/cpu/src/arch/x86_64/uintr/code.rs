//! The handler, and the wait that it must end.
//!
//! Sound because the handler changes no state of the code that it interrupts but RAX and RDX, and those only within the
//! window, where they hold the deadline and nothing else. A TPAUSE whose deadline is 0 ends at once and clears CF, as
//! the comparison of a mark does, so that the window ends in the same way wherever it was interrupted. The program
//! counter is not changed, so that it matches the copy that shadow stacks keep. The CPU skips the red zone below the
//! stack pointer: the module sets UISTACKADJUST to 128.

use crate::uintr::Code;
use crate::uintr::slot::{HandlerState, STATES};
use std::arch::global_asm;

// `step` writes down where each instruction begins: for tests that interrupt every one of them.
//
// What the CPU has pushed when the handler begins (Intel SDM volume 3, "User-Interrupt Delivery"):
// the user vector, RIP, RFLAGS, RSP; UIF is 0, so that nothing interrupts it.
global_asm!(
    ".macro step instruction:vararg",
    ".pushsection .rodata.joulio_uintr, \"a\"",
    ".long 7777f - joulio_uintr_wait",
    ".popsection",
    "7777: \\instruction",
    ".endm",
    ".pushsection .rodata.joulio_uintr, \"a\"",
    ".balign 4",
    ".hidden joulio_uintr_steps",
    ".globl joulio_uintr_steps",
    "joulio_uintr_steps:",
    ".popsection",
    //
    ".pushsection .text.joulio_uintr, \"ax\"",
    // As joulio_uintr_wait, but the thread comes to the window by UIRET, which sets UIF, at the
    // instruction in RCX and with RFLAGS as the comparison of a mark of 0 leaves them. Not for a
    // thread with a shadow stack: nobody was called from where this returns to.
    ".balign 64",
    ".hidden joulio_uintr_wait_at",
    ".globl joulio_uintr_wait_at",
    "joulio_uintr_wait_at:",
    "mov r8, rcx",
    "mov ecx, edx",
    "mov eax, esi",
    "mov rdx, rsi",
    "shr rdx, 32",
    "mov r9, rsp",
    "push r9",
    "cmp r9, r9",
    "pushfq",
    "push r8",
    "uiret",
    // RDI: the mark; RSI: the deadline; EDX: the operand of TPAUSE. In the window EDX:EAX is the
    // deadline. Returns CF of TPAUSE: 1 if the system's limit ended it. The comparison leaves 0.
    ".hidden joulio_uintr_wait",
    ".globl joulio_uintr_wait",
    "joulio_uintr_wait:",
    "step mov ecx, edx",
    "step mov eax, esi",
    "step mov rdx, rsi",
    "step shr rdx, 32",
    ".hidden joulio_uintr_window",
    ".globl joulio_uintr_window",
    "joulio_uintr_window:",
    "step cmp dword ptr [rdi], 0",
    "step jne 2f",
    "step tpause ecx",
    ".hidden joulio_uintr_window_end",
    ".globl joulio_uintr_window_end",
    "joulio_uintr_window_end:",
    "2:",
    ".set joulio_uintr_width, joulio_uintr_window_end - joulio_uintr_window",
    "setc al",
    "ret",
    //
    ".balign 64",
    ".hidden joulio_uintr_handler",
    ".globl joulio_uintr_handler",
    "joulio_uintr_handler:",
    "step push rax",
    "step push rcx",
    // Mark: [rsp + 16] is the user vector.
    "step mov eax, [rsp + 16]",
    "step shl eax, {shift}",
    "step lea rcx, [rip + {states}]",
    "step mov dword ptr [rcx + rax + {mark}], 1",
    "step inc qword ptr [rcx + rax + {count}]",
    // Re-arm: the request is posted to ourselves, and with SN = 1 nothing is sent.
    "step xor eax, eax",
    ".hidden joulio_uintr_rearm",
    ".globl joulio_uintr_rearm",
    "joulio_uintr_rearm:",
    "step senduipi rax",
    // In the window, which [rsp + 24], the interrupted RIP, shows, there is no time left to wait
    // for: [rsp + 8] is the interrupted RAX.
    "step mov rax, [rsp + 24]",
    "step lea rcx, [rip + joulio_uintr_window]",
    "step sub rax, rcx",
    "step cmp rax, offset joulio_uintr_width",
    "step jae 2f",
    "step xor edx, edx",
    "step mov [rsp + 8], rdx",
    "2:",
    "step pop rcx",
    "step pop rax",
    "step add rsp, 8",
    "step uiret",
    ".hidden joulio_uintr_handler_end",
    ".globl joulio_uintr_handler_end",
    "joulio_uintr_handler_end:",
    ".popsection",
    //
    ".pushsection .rodata.joulio_uintr, \"a\"",
    ".hidden joulio_uintr_steps_end",
    ".globl joulio_uintr_steps_end",
    "joulio_uintr_steps_end:",
    ".popsection",
    ".purgem step",
    states = sym STATES,
    shift = const size_of::<HandlerState>().ilog2(),
    mark = const std::mem::offset_of!(HandlerState, mark),
    count = const std::mem::offset_of!(HandlerState, count),
);

unsafe extern "sysv64" {
    fn joulio_uintr_wait(mark: *const u32, deadline: u64, operand: u32) -> bool;
    fn joulio_uintr_wait_at(mark: *const u32, deadline: u64, operand: u32, at: usize) -> bool;
    static joulio_uintr_window: u8;
    static joulio_uintr_window_end: u8;
    static joulio_uintr_handler: u8;
    static joulio_uintr_handler_end: u8;
    static joulio_uintr_rearm: u8;
    static joulio_uintr_steps: u32;
    static joulio_uintr_steps_end: u32;
}

/// Returns the addresses in this process.
pub(crate) fn code() -> Code {
    let base = joulio_uintr_wait as *const () as usize;
    let first = &raw const joulio_uintr_steps;
    let end = &raw const joulio_uintr_steps_end;
    let steps = (end as usize - first as usize) / size_of::<u32>();
    // SAFETY: the assembler wrote the offsets one after the other between the two labels.
    let offsets = unsafe { std::slice::from_raw_parts(first, steps) };
    Code {
        handler: &raw const joulio_uintr_handler as usize
            ..&raw const joulio_uintr_handler_end as usize,
        wait: base..&raw const joulio_uintr_window_end as usize,
        window: &raw const joulio_uintr_window as usize
            ..&raw const joulio_uintr_window_end as usize,
        instructions: offsets.iter().map(|&at| base + at as usize).collect(),
        rearm: &raw const joulio_uintr_rearm as usize,
    }
}

/// Returns the address of the handler.
pub(super) fn handler() -> usize {
    &raw const joulio_uintr_handler as usize
}

/// Waits with TPAUSE until the counter reaches `deadline`, unless there is a mark. An interrupt, the system's limit or
/// no apparent cause may end it before; returns true if it was the limit.
///
/// # Safety
/// This CPU has WAITPKG.
#[inline]
pub(super) unsafe fn wait(state: &HandlerState, deadline: u64, operand: u32) -> bool {
    // SAFETY: the mark may be read; the caller guarantees the rest.
    unsafe { joulio_uintr_wait(state.mark.as_ptr(), deadline, operand) }
}

/// Waits as [`wait`] does, from the instruction `at` of the window on, with user interrupts on from
/// there: one that is pending is delivered before that instruction.
///
/// # Safety
/// This CPU has WAITPKG and user interrupts; `at` is an instruction of the window; this thread has
/// no shadow stack.
pub(super) unsafe fn wait_at(state: &HandlerState, deadline: u64, operand: u32, at: usize) -> bool {
    // SAFETY: as above.
    unsafe { joulio_uintr_wait_at(state.mark.as_ptr(), deadline, operand, at) }
}

/// Enables delivery of user interrupts: a thread begins with them disabled.
///
/// # Safety
/// As [`hold`].
pub(super) unsafe fn allow() {
    // SAFETY: changes UIF only.
    unsafe { std::arch::asm!("stui", options(nostack, preserves_flags)) };
}

/// Disables delivery of user interrupts until [`wait_at`] or [`allow`].
///
/// # Safety
/// This CPU has user interrupts, and they are on.
pub(super) unsafe fn hold() {
    // SAFETY: changes UIF only; it is called where the module has switched CR4.UINTR on.
    unsafe { std::arch::asm!("clui", options(nostack, preserves_flags)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uintr::slot::SLOTS;
    use iced_x86::{Code as Op, Decoder, DecoderOptions, Instruction, Mnemonic, Register};
    use std::ops::Range;

    /// Decodes the instructions of `range`, read from memory.
    fn decode(range: &Range<usize>) -> Vec<Instruction> {
        // SAFETY: code of this program.
        let bytes = unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) };
        let decoder = Decoder::with_ip(64, bytes, range.start as u64, DecoderOptions::NONE);
        decoder.into_iter().collect()
    }

    #[test]
    fn every_instruction_is_written_down_and_no_other() {
        let code = Code::here();
        let both = [decode(&code.wait), decode(&code.handler)].concat();
        let starts: Vec<_> = both.iter().map(|i| i.ip() as usize).collect();
        assert_eq!(code.instructions, starts);
        assert_eq!(code.wait.end, code.window.end);
        let counts = [&code.wait, &code.window, &code.handler].map(|range| decode(range).len());
        assert_eq!(counts, [7, 3, 20]);
    }

    #[test]
    fn the_handler_rearms_and_leaves_the_stack_as_the_cpu_wants_it() {
        let code = decode(&Code::here().handler);
        let op = |op: Op| code.iter().position(|i| i.code() == op);
        let (send, last) = (op(Op::Senduipi_r64).unwrap(), code.len() - 1);
        assert_eq!(code[send].ip() as usize, Code::here().rearm);
        assert_eq!(code[send].op0_register(), Register::RAX);
        assert_eq!(op(Op::Uiret), Some(last));
        // All pushes are undone, and the frame is popped without the vector.
        let moved: i32 = code[..last]
            .iter()
            .map(Instruction::stack_pointer_increment)
            .sum();
        assert_eq!(moved, 0);
        let vector = &code[last - 1];
        assert_eq!(
            (vector.mnemonic(), vector.op0_register()),
            (Mnemonic::Add, Register::RSP)
        );
        assert_eq!(vector.immediate(1), 8);
        // What it uses, it restores; RDX belongs to the window, and is written for it alone.
        let saved = [Register::RAX, Register::RCX];
        let leave = code.iter().position(|i| i.code() == Op::Jae_rel8_64);
        let leave = leave.unwrap();
        let body = code[2..last - 3].iter().enumerate();
        for (at, instruction) in body.map(|(at, i)| (at + 2, i)) {
            let whole = instruction.op0_register().full_register();
            let windows = at > leave && whole == Register::RDX;
            assert!(
                whole == Register::None || saved.contains(&whole) || windows,
                "{whole:?}"
            );
        }
    }

    /// Stack offset of the interrupted RIP, in bytes, once two registers are saved below it.
    const INTERRUPTED_RIP: u64 = 24;

    #[test]
    fn the_handler_takes_the_windows_deadline_and_leaves_its_return_address() {
        let code = decode(&Code::here().handler);
        let on_stack = |i: &&Instruction| i.memory_base() == Register::RSP;
        let written: Vec<_> = code
            .iter()
            .filter(on_stack)
            .filter(|i| i.code() == Op::Mov_rm64_r64)
            .map(|i| (i.memory_displacement64(), i.op1_register()))
            .collect();
        // The interrupted RAX, which POP gives back.
        assert_eq!(written, [(8, Register::RDX)]);
        let read = code.iter().filter(on_stack);
        assert!(read.clone().any(|i| {
            i.code() == Op::Mov_r64_rm64 && i.memory_displacement64() == INTERRUPTED_RIP
        }));
        let at = |op: Op| code.iter().position(|i| i.code() == op).unwrap();
        // Zero in both halves, and only past the comparison with the window's width.
        let zero = code.iter().rposition(|i| i.mnemonic() == Mnemonic::Xor);
        let zero = zero.unwrap();
        assert_eq!(code[zero].op0_register(), Register::EDX);
        assert_eq!(code[zero].op1_register(), Register::EDX);
        assert!(at(Op::Jae_rel8_64) < zero && zero < at(Op::Mov_rm64_r64));
    }

    #[test]
    fn the_handler_knows_how_wide_the_window_is() {
        let code = Code::here();
        let window = decode(&code.window);
        assert_eq!(window[1].code(), Op::Jne_rel8_64);
        assert_eq!(window[1].near_branch_target(), code.window.end as u64);
        assert_eq!(window[2].code(), Op::Tpause_r32);
        let handler = decode(&code.handler);
        let compared = handler.iter().find(|i| i.mnemonic() == Mnemonic::Cmp);
        assert_eq!(compared.unwrap().immediate(1), code.window.len() as u64);
        let states = handler.iter().find(|i| i.mnemonic() == Mnemonic::Lea);
        assert_eq!(
            states.unwrap().ip_rel_memory_address(),
            &raw const STATES as u64
        );
    }

    #[test]
    fn a_mark_that_is_there_is_not_waited_on() {
        // No TPAUSE is reached, on any CPU.
        let state = &STATES[SLOTS - 1];
        state.mark.store(1, std::sync::atomic::Ordering::Relaxed);
        // SAFETY: there is a mark, so that the code jumps past TPAUSE.
        let limited = unsafe { wait(state, u64::MAX, 0) };
        assert!(!limited);
        state.clear();
        assert!(!state.marked());
    }
}
