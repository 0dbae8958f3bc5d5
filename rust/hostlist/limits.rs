//! How much an expression may stand for.

/// How many hosts one range may stand for; `MAX_RANGE` in Slurm's [`hostlist.c`].
///
/// [`hostlist.c`]: https://github.com/SchedMD/slurm/blob/master/src/common/hostlist.c
pub const MAX_RANGE: usize = 65_536;

/// How many hosts are listed at once unless the caller says otherwise: more than any cluster has, and few enough to
/// fit into memory.
pub const MAX_EXPANDED: usize = 1 << 20;

/// How long a host name may be, in bytes. DNS allows 253; without a limit a few kilobytes of digits in front of
/// `[0-65535]` would fill the memory.
pub const MAX_NAME: usize = 1_024;
