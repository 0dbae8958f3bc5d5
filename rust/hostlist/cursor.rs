//! Going through all hosts of a list.

use super::list::Hostlist;
use super::term::Written;
use std::iter::FusedIterator;
use std::ops::Range;

/// What nines turn into when the digit in front of them is counted up; a `u64` has no more than these.
const ZEROS: &str = "00000000000000000000";

/// Makes one host after the other in a single buffer.
///
/// Within a range a name differs from the one before in its last digits only, so those are counted up in place. That is
/// several times faster than formatting each number.
#[derive(Debug, Clone)]
struct Cursor<'a> {
    list: &'a Hostlist,
    /// The term that is being listed, and the index in it of the host to come.
    term: usize,
    index: usize,
    name: String,
    written: Written,
    tail: &'a str,
}

impl Cursor<'_> {
    /// The next host.
    #[inline]
    fn advance(&mut self) -> Option<&str> {
        if self.written.left > 0 {
            self.count_up();
        } else {
            self.write()?;
        }
        self.index += 1;
        Some(&self.name)
    }

    /// Writes the next host from scratch.
    fn write(&mut self) -> Option<()> {
        let (_, listed) = self.list.terms.get(self.term)?;
        if self.index == listed.len() {
            self.term += 1;
            self.index = 0;
        }
        let (_, term) = self.list.terms.get(self.term)?;
        self.name.clear();
        self.written = term.write(&self.list.text, self.index, &mut self.name);
        self.tail = term.tail(&self.list.text);
        Some(())
    }

    /// Counts the number in the name up by one.
    #[inline]
    fn count_up(&mut self) {
        let last = self.written.number.end - 1;
        match self.name.as_bytes()[last] {
            b'9' => self.carry(),
            digit => self.replace_from(last, digit + 1),
        }
        self.name.push_str(self.tail);
        self.written.left -= 1;
    }

    /// The same for a number that ends with nines.
    fn carry(&mut self) {
        let Range { start, end } = self.written.number;
        let number = &self.name.as_bytes()[start..end];
        let nines = number.iter().rev().take_while(|&&digit| digit == b'9').count();
        if nines == number.len() {
            self.replace_from(start, b'1');
            self.written.number.end += 1;
        } else {
            let at = end - nines - 1;
            self.replace_from(at, self.name.as_bytes()[at] + 1);
        }
        self.name.push_str(&ZEROS[..nines]);
    }

    fn replace_from(&mut self, at: usize, digit: u8) {
        self.name.truncate(at);
        self.name.push(char::from(digit));
    }
}

/// The hosts of a [`Hostlist`], in order; made by [`Hostlist::names`].
#[derive(Debug, Clone)]
pub struct Hosts<'a>(Cursor<'a>);

impl Hostlist {
    /// All hosts, each made when it is asked for. There is no limit; see [`Hostlist::check`].
    #[must_use]
    pub fn names(&self) -> Hosts<'_> {
        let (name, written) = (String::new(), Written::default());
        Hosts(Cursor { list: self, term: 0, index: 0, name, written, tail: "" })
    }
}

impl Hosts<'_> {
    /// The next host in a buffer that all of them share, so that none is allocated.
    #[inline]
    pub fn advance(&mut self) -> Option<&str> {
        self.0.advance()
    }
}

impl Iterator for Hosts<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.0.advance().map(str::to_owned)
    }
}

impl FusedIterator for Hosts<'_> {}
