//! scratch
use joulio_twin::fit::*;
use joulio_twin::published::*;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let papers: Vec<_> = Paper::all()?.into_iter().filter(|x| filter.is_empty() || x.name == filter).collect();
    let t = std::time::Instant::now();
    let changes = fit(&papers, Profiles::default(), IOS)?;
    eprintln!("{:?}", t.elapsed());
    let mut files = std::collections::BTreeMap::<String, Vec<(Field, f64)>>::new();
    for c in changes {
        println!("{:<60} {:>10} -> {:>10} {:?} {:?}", c.field, c.from, c.to, c.band, c.residuals.iter().map(|r| (r.error * 1000.0).round() / 10.0).collect::<Vec<_>>());
        let f: Field = c.field.parse()?;
        files.entry(format!("profiles/{}/{}.toml", if f.machine {"machines"} else {"devices"}, f.profile)).or_default().push((f, c.to));
    }
    if std::env::args().nth(2).is_some() { for (p, v) in files { let t = std::fs::read_to_string(&p)?; std::fs::write(p, write(&t, &v)?)?; } }
    Ok(())
}
