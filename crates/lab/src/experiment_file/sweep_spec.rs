//! Sweeps of an experiment.

use super::run_keys::RunKeys;
use crate::record::Platform;
use crate::report::{OneOrMore, SweepSource};
use crate::sweep::Factor;
use serde::Deserialize;

/// Value of a list that leaves the factor out, such as `scheduler = "-"` for devices without schedulers.
pub(super) const LEFT_OUT: &str = "-";

/// Declares a struct with a list of values for each factor, in addition to other fields.
macro_rules! with_factors {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            /// Devices, each in runs of its own.
            device: Option<OneOrMore>,
            /// Patterns and directions.
            rw: Option<OneOrMore>,
            /// Percents of reads.
            rwmixread: Option<OneOrMore>,
            /// I/O sizes in bytes.
            bs: Option<OneOrMore>,
            /// Priority classes of the jobs' queues.
            queue_priority: Option<OneOrMore>,
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
            /// Numbers of threads beside the jobs that compute all the time.
            neighbours: Option<OneOrMore>,
            /// Clocks of the jobs' cores; only in virtual time.
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
            /// Returns the lists of values, by factor.
            pub fn lists(&self) -> impl Iterator<Item = (Factor, &OneOrMore)> {
                let lists = [
                    (Factor::Device, &self.device),
                    (Factor::Rw, &self.rw),
                    (Factor::RwMixRead, &self.rwmixread),
                    (Factor::Bs, &self.bs),
                    (Factor::QueuePriority, &self.queue_priority),
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
    /// Lists of values that replace a sweep's own.
    FactorLists {}
}

with_factors! {
    /// A `[[sweep]]`: lists of factors' values, of which every combination is run.
    SweepSpec {
        /// Name, unique in the experiment.
        name: String,
        /// Platforms that it can be run on: `real`, `emulated`, `twin`, `guest`; empty: all but `guest`.
        #[serde(default)]
        on: OneOrMore,
        /// Reason why it cannot be run elsewhere, in a few words.
        needs: Option<String>,
        /// Device that is used if the sweep's engines support none of the command line's: `emulated:optane-p4801x`.
        stand_in: Option<String>,
        /// Command that makes its records, if `joulio lab run` alone does not.
        made_by: Option<String>,
        /// Keys that replace the experiment's.
        #[serde(default)]
        run: RunKeys,
        /// Lists that replace its own with `--quick`.
        #[serde(default)]
        quick: FactorLists,
        /// Lists that replace its own in virtual time.
        #[serde(default)]
        twin: FactorLists,
        /// Lists that replace its own on emulated devices.
        #[serde(default)]
        emulated: FactorLists,
    }
}

impl SweepSpec {
    /// Returns true if the sweep is run on `platform`. A sweep for real devices is also run in a virtual machine, where
    /// its counts are valid.
    pub fn is_run_on(&self, platform: Platform) -> bool {
        let listed = |platform: Platform| self.on.has(platform.name());
        match platform {
            Platform::Guest if listed(Platform::Real) => true,
            platform => self.on.is_empty() || listed(platform),
        }
    }

    /// Returns the source of the sweep's records.
    pub(super) fn source(&self) -> SweepSource {
        let all = [
            Platform::Real,
            Platform::Emulated,
            Platform::Guest,
            Platform::Twin,
        ];
        let has = |list: &Option<OneOrMore>, part: &str| {
            let values = list.iter().flat_map(OneOrMore::values);
            values.into_iter().any(|value| value.contains(part))
        };
        // Patterns that write have a w in their names; trims lose data too.
        SweepSource {
            name: self.name.clone(),
            on: all.into_iter().filter(|one| self.is_run_on(*one)).collect(),
            made_by: self.made_by.clone(),
            stands_in: self.stand_in.is_some(),
            writes: has(&self.rw, "w") || has(&self.rw, "trim") || has(&self.engine, "db_bench"),
        }
    }
}
