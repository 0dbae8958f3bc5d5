//! Hostlists against a model that is written differently, and against hostile input.

#[path = "fuzz/properties/mod.rs"]
#[allow(dead_code, unused_imports)] // the other targets are fuzz_replay's
mod properties;

use proptest::collection::vec;
use proptest::prelude::*;
use std::time::{Duration, Instant};
use torchrun_jsc::hostlist::{fold, Hostlist, MAX_EXPANDED};
use torchrun_jsc::Error;

/// What Slurm does, as it does it: by rewriting text, and as slowly.
mod model {
    /// The hosts of a well-formed expression.
    pub(crate) fn expand(expression: &str) -> Vec<String> {
        names(expression).iter().flat_map(|name| expand_name(name)).collect()
    }

    /// Splits at separators that are not in brackets.
    fn names(expression: &str) -> Vec<String> {
        let mut names = vec![String::new()];
        let mut depth = 0;
        for c in expression.chars() {
            depth += i32::from(c == '[') - i32::from(c == ']');
            if depth == 0 && matches!(c, ',' | ' ' | '\t' | '\n') {
                names.push(String::new());
            } else {
                names.last_mut().unwrap().push(c);
            }
        }
        names.retain(|name| !name.is_empty());
        names
    }

    /// Splits off the last bracket, and makes a list of prefixes of what is in front of it.
    fn expand_name(name: &str) -> Vec<String> {
        let Some((prefix, rest)) = name.rsplit_once('[') else { return vec![name.to_owned()] };
        let (numbers, suffix) = rest.split_once(']').unwrap();
        let numbers = expand_numbers(numbers);
        let hosts = prefixes(prefix).into_iter();
        hosts.flat_map(|prefix| numbers.iter().map(move |number| format!("{prefix}{number}{suffix}"))).collect()
    }

    /// Writes out the last bracket of a prefix, and then those in front of it for each of its numbers.
    fn prefixes(prefix: &str) -> Vec<String> {
        let Some((head, rest)) = prefix.rsplit_once('[') else { return vec![prefix.to_owned()] };
        let (numbers, tail) = rest.split_once(']').unwrap();
        let numbers = expand_numbers(numbers).into_iter();
        numbers.flat_map(|number| prefixes(&format!("{head}{number}{tail}"))).collect()
    }

    fn expand_numbers(numbers: &str) -> Vec<String> {
        let ranges = numbers.split(',');
        ranges
            .flat_map(|range| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let last = if last.is_empty() { first } else { last };
                let width = first.len();
                let numbers: std::ops::RangeInclusive<u64> =
                    first.trim().parse().unwrap()..=last.trim().parse().unwrap();
                numbers.map(move |number| format!("{number:0width$}"))
            })
            .collect()
    }
}

/// A range such as `7`, `07-`, ` 007-12`.
fn range() -> impl Strategy<Value = String> {
    let start = prop_oneof![0..13_u64, 95..102_u64, Just(999)];
    (start, 0..4_usize, 0..4_u64, 0..4_usize, 0..3_usize).prop_map(|(first, zeros, more, end_zeros, form)| {
        let (first_text, last) = (format!("{}{first}", "0".repeat(zeros)), first + more);
        match form {
            0 => first_text,
            1 if more == 0 => format!(" {first_text}-"),
            _ => format!("{first_text}-{}{last}", "0".repeat(end_zeros)),
        }
    })
}

fn bracket() -> impl Strategy<Value = String> {
    vec(range(), 1..4).prop_map(|ranges| format!("[{}]", ranges.join(",")))
}

/// A host name with up to four brackets; digits next to them make names that can be read in several ways.
fn name() -> impl Strategy<Value = String> {
    let plain = "[a-c1é.-]{0,2}";
    (plain, vec((bracket(), plain), 0..5)).prop_filter_map("an empty name", |(head, tail)| {
        let name = tail.into_iter().fold(head, |name, (bracket, text)| name + &bracket + &text);
        (!name.is_empty()).then_some(name)
    })
}

fn expression() -> impl Strategy<Value = String> {
    vec((name(), "[, \t\n]{1,2}"), 1..4).prop_map(|names| names.into_iter().map(|(name, gap)| name + &gap).collect())
}

/// A list that is short enough to be made in a test.
fn list() -> impl Strategy<Value = (String, Hostlist)> {
    expression().prop_filter_map("too many hosts", |expression| {
        let list = Hostlist::parse(&expression).unwrap();
        (list.len() < 20_000).then_some((expression, list))
    })
}

proptest! {
    #[test]
    fn expansion_equals_the_model((expression, list) in list()) {
        let expected = model::expand(&expression);
        prop_assert_eq!(list.len(), expected.len());
        prop_assert_eq!(&list.names().collect::<Vec<_>>(), &expected);
        for k in (0..expected.len()).step_by(expected.len() / 50 + 1) {
            prop_assert_eq!(list.nth(k), Some(expected[k].clone()));
        }
        prop_assert_eq!(list.nth(expected.len()), None);
    }

    #[test]
    fn position_is_that_of_the_first_such_host((_, list) in list(), sample: prop::sample::Index) {
        let host = list.nth(sample.index(list.len())).unwrap();
        let position = list.names().position(|other| other == host);
        prop_assert_eq!(list.position(&host), position);
    }

    #[test]
    fn position_is_the_inverse_of_nth(expression in expression(), sample: prop::sample::Index) {
        let list = Hostlist::parse(&expression).unwrap();
        let k = sample.index(list.len());
        let host = list.nth(k).unwrap();
        let position = list.position(&host).unwrap();
        prop_assert!(position <= k);
        prop_assert_eq!(list.nth(position), Some(host));
    }

    #[test]
    fn a_name_that_is_not_listed_has_no_position((_, list) in list(), name in "[a-c019]{0,5}") {
        prop_assert_eq!(list.position(&name), list.names().position(|host| host == name));
    }

    #[test]
    fn folding_loses_nothing((_, list) in list()) {
        let hosts = list.names().collect::<Vec<_>>();
        let folded = fold(&hosts).unwrap();
        prop_assert_eq!(Hostlist::parse(&folded).unwrap().names().collect::<Vec<_>>(), hosts);
    }

    #[test]
    fn folding_any_names_fails_or_loses_nothing(names in vec("\\PC{0,4}[0-9]{0,3}", 0..8)) {
        if let Ok(folded) = fold(&names) {
            prop_assert_eq!(Hostlist::parse(&folded).unwrap().names().collect::<Vec<_>>(), names);
        }
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        properties::hostlist(text.as_bytes());
    }

    #[test]
    fn no_near_miss_panics(text in "[n01239\\[\\],\\- \t]{0,40}") {
        properties::hostlist(text.as_bytes());
    }

    #[test]
    fn no_number_panics(numbers in vec((any::<u64>(), 0..9_u64), 1..4)) {
        let ranges: Vec<_> = numbers.iter().map(|&(first, more)| format!("{first}-{}", first.wrapping_add(more))).collect();
        properties::hostlist(format!("n[{}]", ranges.join(",")).as_bytes());
        properties::hostlist(format!("n[{}]", ranges.join("][")).as_bytes());
    }
}

/// Fails when `action` takes time that grows with the number of hosts. The limit leaves room for a slow machine.
fn at_once<T>(action: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = action();
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
    result
}

#[test]
fn a_bomb_costs_nothing_until_someone_iterates() {
    let list = at_once(|| Hostlist::parse("n[0-65535][0-65535][0-65535]").unwrap());
    assert_eq!(list.len(), 1 << 48);
    let k = list.len() - 1;
    assert_eq!(at_once(|| list.nth(k)).as_deref(), Some("n655356553565535"));
    assert_eq!(at_once(|| list.position("n655356553565535")), Some(k));
    assert_eq!(at_once(|| list.position("n655356553565536")), None);
    let first: Vec<_> = at_once(|| list.names().take(3).collect());
    assert_eq!(first, ["n000", "n001", "n002"]);
    let error = at_once(|| list.check(MAX_EXPANDED).unwrap_err());
    let text =
        "node list \"n[0-65535][0-65535][0-65535]\" stands for 281474976710656 hosts, more than the limit of 1048576";
    assert_eq!(error.to_string(), text);
}

#[test]
fn counts_saturate() {
    let list = Hostlist::parse(&format!("{},last", "[0-65535]".repeat(5))).unwrap();
    assert_eq!(list.len(), usize::MAX);
    assert_eq!(list.nth(usize::MAX), None);
    assert!(list.nth(usize::MAX - 1).is_some());
    assert_eq!(list.position("00000"), Some(0));
    assert_eq!(list.position("65535".repeat(5).as_str()), None);
    assert_eq!(list.position("last"), None);
    assert_eq!(list.names().nth(2).as_deref(), Some("00002"));
}

#[test]
fn digits_that_can_be_shared_in_many_ways_are_not_tried_in_all() {
    let list = Hostlist::parse(&"[1-11111]".repeat(200)).unwrap();
    assert_eq!(at_once(|| list.position(&"1".repeat(400))), None);
    assert!(at_once(|| list.position(&"1".repeat(200))) == Some(0));
    assert_eq!(at_once(|| list.position(&"1".repeat(1_001))), None);
    let list = Hostlist::parse(&"[1,11]".repeat(60)).unwrap();
    assert!(at_once(|| list.position(&"1".repeat(90))).is_some());
}

#[test]
fn long_names_cannot_fill_the_memory() {
    let long = format!("{}[0-65535]", "n".repeat(100_000));
    assert!(matches!(Hostlist::parse(&long), Err(Error::Hostlist { offset: 0, .. })));
}
