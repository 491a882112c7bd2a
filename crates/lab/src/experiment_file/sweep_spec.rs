//! The sweeps of an experiment.

use super::run_keys::RunKeys;
use crate::report::OneOrMore;
use crate::sweep::Factor;
use serde::Deserialize;

/// Value of a list that leaves its factor out: `scheduler = "-"` where there are none.
pub(super) const LEFT_OUT: &str = "-";

/// Makes a struct with a list of values for each factor, beside other fields.
macro_rules! with_factors {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            /// Devices, each a run of its own.
            device: Option<OneOrMore>,
            /// Patterns and directions.
            rw: Option<OneOrMore>,
            /// Percents of reads.
            rwmixread: Option<OneOrMore>,
            /// Bytes of an I/O.
            bs: Option<OneOrMore>,
            /// I/Os in flight.
            iodepth: Option<OneOrMore>,
            /// Numbers of jobs.
            numjobs: Option<OneOrMore>,
            /// Rates of arrivals.
            rate_iops: Option<OneOrMore>,
            /// Times between bursts.
            thinktime: Option<OneOrMore>,
            /// Threads or processes.
            process: Option<OneOrMore>,
            /// Threads beside the jobs that compute without end.
            neighbours: Option<OneOrMore>,
            /// Clocks of the jobs' cores.
            frequency: Option<OneOrMore>,
            /// Deepest idle states.
            #[serde(rename = "max-cstate")]
            max_cstate: Option<OneOrMore>,
            /// I/O schedulers.
            scheduler: Option<OneOrMore>,
            /// Interrupt coalescings.
            coalescing: Option<OneOrMore>,
            /// Engines.
            engine: Option<OneOrMore>,
            /// Completion modes.
            completion: Option<OneOrMore>,
        }

        impl $name {
            /// Lists of values, by factor.
            pub fn lists(&self) -> impl Iterator<Item = (Factor, &OneOrMore)> {
                let lists = [
                    (Factor::Device, &self.device),
                    (Factor::Rw, &self.rw),
                    (Factor::RwMixRead, &self.rwmixread),
                    (Factor::Bs, &self.bs),
                    (Factor::IoDepth, &self.iodepth),
                    (Factor::NumJobs, &self.numjobs),
                    (Factor::RateIops, &self.rate_iops),
                    (Factor::ThinkTime, &self.thinktime),
                    (Factor::Process, &self.process),
                    (Factor::Neighbours, &self.neighbours),
                    (Factor::Frequency, &self.frequency),
                    (Factor::MaxCstate, &self.max_cstate),
                    (Factor::Scheduler, &self.scheduler),
                    (Factor::Coalescing, &self.coalescing),
                    (Factor::Engine, &self.engine),
                    (Factor::Completion, &self.completion),
                ];
                let given = lists.into_iter();
                given.filter_map(|(factor, list)| Some((factor, list.as_ref()?)))
            }
        }
    };
}

with_factors! {
    /// Lists of values that stand in place of a sweep's own.
    FactorLists {}
}

with_factors! {
    /// One `[[sweep]]`: lists of factors, every combination of which is run.
    SweepSpec {
        /// Name, unique in the experiment.
        name: String,
        /// Platforms that it can be run on: `real`, `emulated`, `twin`, `guest`; none: all but
        /// `guest`.
        #[serde(default)]
        on: OneOrMore,
        /// What stands against it elsewhere, in a few words.
        needs: Option<String>,
        /// Keys in place of the experiment's.
        #[serde(default)]
        run: RunKeys,
        /// Lists in place of its own with `--quick`.
        #[serde(default)]
        quick: FactorLists,
        /// Lists in place of its own in virtual time.
        #[serde(default)]
        twin: FactorLists,
        /// Lists in place of its own on emulated devices.
        #[serde(default)]
        emulated: FactorLists,
    }
}
