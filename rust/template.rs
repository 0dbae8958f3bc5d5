//! How a node is called on the fast network.

use crate::label::split;
use crate::{Error, Result};

/// A pattern with the placeholders `{node}` (the name in the node list), `{host}` (its first label) and `{domain}`
/// (the rest, with its dot).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    guessed: bool,
}

impl Template {
    /// Read a template of the variable `TORCHRUN_JSC_HOST_TEMPLATE`.
    ///
    /// # Errors
    /// [`Error::Setting`] where it has another placeholder, an unmatched brace or none of `{node}` and `{host}`.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |reason: &str| Error::setting("TORCHRUN_JSC_HOST_TEMPLATE", text, reason);
        // A suffix behind `{node}` belongs before the domain: a01.cl becomes a01i.cl.
        let text = match text.trim().split_once("{node}") {
            Some((before, after)) if !after.is_empty() && !after.starts_with('.') && !after.contains('{') => {
                let (suffix, domain) = split(after);
                format!("{before}{{host}}{suffix}{{domain}}{domain}")
            }
            _ => text.trim().to_owned(),
        };
        let literal = ["{node}", "{host}", "{domain}"].iter().fold(text.clone(), |rest, name| rest.replace(name, "x"));
        if literal.contains(['{', '}']) {
            return Err(bad("the placeholders are {node}, {host} and {domain}"));
        }
        if !text.contains("{node}") && !text.contains("{host}") {
            return Err(bad("names the same host for every node: use {node} or {host}"));
        }
        Ok(Self { text, guessed: false })
    }

    /// The same, for a template that nobody has said to be right here.
    ///
    /// # Errors
    /// As for [`Template::parse`].
    pub fn guess(text: &str) -> Result<Self> {
        Ok(Self { guessed: true, ..Self::parse(text)? })
    }

    /// The name of `node` by this template. A suffix that the name has already is not added again.
    #[must_use]
    pub fn apply(&self, node: &str) -> String {
        let (host, domain) = split(node);
        let bare = match self.around_label() {
            Some((_, suffix)) if !suffix.is_empty() => {
                host.strip_suffix(suffix).filter(|h| !h.is_empty()).unwrap_or(host)
            }
            _ => host,
        };
        let added = self.text.strip_prefix("{node}").filter(|domain| !domain.is_empty() && node.ends_with(domain));
        if added.is_some() {
            return node.to_owned();
        }
        self.text.replace("{node}", node).replace("{host}", bare).replace("{domain}", domain)
    }

    /// What stands before and behind the node in the first label of the names it makes.
    #[must_use]
    pub fn around_label(&self) -> Option<(&str, &str)> {
        let (before, after) = self.text.split_once("{host}").or_else(|| self.text.split_once("{node}"))?;
        let end = after.find(['.', '{']).unwrap_or(after.len());
        Some((before, &after[..end]))
    }

    /// Whether nobody said that names are made like this here: then they need proof.
    #[must_use]
    pub fn is_guessed(&self) -> bool {
        self.guessed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(template: &str, node: &str) -> String {
        Template::parse(template).unwrap().apply(node)
    }

    #[test]
    fn makes_names() {
        for (template, node, name) in [
            ("{node}", "a01", "a01"),
            ("{node}i", "a01", "a01i"),
            ("{node}i", "a01.cl", "a01i.cl"),
            ("{host}i{domain}", "a01.cl", "a01i.cl"),
            ("{host}i", "a01.cl", "a01i"),
            ("{host}-ib0{domain}", "a01.cl", "a01-ib0.cl"),
            ("{host}.hsn.example", "a01.cl", "a01.hsn.example"),
            ("{node}.hpc.example", "bun003", "bun003.hpc.example"),
            ("{node}.hpc.example", "bun003.hpc.example", "bun003.hpc.example"),
            ("{node}i", "a01i", "a01i"),
            ("{host}-ib0{domain}", "a01-ib0.cl", "a01-ib0.cl"),
            ("ib-{host}", "a01", "ib-a01"),
            (" {node}i ", "a01", "a01i"),
        ] {
            assert_eq!(apply(template, node), name, "{template} {node}");
        }
    }

    #[test]
    fn refuses_what_makes_no_names() {
        for bad in ["{nodes}", "{node", "node}", "a01i", "", "{domain}", "{}"] {
            let error = Template::parse(bad).unwrap_err().to_string();
            assert!(error.starts_with("TORCHRUN_JSC_HOST_TEMPLATE="), "{error}");
        }
    }
}
