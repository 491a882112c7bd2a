//! The driver's tests, a module each, of one program: those beside it need a process of their own.

mod aborts;
mod bring_up;
mod cancel;
mod common;
mod data_pointers;
mod event_loop;
mod events;
mod features;
mod function_reset;
mod groups_that_block;
mod hostile_completions;
mod interrupts;
mod kept_memory;
mod namespaces;
mod own_memory;
mod policies;
mod raw_admin;
mod raw_commands;
mod reactor;
mod removal;
mod reset_fails;
mod resets;
mod scatter_gather;
mod shared_cache_line;
mod shutdown;
mod tracing;
