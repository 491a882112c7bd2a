//! Implements an engine that completes every request at once, and reads with it.

use joulio_engine::{Buffer, Completion, Engine, Request};
use joulio_units::{Nanos, Operation};
use joulio_wait::WaitCounters;
use std::convert::Infallible;

struct Bytes(Vec<u8>);

impl Buffer for Bytes {
    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    fn copy_to(&self, to: &mut [u8]) {
        to.iter_mut()
            .zip(&self.0)
            .for_each(|(to, from)| *to = *from);
    }

    fn copy_from(&mut self, from: &[u8]) {
        self.0
            .iter_mut()
            .zip(from)
            .for_each(|(to, from)| *to = *from);
    }
}

#[derive(Default)]
struct Null {
    done: Vec<Completion<Bytes, Infallible>>,
}

impl Engine for Null {
    type Buffer = Bytes;
    type Failure = Infallible;
    type Error = Infallible;

    fn buffers(&mut self, _: usize, count: usize, len: usize) -> Result<Vec<Bytes>, Infallible> {
        Ok((0..count).map(|_| Bytes(vec![0; len])).collect())
    }

    fn prepare(&mut self, request: Request, buffer: Bytes) -> Result<(), Infallible> {
        self.done.push(Completion {
            tag: request.tag,
            outcome: Ok(()),
            buffer,
        });
        Ok(())
    }

    fn submit(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn reap(
        &mut self,
        _: usize,
        _: Nanos,
        sink: impl FnMut(Completion<Bytes, Infallible>),
    ) -> Result<usize, Infallible> {
        let count = self.done.len();
        self.done.drain(..).for_each(sink);
        Ok(count)
    }

    fn effective(&mut self) -> String {
        "at once".into()
    }

    fn counters(&mut self) -> WaitCounters {
        WaitCounters::default()
    }
}

/// Reads 4 KiB, and prints the completion.
pub fn main() -> Result<(), Infallible> {
    let mut engine = Null::default();
    let buffer = engine.buffers(0, 1, 4096)?.remove(0);
    let request = Request {
        device: 0,
        operation: Operation::Read,
        offset: 0,
        len: 4096,
        tag: 7,
    };
    engine.prepare(request, buffer)?;
    engine.submit()?;
    let count = engine.reap(1, Nanos::ZERO, |done| {
        println!("request {} ended", done.tag)
    })?;
    println!("{count} completed, waited for {}", engine.effective());
    Ok(())
}
