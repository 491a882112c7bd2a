//! Tests of members that run at the same time.

use super::*;
use crate::check::check;

/// Returns a target that may be written, and the log of its requests.
fn logged() -> (Box<dyn Target>, Log) {
    let log = Log::default();
    (Box::new(Fragile::new(&log)), log)
}

fn member(name: &str, job: Job, devices: &[usize]) -> Member {
    Member {
        reporting_group: 0,
        name: name.into(),
        devices: devices.to_vec(),
        ..Member::alone(job, PSYNC, 0)
    }
}

/// Returns the offsets of the requests with `operation`, in their order.
fn offsets(log: &Log, operation: Operation) -> Vec<u64> {
    let log = log.lock().unwrap();
    let all = log.iter().filter(|(.., one)| one.operation == operation);
    all.map(|(.., request)| request.offset).collect()
}

#[test]
fn each_member_does_its_own_on_its_own_devices() {
    let ((first, on_first), (second, on_second)) = (logged(), logged());
    let targets = [first, second];
    let writes = Job {
        rw: ReadWrite::RandWrite,
        numjobs: 2,
        number_ios: Some(50),
        ..job()
    };
    let members = [
        member("reads", job(), &[0]),
        member("writes", writes, &[1, 0]),
    ];
    let result = run(&members, &setup(&targets), &mut Meters::default()).unwrap();
    assert_eq!(offsets(&on_first, Operation::Read).len(), 100);
    assert_eq!(offsets(&on_first, Operation::Write).len(), 50);
    assert_eq!(offsets(&on_second, Operation::Write).len(), 50);
    assert!(offsets(&on_second, Operation::Read).is_empty());
    let all = result.counts.expect("figures");
    assert_eq!((all.read.ios, all.write.ios, all.all.ios), (100, 100, 200));
    assert_eq!((all.per_device.len(), all.per_job.len()), (2, 3));
    let of = |at: usize| {
        let section = &result.sections[at];
        let counts = section.result.counts.as_ref().expect("figures");
        (
            section.section.as_str(),
            counts.all.ios,
            counts.per_device.len(),
        )
    };
    assert_eq!([of(0), of(1)], [("reads", 100, 1), ("writes", 100, 2)]);
    assert_eq!((result.rw, result.numjobs), (None, 3));
    assert_eq!(result.engine, Some(EngineName::Psync));
}

#[test]
fn members_that_are_alike_draw_other_blocks() {
    let (target, log) = logged();
    let writes = Job {
        rw: ReadWrite::RandWrite,
        ..job()
    };
    let members = [member("a", job(), &[0]), member("b", writes, &[0])];
    run(&members, &setup(&[target]), &mut Meters::default()).unwrap();
    let (a, b) = (
        offsets(&log, Operation::Read),
        offsets(&log, Operation::Write),
    );
    assert!(a.len() == 100 && b.len() == 100 && a != b);
}

#[test]
fn all_members_together_fit_a_device_or_none_begins() {
    let (target, log) = logged();
    let five = Job {
        numjobs: 5,
        ..job()
    };
    let members = [member("a", five.clone(), &[0]), member("b", five, &[0])];
    let targets = [target];
    let wrong = check(&members, &targets).unwrap_err().to_string();
    assert_eq!(wrong, "--numjobs: 10 queue pairs wanted, fragile has 8");
    let deep = Job {
        iodepth: 99,
        ..job()
    };
    let members = [member("a", job(), &[0]), member("b", deep, &[0])];
    let wrong = check(&members, &targets).unwrap_err().to_string();
    assert!(
        wrong.starts_with("--iodepth: [b] 99 is too deep"),
        "{wrong}"
    );
    assert!(log.lock().unwrap().is_empty());
}

#[test]
fn a_panic_in_one_member_ends_the_others() {
    let (healthy, _) = logged();
    let fragile = Fragile {
        reaps_until_panic: Some(100),
        ..Fragile::new(&Log::default())
    };
    let targets: [Box<dyn Target>; 2] = [healthy, Box::new(fragile)];
    let endless = Job {
        number_ios: None,
        runtime: Some(Nanos::from_millis(3_600_000)),
        ..job()
    };
    let delayed = Job {
        start_delay: Nanos::from_millis(3_600_000),
        ..job()
    };
    let members = [
        member("healthy", endless.clone(), &[0]),
        member("delayed", delayed, &[0]),
        member("fragile", endless, &[1]),
    ];
    let stop = Stop::default();
    let setup = Setup {
        stop: &stop,
        ..setup(&targets)
    };
    let result = run(&members, &setup, &mut Meters::default());
    assert!(matches!(result, Err(RunError::Panicked)));
}

#[test]
fn an_unavailable_member_ends_the_layout_of_the_others() {
    let log = Log::default();
    let large = Fragile {
        info: TargetInfo {
            size: 1 << 30,
            may_write: true,
            ..info()
        },
        ..Fragile::new(&log)
    };
    let unavailable = Fragile {
        unavailable: Some("it has no queues to poll"),
        ..Fragile::new(&Log::default())
    };
    let targets: [Box<dyn Target>; 2] = [Box::new(large), Box::new(unavailable)];
    let verifies = Job {
        rw: ReadWrite::RandRw,
        verify: Verify::Crc32c,
        ..job()
    };
    let members = [
        member("unavailable", job(), &[1]),
        member("verifies", verifies, &[0]),
    ];
    let stop = Stop::default();
    let setup = Setup {
        stop: &stop,
        ..setup(&targets)
    };
    let result = run(&members, &setup, &mut Meters::default()).unwrap();
    let writes = offsets(&log, Operation::Write).len();
    assert!(writes < 1 << 18, "all blocks were written");
    assert!(result.counts.is_none() && !result.interrupted);
    let reason = result.sections[0].result.completion.reason.as_deref();
    assert_eq!(reason, Some("it has no queues to poll"));
}

#[test]
fn the_rate_of_a_job_is_over_its_own_time() {
    let (target, _) = logged();
    let later = Job {
        start_delay: Nanos::from_millis(50),
        ..job()
    };
    let members = [member("a", job(), &[0]), member("b", later, &[0])];
    let result = run(&members, &setup(&[target]), &mut Meters::default()).unwrap();
    let all = result.counts.expect("figures");
    for (own, section) in all.per_job.iter().zip(&result.sections) {
        let counts = section.result.counts.as_ref().expect("figures");
        assert_eq!((own.ios, own.iops), (100, counts.all.iops));
    }
    assert_eq!(all.per_job.len(), 2);
}
