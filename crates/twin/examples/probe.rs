//! scratch
use joulio_twin::published::*;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let papers = Paper::all()?;
    let mut p = Player::new(&papers, Profiles::default(), 60_000);
    for a in std::env::args().skip(1) {
        if let Some((f, v)) = a.split_once('=') { p.set(&f.parse()?, v.parse()?)?; continue }
        let mut names: Vec<_> = papers.iter().flat_map(|x| &x.run).filter(|r| r.name.contains(&a)).map(|r| r.name.clone()).collect();
        names.sort();
        for n in names {
            let r = p.run(&n)?;
            print!("{n:<32}");
            for m in [Metric::Iops, Metric::LatencyUs, Metric::P99Us, Metric::P99999Us, Metric::CpuUs, Metric::CpuPercentAll, Metric::Watts, Metric::JoulesPerMillion] { print!(" {:>10.2}", m.of(&r).unwrap_or(f64::NAN)); }
            let t = r.cpus[0].1; let w = r.window.0 as f64;
            println!(" c1 {:.2} c1e {:.2} c6 {:.2} {:?}", t.c1.0 as f64/w, t.c1e.0 as f64/w, t.c6.0 as f64/w, r.parts);
        }
    }
    Ok(())
}
