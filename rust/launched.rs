//! What a launcher or the user has set for a process already: `MASTER_ADDR`, `RANK` and their like.

use crate::{number, Error, Result};

/// The variables of torch's `env://` initialisation, as far as they are set. Empty is unset.
///
/// <https://pytorch.org/docs/stable/distributed.html#environment-variable-initialization>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launched {
    /// `MASTER_ADDR`.
    pub master_addr: Option<String>,
    /// `MASTER_PORT`.
    pub master_port: Option<u16>,
    /// `RANK`.
    pub rank: Option<usize>,
    /// `WORLD_SIZE`.
    pub world_size: Option<usize>,
    /// `LOCAL_RANK`.
    pub local_rank: Option<usize>,
    /// `LOCAL_WORLD_SIZE`.
    pub local_world_size: Option<usize>,
    /// `GROUP_RANK`, which torchrun sets: the number of the node.
    pub group_rank: Option<usize>,
    /// `GROUP_WORLD_SIZE`, which torchrun sets: the number of nodes.
    pub group_world_size: Option<usize>,
    /// `NODE_RANK`, which programs and hooks set: the number of the node.
    pub node_rank: Option<usize>,
    /// Whether torchrun started this process (`TORCHELASTIC_RUN_ID`).
    pub is_elastic: bool,
}

impl Launched {
    /// Read the variables that `get` knows.
    ///
    /// # Errors
    /// [`Error::Setting`] for a value that is no number, and for a rank outside its world.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let text = |name: &str| get(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let count = |name: &str| text(name).map(|value| number::parse(name, &value)).transpose();
        let port = |name: &str| text(name).map(|value| number::parse_port(name, &value)).transpose();
        let launched = Self {
            master_addr: text("MASTER_ADDR"),
            master_port: port("MASTER_PORT")?,
            rank: count("RANK")?,
            world_size: count("WORLD_SIZE")?,
            local_rank: count("LOCAL_RANK")?,
            local_world_size: count("LOCAL_WORLD_SIZE")?,
            group_rank: count("GROUP_RANK")?,
            group_world_size: count("GROUP_WORLD_SIZE")?,
            node_rank: count("NODE_RANK")?,
            is_elastic: text("TORCHELASTIC_RUN_ID").is_some(),
        };
        inside("RANK", launched.rank, "WORLD_SIZE", launched.world_size)?;
        inside("LOCAL_RANK", launched.local_rank, "LOCAL_WORLD_SIZE", launched.local_world_size)?;
        Ok(launched)
    }
}

fn inside(name: &str, rank: Option<usize>, world_name: &str, world: Option<usize>) -> Result<()> {
    match (rank, world) {
        (Some(rank), Some(world)) if rank >= world => {
            Err(Error::setting(name, rank.to_string(), format!("not below {world_name}={world}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Launched> {
        let pairs: Vec<_> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Launched::read(|name| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()))
    }

    #[test]
    fn empty_is_unset() {
        assert_eq!(read(&[("MASTER_ADDR", " "), ("MASTER_PORT", ""), ("RANK", "")]), Ok(Launched::default()));
    }

    #[test]
    fn garbage_is_named() {
        for (name, value, reason) in [
            ("MASTER_PORT", "0", "not a port"),
            ("MASTER_PORT", "65536", "not a port"),
            ("MASTER_PORT", "x", "not a port"),
            ("RANK", "-1", "not a number"),
            ("WORLD_SIZE", "two", "not a number"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}={value:?}: {reason}")), "{error}");
        }
        let error = read(&[("RANK", "8"), ("WORLD_SIZE", "8")]).unwrap_err().to_string();
        assert_eq!(error, "RANK=\"8\": not below WORLD_SIZE=8");
    }
}
