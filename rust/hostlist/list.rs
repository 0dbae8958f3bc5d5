//! A parsed expression: its length, its hosts by number, their numbers by name.

use super::limits::MAX_NAME;
use super::parse;
use super::term::Term;
use crate::{Error, Result};

/// A parsed hostlist expression: a sequence of host names, in Slurm's order, duplicates included.
#[derive(Debug, Clone)]
pub struct Hostlist {
    pub(super) text: String,
    /// Each term with the number of hosts up to and including it; the sums saturate.
    pub(super) terms: Vec<(usize, Term)>,
}

impl Hostlist {
    /// Parses an expression. The cost is that of reading it once, whatever it stands for.
    ///
    /// Slurm makes up names for some malformed expressions: `n[1` is `n]` in 22.05, and `n[1y-2]` is `n01`, `n02`. Those
    /// are errors here, and so are names that are too long or have control characters, a lone `]`, `(null)`, and
    /// functions such as `block{b1}`, which only Slurm's controller can expand.
    ///
    /// # Errors
    /// [`Error::Hostlist`] with the byte offset of the fault.
    ///
    /// ```
    /// use torchrun_jsc::hostlist::Hostlist;
    ///
    /// assert_eq!(Hostlist::parse("jwb[0001-0004,0009]")?.len(), 5);
    /// assert!(Hostlist::parse("jwb[0001-").is_err());
    /// # Ok::<(), torchrun_jsc::Error>(())
    /// ```
    pub fn parse(expression: &str) -> Result<Self> {
        let parsed = parse::terms(expression).map_err(|fault| fault.error(expression))?;
        let mut end: usize = 0;
        let terms = parsed.into_iter().map(|term| {
            end = end.saturating_add(term.len());
            (end, term)
        });
        Ok(Self { terms: terms.collect(), text: expression.to_owned() })
    }

    /// The expression itself.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many hosts there are, duplicates included; `usize::MAX` if there are more than that.
    #[must_use]
    pub fn len(&self) -> usize {
        self.terms.last().map_or(0, |&(end, _)| end)
    }

    /// Whether there is no host at all, as in `""`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The host at position `k`, counted from 0.
    ///
    /// ```
    /// # use torchrun_jsc::hostlist::Hostlist;
    /// let bomb = Hostlist::parse("n[0-65535]-[0-65535]")?;
    /// assert_eq!(bomb.nth(65_536).as_deref(), Some("n1-0"));
    /// # Ok::<(), torchrun_jsc::Error>(())
    /// ```
    #[must_use]
    pub fn nth(&self, k: usize) -> Option<String> {
        let at = self.terms.partition_point(|&(end, _)| end <= k);
        let (_, term) = self.terms.get(at)?;
        let mut name = String::new();
        term.write(&self.text, k - self.hosts_before(at), &mut name);
        Some(name)
    }

    /// The first position of the host `name`, compared letter by letter; `None` too if it is beyond `usize::MAX`.
    ///
    /// The cost is at most that of looking at each range once for every byte of `name`.
    ///
    /// ```
    /// # use torchrun_jsc::hostlist::Hostlist;
    /// let list = Hostlist::parse("n[3,1],n[1-3]")?;
    /// assert_eq!(list.position("n1"), Some(1));
    /// assert_eq!(list.position("n01"), None);
    /// # Ok::<(), torchrun_jsc::Error>(())
    /// ```
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        if name.len() > MAX_NAME {
            return None;
        }
        let (at, index) =
            self.terms.iter().enumerate().find_map(|(at, (_, term))| Some((at, term.position(&self.text, name)?)))?;
        let position = self.hosts_before(at).checked_add(index)?;
        (position < self.len()).then_some(position)
    }

    /// Refuse more hosts than `limit`.
    ///
    /// # Errors
    /// [`Error::TooManyHosts`] if there are more.
    pub fn check(&self, limit: usize) -> Result<()> {
        let count = self.len();
        if count > limit {
            return Err(Error::TooManyHosts { expression: self.text.clone(), count, limit });
        }
        Ok(())
    }

    fn hosts_before(&self, term: usize) -> usize {
        term.checked_sub(1).map_or(0, |previous| self.terms[previous].0)
    }
}
