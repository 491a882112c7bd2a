//! The claims.

mod commands;
mod queues;
mod refusals;
mod spinning;
mod support;
mod transfers;
mod waiting;

pub use transfers::STAMPS;

use crate::Bench;
use anyhow::Result;
use joulio_device::Device;

/// A claim with its name.
pub struct Claim<D: Device> {
    /// The claim as a sentence.
    pub name: &'static str,
    /// Tests the claim; returns a line that reports what was seen.
    pub check: fn(&Bench<D>) -> Result<String>,
}

/// Returns all claims, for one back end. The last one stamps blocks for a check from outside.
pub fn claims<D: Device>() -> Vec<Claim<D>> {
    macro_rules! claims {
        ($($room:ident::$name:ident),* $(,)?) => {
            vec![$(Claim { name: stringify!($name), check: $room::$name }),*]
        };
    }
    claims![
        waiting::polling_delivers_every_io_and_raises_no_interrupt,
        waiting::interrupts_deliver_every_io_with_at_most_one_wake_each,
        waiting::switching_under_load_loses_nothing,
        waiting::hybrid_delivers_every_io_and_sleeps_at_most_once_each,
        waiting::every_policy_delivers_every_io_by_the_steps_it_announced,
        spinning::what_a_core_finds_without_blocking_raises_no_interrupt,
        waiting::hybrid_at_depth_one_sleeps_once_an_io_and_never_blocks,
        waiting::polling_after_interrupts_raises_none,
        waiting::interrupt_mode_at_depth_one_takes_an_interrupt_a_wait,
        waiting::an_idle_queue_neither_polls_nor_wakes,
        queues::a_full_queue_gives_the_buffer_back,
        queues::the_deepest_queue_goes_around,
        transfers::the_largest_transfer_comes_back_whole,
        refusals::a_block_outside_is_refused_before_the_device_sees_it,
        refusals::a_command_without_data_is_refused_outside_too,
        refusals::ranges_are_refused_all_or_none,
        commands::what_is_written_through_comes_back,
        commands::zeroes_are_written_and_their_neighbours_stay,
        commands::blocks_given_up_read_as_zero_or_as_before_and_their_neighbours_stay,
        commands::compare_distinguishes_equal_from_changed,
        commands::verify_succeeds_where_there_is_data,
        waiting::a_group_waits_on_all_its_queues,
        queues::a_queue_dropped_with_io_in_flight_leaves_the_controller_well,
        waiting::a_redirected_vector_writes_memory_and_signals_nobody,
        waiting::queues_on_one_line_write_a_word_each,
        transfers::stamped_blocks_stay,
    ]
}
