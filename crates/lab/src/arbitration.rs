//! Weights of a controller's weighted round robin (feature 01h) in text form.

use joulio_nvme_spec::feature::Arbitration;

/// Arbitration burst without a limit: a queue may have any number of commands fetched in its turn (NVM Express Base
/// 2.0, figure 318: AB).
const NO_LIMIT: u8 = 7;

/// Weights 8, 4 and 1 of high, medium and low priority, with no limit on the arbitration burst.
pub const DEFAULT_ARBITRATION: Arbitration = Arbitration::new()
    .with_ab(NO_LIMIT)
    .with_hpw(7)
    .with_mpw(3)
    .with_lpw(0);

/// Parses `HIGH,MEDIUM,LOW[,BURST]`: the commands of each priority class in a round, 1 to 256 each, and the most
/// commands of one queue in its turn, a power of two up to 64; without BURST there is no limit.
///
/// # Errors
/// Text of the problem, in one line.
pub fn parse_arbitration(text: &str) -> Result<Arbitration, String> {
    let usage = "weights are HIGH,MEDIUM,LOW[,BURST], as 8,4,1: 1 to 256 commands each, and a burst of 1, 2, 4 ... 64";
    let numbers: Result<Vec<u16>, _> = text.split(',').map(str::parse).collect();
    let numbers = numbers.map_err(|_| format!("'{text}': {usage}"))?;
    let (weights, burst) = match numbers.as_slice() {
        [weights @ .., burst] if weights.len() == 3 => (weights, Some(*burst)),
        weights => (weights, None),
    };
    let ([high, medium, low], true) = (weights, weights.iter().all(|one| (1..=256).contains(one)))
    else {
        return Err(format!("'{text}': {usage}"));
    };
    let ab = match burst {
        None => NO_LIMIT,
        Some(burst) if burst.is_power_of_two() && burst <= 64 => burst.ilog2() as u8,
        Some(_) => return Err(format!("'{text}': {usage}")),
    };
    Ok(Arbitration::new()
        .with_ab(ab)
        .with_hpw((high - 1) as u8)
        .with_mpw((medium - 1) as u8)
        .with_lpw((low - 1) as u8))
}

/// Formats weights as [`parse_arbitration`] takes them.
pub(crate) fn arbitration_text(weights: Arbitration) -> String {
    let of_class = |weight: u8| u16::from(weight) + 1;
    let [high, medium, low] = [weights.hpw(), weights.mpw(), weights.lpw()].map(of_class);
    match weights.ab() {
        NO_LIMIT => format!("{high},{medium},{low}"),
        burst => format!("{high},{medium},{low},{}", 1_u32 << burst),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_counted_from_one_and_a_burst_is_a_power_of_two() {
        assert_eq!(parse_arbitration("8,4,1"), Ok(DEFAULT_ARBITRATION));
        let all = parse_arbitration("256,2,1,16").unwrap();
        assert_eq!((all.hpw(), all.mpw(), all.lpw(), all.ab()), (255, 1, 0, 4));
        for text in ["8,4,1", "256,2,1,16", "1,1,1,1", "3,2,1,64"] {
            assert_eq!(arbitration_text(parse_arbitration(text).unwrap()), text);
        }
    }

    #[test]
    fn what_a_controller_cannot_have_is_refused_in_one_line() {
        for text in [
            "",
            "8,4",
            "0,1,1",
            "257,1,1",
            "8,4,1,3",
            "8,4,1,128",
            "8,4,1,2,2",
            "a,b,c",
        ] {
            let error = parse_arbitration(text).unwrap_err();
            assert!(
                error.contains("HIGH,MEDIUM,LOW") && !error.contains('\n'),
                "{error}"
            );
        }
    }
}
