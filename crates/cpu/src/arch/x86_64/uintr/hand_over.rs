//! SPDK+'s own mechanism (HotStorage '25, 3.3), for comparison: a second user-level thread pauses, and a handler hands
//! the core over to the thread that polls.
//!
//! Sound because the two stacks are only ever left and entered by the code below. The polling thread has user
//! interrupts disabled all the time, so that only the low-power thread takes one, whose registers the handler saves. To
//! the polling thread a hand-over is like a call: its callee-saved registers are on its stack, and no other register is
//! expected to survive. An interrupt that comes while it polls is delivered as soon as the low-power thread runs again,
//! so that no check of a mark is needed before TPAUSE. Not for a thread with a shadow stack: it returns to an address
//! that no call on that stack came from.

use crate::uintr::slot::{HandlerState, STATES};
use std::arch::global_asm;
use std::mem::offset_of;

global_asm!(
    ".macro to_polling resume:req",
    "lea rax, [rip + \\resume]",
    "push rax",
    "mov [rdi + {low}], rsp",
    "mov rsp, [rdi + {polling}]",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    ".endm",
    ".pushsection .text.joulio_uintr_hand_over, \"ax\"",
    // RDI: the state; RSI: the deadline; EDX: the operand of TPAUSE. The polling thread hands over, and
    // comes back when it was interrupted or at the deadline.
    ".balign 64",
    ".hidden joulio_hand_over",
    ".globl joulio_hand_over",
    "joulio_hand_over:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov [rdi + {deadline}], rsi",
    "mov ecx, edx",
    "mov [rdi + {polling}], rsp",
    "mov rsp, [rdi + {low}]",
    "ret",
    ".hidden joulio_hand_over_end",
    ".globl joulio_hand_over_end",
    "joulio_hand_over_end:",
    // The low-power thread: RDI: the state; ECX: the operand.
    ".balign 64",
    ".hidden joulio_low_power",
    ".globl joulio_low_power",
    "joulio_low_power:",
    "stui",
    ".hidden joulio_low_power_loop",
    ".globl joulio_low_power_loop",
    "joulio_low_power_loop:",
    "mov eax, [rdi + {deadline}]",
    "mov edx, [rdi + {deadline} + 4]",
    "tpause ecx",
    "rdtsc",
    "shl rdx, 32",
    "or rax, rdx",
    "cmp rax, [rdi + {deadline}]",
    "jb joulio_low_power_loop",
    ".hidden joulio_low_power_over",
    ".globl joulio_low_power_over",
    "joulio_low_power_over:",
    "clui",
    "to_polling joulio_low_power",
    ".hidden joulio_low_power_end",
    ".globl joulio_low_power_end",
    "joulio_low_power_end:",
    // As pushed by the CPU: the user vector, RIP, RFLAGS, RSP; UIF is 0.
    ".balign 64",
    ".hidden joulio_hand_over_handler",
    ".globl joulio_hand_over_handler",
    "joulio_hand_over_handler:",
    "push rax",
    "push rdi",
    "push rcx",
    "push rdx",
    "mov edi, [rsp + 32]",
    "shl edi, {shift}",
    "lea rax, [rip + {states}]",
    "add rdi, rax",
    "mov dword ptr [rdi + {mark}], 1",
    "inc qword ptr [rdi + {count}]",
    "xor eax, eax",
    "senduipi rax",
    "to_polling joulio_hand_over_back",
    // The polling thread has handed over again, in other registers.
    ".hidden joulio_hand_over_back",
    ".globl joulio_hand_over_back",
    "joulio_hand_over_back:",
    "pop rdx",
    "pop rcx",
    "pop rdi",
    "pop rax",
    "add rsp, 8",
    "uiret",
    ".hidden joulio_hand_over_handler_end",
    ".globl joulio_hand_over_handler_end",
    "joulio_hand_over_handler_end:",
    ".popsection",
    ".purgem to_polling",
    states = sym STATES,
    shift = const size_of::<HandlerState>().ilog2(),
    mark = const offset_of!(HandlerState, mark),
    count = const offset_of!(HandlerState, count),
    polling = const offset_of!(HandlerState, polling),
    low = const offset_of!(HandlerState, low_power),
    deadline = const offset_of!(HandlerState, deadline),
);

unsafe extern "sysv64" {
    fn joulio_hand_over(state: *const HandlerState, deadline: u64, operand: u32);
    static joulio_low_power: u8;
    static joulio_hand_over_handler: u8;
}

/// Returns the address of the handler.
pub(super) fn handler() -> usize {
    &raw const joulio_hand_over_handler as usize
}

/// Returns the address at which the low-power thread begins.
pub(super) fn low_power() -> usize {
    &raw const joulio_low_power as usize
}

/// Hands the core over until an interrupt, or until the counter reaches `deadline`.
///
/// # Safety
/// This CPU has WAITPKG; this thread has registered with [`handler`], holds user interrupts back, has no shadow
/// stack, and `state` is that of its vector, with a low-power thread that lives.
pub(super) unsafe fn wait(state: &HandlerState, deadline: u64, operand: u32) {
    // SAFETY: by the caller.
    unsafe { joulio_hand_over(state, deadline, operand) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};

    unsafe extern "C" {
        static joulio_hand_over_end: u8;
        static joulio_low_power_loop: u8;
        static joulio_low_power_over: u8;
        static joulio_low_power_end: u8;
        static joulio_hand_over_back: u8;
        static joulio_hand_over_handler_end: u8;
    }

    fn decode(from: usize, to: *const u8) -> Vec<Instruction> {
        // SAFETY: code of this program.
        let bytes = unsafe { std::slice::from_raw_parts(from as *const u8, to as usize - from) };
        let decoder = Decoder::with_ip(64, bytes, from as u64, DecoderOptions::NONE);
        // What fills up to the next part is not run.
        let padding = |i: &Instruction| !matches!(i.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
        decoder.into_iter().filter(padding).collect()
    }

    /// Each part: from the polling thread to the other, the pause, a time that is over, the handler up to
    /// the polling thread, and from there back to the interrupted instruction.
    fn parts() -> [Vec<Instruction>; 5] {
        [
            decode(
                joulio_hand_over as *const () as usize,
                &raw const joulio_hand_over_end,
            ),
            decode(
                &raw const joulio_low_power_loop as usize,
                &raw const joulio_low_power_over,
            ),
            decode(
                &raw const joulio_low_power_over as usize,
                &raw const joulio_low_power_end,
            ),
            decode(handler(), &raw const joulio_hand_over_back),
            decode(
                &raw const joulio_hand_over_back as usize,
                &raw const joulio_hand_over_handler_end,
            ),
        ]
    }

    #[test]
    fn spdk_plus_takes_twice_the_instructions_of_a_mark() {
        let [there, pause, over, handler, back] = parts().map(|part| part.len());
        assert_eq!([there, pause, over, handler, back], [11, 8, 12, 23, 6]);
        // Of an interrupt: the handler and both switches. Of a mark: `code.rs`.
        let own = crate::uintr::Code::here();
        let mark = decode(own.handler.start, own.handler.end as *const u8).len();
        assert_eq!((handler + back + there, mark), (40, 20));
    }

    #[test]
    fn what_the_polling_thread_pushes_it_pops() {
        let [there, _, over, handler, _] = parts();
        let of = |part: &[Instruction], mnemonic| {
            let found = part.iter().filter(|i| i.mnemonic() == mnemonic);
            found.map(|i| i.op0_register()).collect::<Vec<_>>()
        };
        let mut pushed = of(&there, Mnemonic::Push);
        pushed.reverse();
        assert_eq!(pushed.len(), 6);
        assert_eq!(of(&over, Mnemonic::Pop), pushed);
        assert_eq!(of(&handler, Mnemonic::Pop), pushed);
    }

    #[test]
    fn what_the_handler_saves_of_the_low_power_thread_it_gives_back() {
        let [_, pause, _, handler, back] = parts();
        let of = |part: &[Instruction], mnemonic| {
            let found = part.iter().filter(|i| i.mnemonic() == mnemonic);
            found.map(|i| i.op0_register()).collect::<Vec<_>>()
        };
        let saved = of(&handler, Mnemonic::Push)[..4].to_vec();
        let mut given = of(&back, Mnemonic::Pop);
        given.reverse();
        assert_eq!(given, saved);
        // All that the pausing loop has in registers.
        let used = pause.iter().filter(|i| i.op_count() > 0);
        for register in used.map(|i| i.op0_register()).filter(|r| r.is_gpr()) {
            assert!(saved.contains(&register.full_register()), "{register:?}");
        }
    }
}
