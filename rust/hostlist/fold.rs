//! From host names to an expression.

use super::limits::MAX_RANGE;
use super::parse;
use super::term::digits;
use crate::Result;
use std::fmt::{self, Display, Formatter};

/// Folds host names into one expression that expands to exactly these names, in this order.
///
/// It is what `scontrol show hostlist` makes of them: names that differ only in the number at their end share a bracket
/// as long as they follow each other. Numbers in the middle of a name are left alone, since Slurm before 23.11 accepts
/// nothing behind a bracket.
///
/// # Errors
/// [`Error::Hostlist`](crate::Error::Hostlist) with the name for an expression if an expression cannot contain it: an
/// empty one, one with separators, brackets or control characters, or `(null)`.
///
/// ```
/// use torchrun_jsc::hostlist::fold;
///
/// assert_eq!(fold(&["n1", "n2", "n3", "n5", "login"])?, "n[1-3,5],login");
/// assert!(fold(&["n1", "n[2"]).is_err());
/// # Ok::<(), torchrun_jsc::Error>(())
/// ```
pub fn fold<S: AsRef<str>>(names: &[S]) -> Result<String> {
    let mut parts: Vec<Part> = Vec::new();
    for name in names.iter().map(AsRef::as_ref) {
        parse::plain_name(name).map_err(|fault| fault.error(name))?;
        let (prefix, number) = split(name);
        match (parts.last_mut(), number) {
            (Some(part), Some(number)) if part.takes(prefix) => part.push(number),
            _ => parts.push(Part { prefix, runs: Vec::from_iter(number) }),
        }
    }
    Ok(join(&parts))
}

/// Splits off the number at the end of a name, unless it is larger than any number in a bracket may be.
fn split(name: &str) -> (&str, Option<Run>) {
    let (prefix, number) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    match number.parse() {
        Ok(value) => (prefix, Some(Run { first: value, last: value, width: number.len() })),
        Err(_) => (name, None),
    }
}

fn join(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Names with the same prefix, or one name without a number.
struct Part<'a> {
    prefix: &'a str,
    runs: Vec<Run>,
}

impl Part<'_> {
    fn takes(&self, prefix: &str) -> bool {
        self.prefix == prefix && !self.runs.is_empty()
    }

    fn push(&mut self, number: Run) {
        match self.runs.last_mut() {
            Some(run) if run.continues_with(number) => run.last = number.last,
            _ => self.runs.push(number),
        }
    }
}

impl Display for Part<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let prefix = self.prefix;
        match self.runs.as_slice() {
            [] => f.write_str(prefix),
            [run] if run.first == run.last => write!(f, "{prefix}{run}"),
            runs => write!(f, "{prefix}[{}]", join(runs)),
        }
    }
}

/// Consecutive numbers that are padded to the same width.
#[derive(Clone, Copy)]
struct Run {
    first: u64,
    last: u64,
    width: usize,
}

impl Run {
    /// Whether a range up to and including `next` would expand to `next` as it is written, and is short enough.
    fn continues_with(self, next: Run) -> bool {
        self.last.checked_add(1) == Some(next.first)
            && next.width == self.width.max(digits(next.first))
            && next.first - self.first < MAX_RANGE as u64
    }
}

impl Display for Run {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { first, last, width } = *self;
        write!(f, "{first:0width$}")?;
        if last > first {
            write!(f, "-{last:0width$}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::fold;
    use crate::hostlist::{Hostlist, MAX_RANGE};
    use crate::Error;

    #[test]
    fn what_scontrol_show_hostlist_prints() {
        for (names, folded) in [
            ("", ""),
            ("n7", "n7"),
            ("n1 n2 n3 n5", "n[1-3,5]"),
            ("n8 n9 n10 n11", "n[8-11]"),
            ("n08 n09 n10 n11", "n[08-11]"),
            ("n009 n10", "n[009,10]"),
            ("n3 n1 n1 n2", "n[3,1,1-2]"),
            ("n1 m1 n2", "n1,m1,n2"),
            ("1 2 03", "[1-2,03]"),
            ("login login n n1", "login,login,n,n1"),
            ("n1-ib n2-ib", "n1-ib,n2-ib"),
            ("r1n1 r1n2 r2n1", "r1n[1-2],r2n1"),
            ("n18446744073709551614 n18446744073709551615", "n[18446744073709551614-18446744073709551615]"),
            ("n18446744073709551616", "n18446744073709551616"),
        ] {
            let names: Vec<_> = names.split_whitespace().collect();
            assert_eq!(fold(&names).unwrap(), folded, "{names:?}");
        }
    }

    #[test]
    fn ranges_stay_within_the_limit() {
        let names: Vec<_> = (0..=MAX_RANGE).map(|k| format!("n{k}")).collect();
        let folded = fold(&names).unwrap();
        assert_eq!(folded, "n[0-65535,65536]");
        assert!(Hostlist::parse(&folded).unwrap().names().eq(names));
    }

    #[test]
    fn names_that_no_expression_can_contain() {
        for (name, fault) in [
            ("", 0),
            ("a b", 1),
            ("a,b", 1),
            ("a\n", 1),
            ("n[1]", 1),
            ("n1]", 2),
            ("n\0", 1),
            ("b{1}", 1),
            ("(null)", 0),
        ] {
            match fold(&["n1", name]) {
                Err(Error::Hostlist { expression, offset, .. }) => assert_eq!((&*expression, offset), (name, fault)),
                other => panic!("{name:?} gave {other:?}"),
            }
        }
    }
}
