use joulio_twin::check::{IOS, check};
use joulio_twin::published::{Paper, Profiles};
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let r = check(&Paper::all()?, Profiles::default(), IOS)?;
    for n in &r.numbers {
        println!("{:<7}{:<55}{:>10.2}{:>11.2} {:>+7.1}% {}{}", n.paper, n.what, n.published, n.modelled, n.error*100.0, if n.fitted {"F"} else {" "}, if n.broken() {" BROKEN"} else {""});
        if let Some(b)=n.band {println!("    band {b:?}");}
    }
    for o in &r.orders { if !o.kept {println!("ORDER {} > {}: {:.3} {:.3}", o.more,o.less,o.published,o.modelled);} }
    for o in &r.observations { println!("{} {} {}", if o.holds {"ok "} else {"NO "}, o.paper, o.what); if !o.holds {println!("   {:?}", o.chains);} }
    for o in &r.rules { println!("{:?}", o); }
    for o in &r.conflicts { println!("{:?}", o); }
    for o in &r.inputs { if o.broken() {println!("{:?}", o);} }
    Ok(())
}
