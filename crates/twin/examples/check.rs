//! scratch
use joulio_twin::check::{IOS, check};
use joulio_twin::published::{Paper, Profiles};
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut p = Profiles::default();
    let mut filter = String::new();
    let mut all = false;
    for a in std::env::args().skip(1) {
        if let Some((f, v)) = a.split_once('=') { p.set(&f.parse()?, v.parse()?)?; } else if a == "-v" { all = true } else { filter = a; }
    }
    let papers: Vec<_> = Paper::all()?.into_iter().filter(|x| filter.is_empty() || filter.split(',').any(|f| x.name == f)).collect();
    let r = check(&papers, p, IOS)?;
    for n in &r.numbers {
        println!("{:<7}{:<55}{:>10.2}{:>11.2} {:>+7.1}% {}{}", n.paper, n.what, n.published, n.modelled, n.error*100.0, if n.fitted {"F"} else {" "}, if n.broken() {" BROKEN"} else {""});
        if let Some(b)=n.band {println!("    band {b:?}");}
    }
    for o in &r.orders { if !o.kept {println!("ORDER {} > {}: {:.3} {:.3}", o.more,o.less,o.published,o.modelled);} }
    for o in &r.observations { if all || !o.holds {println!("{} {} {}", if o.holds {"ok "} else {"NO "}, o.paper, o.what); println!("   {:.1?}", o.chains);} }
    for o in &r.rules { if all || o.broken() {println!("{:?}", o);} }
    for o in &r.conflicts { println!("{:?}", o); }
    for o in &r.inputs { if o.broken() {println!("{:?}", o);} }
    Ok(())
}
