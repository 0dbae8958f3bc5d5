//! From the text of an expression to terms.

use super::limits::{MAX_NAME, MAX_RANGE};
use super::term::{Group, Span, Term};
use crate::Error;

/// What is wrong with an expression, and where.
#[derive(Debug)]
pub(super) struct Fault {
    offset: usize,
    reason: &'static str,
}

impl Fault {
    fn new(offset: usize, reason: &'static str) -> Self {
        Self { offset, reason }
    }

    pub(super) fn error(self, expression: &str) -> Error {
        Error::Hostlist { expression: expression.to_owned(), offset: self.offset, reason: self.reason }
    }
}

const UNOPENED: &str = "bracket that was never opened";

/// Parses a whole expression; separators may be repeated, and stand at both ends.
pub(super) fn terms(text: &str) -> Result<Vec<Term>, Fault> {
    if let Some((at, _)) = text.char_indices().find(|&(_, c)| c.is_control() && !is_separator(c)) {
        return Err(Fault::new(at, "control character"));
    }
    let mut parser = Parser { text, at: 0 };
    let mut terms = Vec::new();
    loop {
        parser.skip(is_separator);
        if parser.at == text.len() {
            return Ok(terms);
        }
        terms.push(parser.term()?);
    }
}

/// Checks that `name` is a host's name as it stands: not empty, and nothing in it means anything in an expression.
pub(super) fn plain_name(name: &str) -> Result<(), Fault> {
    if name.is_empty() {
        return Err(Fault::new(0, "empty host name"));
    }
    if let Some(at) = name.find(|c| is_separator(c) || c == '[' || c == ']') {
        return Err(Fault::new(at, "separator or bracket in a host name"));
    }
    terms(name).map(drop)
}

fn is_separator(c: char) -> bool {
    c == ',' || is_blank(c)
}

/// The newline separates hosts since Slurm 23.02.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n')
}

struct Parser<'a> {
    text: &'a str,
    /// Byte offset of what is read next; always at the start of a character.
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Moves on while `wanted` holds, and says what was passed.
    fn skip(&mut self, wanted: impl Fn(char) -> bool) -> Span {
        let rest = &self.text[self.at..];
        let start = self.at;
        self.at += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        Span { start, end: self.at }
    }

    /// Everything up to a separator outside of brackets.
    fn term(&mut self) -> Result<Term, Fault> {
        let start = self.at;
        let mut term = Term { head: self.literal()?, groups: Vec::new() };
        while self.peek() == Some('[') {
            term.groups.push(self.group()?);
        }
        let whole = Span { start, end: self.at };
        self.check(whole, &term)?;
        Ok(term)
    }

    fn check(&self, whole: Span, term: &Term) -> Result<(), Fault> {
        let text = whole.of(self.text);
        if text == "(null)" {
            return Err(Fault::new(whole.start, "unset value"));
        }
        // Slurm takes `a]b[1-2]` for two hosts, but its tokenizer then ends the name at a comma in the brackets
        // (`_next_tok`), which leaves one without its partner. `n03]` it takes for a name; more likely the list was cut.
        if let Some(at) = term.head.of(self.text).find(']') {
            if term.groups.is_empty() || text.contains(is_separator) {
                return Err(Fault::new(whole.start + at, UNOPENED));
            }
        }
        if term.max_name() > MAX_NAME {
            return Err(Fault::new(whole.start, "host name of more than 1024 bytes"));
        }
        Ok(())
    }

    /// Text outside of brackets.
    fn literal(&mut self) -> Result<Span, Fault> {
        let span = self.skip(|c| !is_separator(c) && c != '[' && c != '{');
        if self.peek() == Some('{') {
            // `block{b1}`, `switch{s1}`, `feature{f1}`: `_parse_hostlist_function` in Slurm's src/common/node_conf.c.
            return Err(Fault::new(self.at, "function that only Slurm's controller can expand"));
        }
        Ok(span)
    }

    /// A bracket and the text behind it.
    fn group(&mut self) -> Result<Group, Fault> {
        let open = self.at;
        let mut group = Group::default();
        loop {
            self.at += 1;
            self.range(open, &mut group)?;
            match self.peek() {
                Some(',') => {}
                Some(']') => break,
                _ => return Err(self.unexpected(open, "expected a comma or a closing bracket")),
            }
        }
        self.at += 1;
        group.tail = self.literal()?;
        if let Some(at) = group.tail.of(self.text).find(']') {
            return Err(Fault::new(group.tail.start + at, UNOPENED));
        }
        // Slurm writes out all but the last bracket, and refuses those that are too long (`MAX_PREFIX_CNT`).
        if self.peek() == Some('[') && group.len() > MAX_RANGE {
            return Err(Fault::new(open, "more than 65536 hosts in a bracket with another one behind it"));
        }
        Ok(group)
    }

    /// `7`, `7-9`, or `7-`, which is `7`.
    ///
    /// Slurm reads numbers by `strtoul`, which skips blanks, but takes the width from everything in front of the dash:
    /// `[089, 100]` is `089` and `0100` (`_parse_single_range`). Where `strtoul` stops at a letter, or takes a sign,
    /// we don't follow.
    fn range(&mut self, open: usize, group: &mut Group) -> Result<(), Fault> {
        let start = self.at;
        let (at, first) = self.number(open)?;
        let blanks = self.skip(is_blank);
        let width = self.at - start;
        let last = match self.peek() {
            Some('-') => self.range_end(open, first)?,
            _ if blanks.start < blanks.end => return Err(Fault::new(blanks.start, "blank behind a number")),
            _ => first,
        };
        let count = last.checked_sub(first).ok_or(Fault::new(at, "range that runs backwards"))?;
        match usize::try_from(count) {
            Ok(count) if count < MAX_RANGE => group.push(first, count + 1, width),
            _ => return Err(Fault::new(at, "range of more than 65536 hosts")),
        }
        Ok(())
    }

    /// What is behind the `first` number of a range, starting with the dash.
    fn range_end(&mut self, open: usize, first: u64) -> Result<u64, Fault> {
        self.at += 1;
        match self.peek() {
            Some(',' | ']') => Ok(first),
            _ => self.number(open).map(|(_, last)| last),
        }
    }

    /// A number with blanks in front, and where it starts.
    fn number(&mut self, open: usize) -> Result<(usize, u64), Fault> {
        self.skip(is_blank);
        let digits = self.skip(|c| c.is_ascii_digit());
        if digits.start == digits.end {
            return Err(self.unexpected(open, "expected a number"));
        }
        let number = digits.of(self.text).parse();
        Ok((digits.start, number.map_err(|_| Fault::new(digits.start, "number that is too large"))?))
    }

    /// The fault of what is read next in the bracket that was opened at `open`.
    fn unexpected(&self, open: usize, reason: &'static str) -> Fault {
        match self.peek() {
            None => Fault::new(open, "bracket that is never closed"),
            Some('[') => Fault::new(self.at, "bracket inside a bracket"),
            Some(_) => Fault::new(self.at, reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::hostlist::Hostlist;
    use crate::Error;

    fn fault(expression: &str) -> (usize, &'static str) {
        match Hostlist::parse(expression) {
            Err(Error::Hostlist { offset, reason, .. }) => (offset, reason),
            other => panic!("{expression:?} gave {other:?}"),
        }
    }

    #[test]
    fn brackets_without_a_partner() {
        assert_eq!(fault("n[03"), (1, "bracket that is never closed"));
        assert_eq!(fault("n[1-"), (1, "bracket that is never closed"));
        assert_eq!(fault("n1,n[1-3"), (4, "bracket that is never closed"));
        assert_eq!(fault("n[1,n[2]"), (4, "expected a number"));
        assert_eq!(fault("n[1,[]]"), (4, "bracket inside a bracket"));
        assert_eq!(fault("n[1-4[2-5]]"), (5, "bracket inside a bracket"));
        assert_eq!(fault("n03]"), (3, "bracket that was never opened"));
        assert_eq!(fault("n[1]x]"), (5, "bracket that was never opened"));
        assert_eq!(fault("n[1]]"), (4, "bracket that was never opened"));
    }

    #[test]
    fn a_closing_bracket_in_front_is_part_of_the_name() {
        assert_eq!(Hostlist::parse("a]b[1-2]").unwrap().nth(1).as_deref(), Some("a]b2"));
        assert_eq!(fault("n1,a]b[1,2]"), (4, "bracket that was never opened"));
    }

    #[test]
    fn numbers_that_are_none() {
        assert_eq!(fault("n[]"), (2, "expected a number"));
        assert_eq!(fault("n[x]"), (2, "expected a number"));
        assert_eq!(fault("n[-1]"), (2, "expected a number"));
        assert_eq!(fault("n[+1]"), (2, "expected a number"));
        assert_eq!(fault("n[1,]"), (4, "expected a number"));
        assert_eq!(fault("n[1,,3]"), (4, "expected a number"));
        assert_eq!(fault("n[1--3]"), (4, "expected a number"));
        assert_eq!(fault("n[1-☃]"), (4, "expected a number"));
        assert_eq!(fault("node[1:2]"), (6, "expected a comma or a closing bracket"));
        assert_eq!(fault("n[1-2-3]"), (5, "expected a comma or a closing bracket"));
        assert_eq!(fault("n[18446744073709551616]"), (2, "number that is too large"));
        assert_eq!(fault("n[1-99999999999999999999]"), (4, "number that is too large"));
    }

    #[test]
    fn blanks_in_brackets() {
        let second = |expression| Hostlist::parse(expression).unwrap().nth(1);
        assert_eq!(second("n[089, 100]").as_deref(), Some("n0100"));
        assert_eq!(second("n[1 - 3]").as_deref(), Some("n02"));
        assert_eq!(fault("n[1 ]"), (3, "blank behind a number"));
        assert_eq!(fault("n[1-3 ]"), (5, "expected a comma or a closing bracket"));
        assert_eq!(fault("n[1- ]"), (5, "expected a number"));
    }

    #[test]
    fn ranges() {
        assert_eq!(fault("nid[12-03]"), (4, "range that runs backwards"));
        assert_eq!(fault("n[0-65536]"), (2, "range of more than 65536 hosts"));
        assert_eq!(fault("n[0-18446744073709551615]"), (2, "range of more than 65536 hosts"));
        assert_eq!(fault("m,n[5,1-65537]"), (6, "range of more than 65536 hosts"));
        let reason = "more than 65536 hosts in a bracket with another one behind it";
        assert_eq!(fault("n[0][0-65535,1]x[1]"), (4, reason));
        for expression in ["n[0-65535]", "n[1-65536]", "n[18446744073709486080-18446744073709551615]"] {
            assert_eq!(Hostlist::parse(expression).unwrap().len(), 65_536, "{expression}");
        }
    }

    #[test]
    fn names() {
        assert_eq!(fault("(null)"), (0, "unset value"));
        assert_eq!(fault("n1,(null)"), (3, "unset value"));
        assert_eq!(fault("n1,block{b1,b2}"), (8, "function that only Slurm's controller can expand"));
        assert_eq!(fault("n1\0"), (2, "control character"));
        assert_eq!(fault("é\r\n"), (2, "control character"));
        assert_eq!(fault(&"n".repeat(1_025)), (0, "host name of more than 1024 bytes"));
        assert_eq!(fault(&format!("n1,n[{}1]", "0".repeat(1_023))), (3, "host name of more than 1024 bytes"));
        assert!(Hostlist::parse(&"n".repeat(1_024)).is_ok());
    }

    #[test]
    fn a_number_without_brackets_is_text() {
        // Slurm makes `n00018446744073709551615` of it.
        let name = "n99999999999999999999999";
        assert_eq!(Hostlist::parse(name).unwrap().nth(0).as_deref(), Some(name));
    }
}
