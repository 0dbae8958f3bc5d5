//! One comma-separated part of an expression, and the arithmetic of its brackets.

use std::fmt::Write;
use std::ops::Range;

/// A part of the expression's text, by byte offsets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    pub(super) fn of(self, text: &str) -> &str {
        &text[self.start..self.end]
    }
}

/// The numbers `first`, `first + 1`, … of a bracket, `count` of them.
#[derive(Debug, Clone)]
struct Numbers {
    first: u64,
    count: usize,
    /// Numbers are padded with zeros to this width; `first` is never longer.
    width: usize,
    /// How many numbers the bracket has before these.
    before: usize,
}

impl Numbers {
    fn end(&self) -> usize {
        self.before.saturating_add(self.count)
    }

    /// The length of the longest number.
    fn max_width(&self) -> usize {
        let last = self.first + (self.count as u64 - 1);
        self.width.max(digits(last))
    }

    /// The index of the number that is written exactly like `text`.
    fn index_of(&self, text: &str) -> Option<usize> {
        // Only a number that fills the width has zeros in front.
        if text.len() > self.width && text.starts_with('0') {
            return None;
        }
        let value: u64 = text.parse().ok()?;
        let index = usize::try_from(value.checked_sub(self.first)?).ok()?;
        (index < self.count).then_some(index)
    }
}

/// A bracket and the text behind it.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    numbers: Vec<Numbers>,
    pub(super) tail: Span,
}

impl Group {
    /// Adds `count` numbers from `first` on, padded to `width`, which is no less than the length of `first`.
    pub(super) fn push(&mut self, first: u64, count: usize, width: usize) {
        let before = self.len();
        self.numbers.push(Numbers { first, count, width, before });
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.last().map_or(0, Numbers::end)
    }

    fn max_width(&self) -> usize {
        self.numbers.iter().map(Numbers::max_width).max().unwrap_or(0)
    }

    /// Appends number `index` and the tail.
    fn write(&self, text: &str, index: usize, out: &mut String) -> Written {
        let numbers = &self.numbers[self.numbers.partition_point(|numbers| numbers.end() <= index)];
        let offset = index - numbers.before;
        let value = numbers.first + offset as u64;
        let start = out.len();
        // Writing to a string cannot fail.
        let _ = write!(out, "{value:0width$}", width = numbers.width);
        let number = start..out.len();
        out.push_str(self.tail.of(text));
        Written { number, left: numbers.count - 1 - offset }
    }

    /// Reads one number and the tail at every place where `before` has an index, and says for every place where that
    /// ends the lowest index that `combine(index before, index of the number)` gives.
    fn read(
        &self,
        text: &str,
        name: &str,
        before: &[Option<usize>],
        combine: impl Fn(usize, usize) -> Option<usize>,
    ) -> Vec<Option<usize>> {
        let mut after = vec![None; before.len()];
        let starts = before.iter().enumerate().filter_map(|(start, index)| Some((start, (*index)?)));
        for (start, index_before) in starts {
            for (end, index) in self.matches(text, &name[start..]) {
                let Some(index) = combine(index_before, index) else { continue };
                let best: &mut Option<usize> = &mut after[start + end];
                *best = Some(best.map_or(index, |best| best.min(index)));
            }
        }
        after
    }

    /// Every way to read one number and the tail at the start of `name`: where it ends, and the number's index.
    fn matches<'a>(&'a self, text: &'a str, name: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        let tail = self.tail.of(text);
        let run = name.bytes().take_while(u8::is_ascii_digit).count();
        self.numbers.iter().flat_map(move |numbers| {
            (numbers.width..=numbers.max_width().min(run)).filter_map(move |width| {
                let index = numbers.index_of(&name[..width])?;
                name[width..].starts_with(tail).then_some((width + tail.len(), numbers.before.saturating_add(index)))
            })
        })
    }
}

/// What was just written into a buffer that ends with a bracket's number and the text behind the bracket.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    /// Where the number is.
    pub(super) number: Range<usize>,
    /// How many times it can be counted up.
    pub(super) left: usize,
}

/// Text, and any number of brackets with text behind them: all combinations of their numbers.
///
/// The last bracket turns fastest, and then the others from left to right: Slurm splits off the last one, and expands
/// the others from the right, each time for all numbers of those further left (`_push_range_list` in [`hostlist.c`]).
/// For up to two brackets that is the order one expects.
///
/// [`hostlist.c`]: https://github.com/SchedMD/slurm/blob/0022d831f25e1eedd747d35bb232d3364312c099/src/common/hostlist.c
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub(super) head: Span,
    pub(super) groups: Vec<Group>,
}

impl Term {
    /// How many hosts there are; saturates.
    pub(super) fn len(&self) -> usize {
        self.groups.iter().map(Group::len).fold(1, usize::saturating_mul)
    }

    /// The length of the longest name, in bytes; saturates.
    pub(super) fn max_name(&self) -> usize {
        let head = self.head.end - self.head.start;
        let widths =
            self.groups.iter().map(|group| group.max_width().saturating_add(group.tail.end - group.tail.start));
        widths.fold(head, usize::saturating_add)
    }

    /// The text behind the last bracket.
    pub(super) fn tail<'a>(&self, text: &'a str) -> &'a str {
        self.groups.last().map_or("", |group| group.tail.of(text))
    }

    /// Appends host `index`, and says where its last number is.
    pub(super) fn write(&self, text: &str, index: usize, out: &mut String) -> Written {
        out.push_str(self.head.of(text));
        let Some((last, others)) = self.groups.split_last() else {
            return Written::default();
        };
        let mut rest = index / last.len();
        for group in others {
            group.write(text, rest % group.len(), out);
            rest /= group.len();
        }
        last.write(text, index % last.len(), out)
    }

    /// The lowest index of `name`.
    ///
    /// Adjacent brackets can share the digits of a name in many ways (`[1-10][1-10]` and `110`). From bracket to bracket
    /// only the lowest index for each place in the name is kept, which is enough because each bracket counts for more
    /// than all brackets left of it, and the last one for less than all. An index beyond `usize::MAX` is dropped: no
    /// lower one can come of it.
    pub(super) fn position(&self, text: &str, name: &str) -> Option<usize> {
        let head = self.head.of(text);
        let rest = name.strip_prefix(head)?;
        let Some((last, others)) = self.groups.split_last() else {
            return rest.is_empty().then_some(0);
        };
        let mut indexes = vec![None; name.len() + 1];
        indexes[head.len()] = Some(0);
        let mut scale: usize = 1;
        for group in others {
            indexes = group.read(text, name, &indexes, |before, index| index.checked_mul(scale)?.checked_add(before));
            scale = scale.saturating_mul(group.len());
        }
        let combine = |before: usize, index| before.checked_mul(last.len())?.checked_add(index);
        last.read(text, name, &indexes, combine)[name.len()]
    }
}

/// How many decimal digits `value` has.
pub(super) fn digits(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}
