//! The sweeps of an experiment.

use super::run_keys::RunKeys;
use crate::record::Platform;
use crate::report::{OneOrMore, SweepSource};
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
    /// Lists of values that stand in place of a sweep's own.
    FactorLists {}
}

with_factors! {
    /// A `[[sweep]]`: lists of factors, every combination of which is run.
    SweepSpec {
        /// Name, unique in the experiment.
        name: String,
        /// Platforms that it can be run on: `real`, `emulated`, `twin`, `guest`; none: all but
        /// `guest`.
        #[serde(default)]
        on: OneOrMore,
        /// Reason against it elsewhere, in a few words.
        needs: Option<String>,
        /// Device of its runs where its engine drives none of the command line's: `emulated:optane-p4801x`.
        stand_in: Option<String>,
        /// Command that makes its records, where `joulio lab run` alone does not.
        made_by: Option<String>,
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

impl SweepSpec {
    /// Returns true if the sweep is run on `platform`. A sweep for real devices is run in a virtual machine too,
    /// where its counts are valid.
    pub fn is_run_on(&self, platform: Platform) -> bool {
        let listed = |platform: Platform| self.on.has(platform.name());
        match platform {
            Platform::Guest if listed(Platform::Real) => true,
            platform => self.on.is_empty() || listed(platform),
        }
    }

    /// Source of its records.
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
        // A pattern that writes has a w in its name; trims lose data too.
        SweepSource {
            name: self.name.clone(),
            on: all.into_iter().filter(|one| self.is_run_on(*one)).collect(),
            made_by: self.made_by.clone(),
            stands_in: self.stand_in.is_some(),
            writes: has(&self.rw, "w") || has(&self.rw, "trim") || has(&self.engine, "db_bench"),
        }
    }
}
