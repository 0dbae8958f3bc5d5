//! A node list and where it is from.

use crate::hostlist::{Hostlist, MAX_EXPANDED};
use crate::label::split;
use crate::{Error, Result};

/// A node list and the variable it was read from.
#[derive(Debug, Clone)]
pub struct Nodes {
    /// Name of the environment variable, or `nodelist` for a list that a caller gave.
    pub variable: String,
    /// The list, in node order.
    pub hosts: Hostlist,
}

impl Nodes {
    /// Read `text`, the value of `variable`.
    ///
    /// # Errors
    /// [`Error::Setting`] where it is not a node list, has no node, or more than any cluster.
    pub fn parse(variable: &str, text: &str) -> Result<Self> {
        let bad = |reason: String| Error::setting(variable, text, reason);
        match Hostlist::parse(text) {
            Ok(hosts) if hosts.is_empty() => Err(bad("names no node".into())),
            // Some rules look at every node.
            Ok(hosts) if hosts.len() > MAX_EXPANDED => {
                Err(bad(format!("stands for {} nodes, more than any cluster has", hosts.len())))
            }
            Ok(hosts) => Ok(Self { variable: variable.to_owned(), hosts }),
            Err(Error::Hostlist { offset, reason, .. }) => {
                Err(bad(format!("not a node list: {reason} at byte {offset}")))
            }
            Err(other) => Err(bad(other.to_string())),
        }
    }

    /// One list of the nodes of several groups, in group order, which is how `SLURM_NODEID` counts them under slurmd;
    /// `None` for no groups.
    #[must_use]
    pub fn join(groups: &[&Self]) -> Option<Self> {
        let texts: Vec<_> = groups.iter().map(|group| group.hosts.text()).collect();
        let hosts = Hostlist::parse(&texts.join(",")).ok()?;
        if hosts.is_empty() || hosts.len() > MAX_EXPANDED {
            return None;
        }
        Some(Self { variable: "SLURM_JOB_NODELIST_HET_GROUP_*".into(), hosts })
    }

    /// The place of the node with first label `label`, whether the list has domains or not: with its own one (`tail`),
    /// with none, and with `domain`.
    #[must_use]
    pub fn place_of_label(&self, label: &str, tail: &str, domain: &str) -> Option<usize> {
        if label.is_empty() {
            return None;
        }
        [tail, "", domain].iter().find_map(|domain| self.hosts.position(&format!("{label}{domain}")))
    }

    /// The place of the node called `name`, with or without its domain.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        let (label, domain) = split(name);
        self.place_of_label(label, domain, "")
    }

    /// The place of the first node whose first label is that of `hostname`, in a list of dotted names.
    #[must_use]
    pub fn place_by_label(&self, hostname: &str) -> Option<usize> {
        let dotted = self.hosts.nth(0).is_some_and(|first| first.contains('.'));
        let label = split(hostname).0;
        dotted.then(|| self.hosts.names().position(|node| split(&node).0 == label)).flatten()
    }
}
