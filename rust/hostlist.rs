//! Slurm hostlist expressions such as `jwb[0001-0004,0009]`, expanded as `scontrol show hostnames` does.
//!
//! A parsed [`Hostlist`] keeps ranges, not names: its length, its k-th host and the position of a name cost the number
//! of brackets and ranges in the expression. Names are made only when somebody asks for them.
//!
//! What an expression means is defined by Slurm's own parser, [`hostlist.c`]; where we are stricter is said in
//! [`Hostlist::parse`].
//!
//! [`hostlist.c`]: https://github.com/SchedMD/slurm/blob/master/src/common/hostlist.c

mod cursor;
mod fold;
mod limits;
mod list;
mod parse;
mod term;

pub use cursor::Hosts;
pub use fold::fold;
pub use limits::{MAX_EXPANDED, MAX_NAME, MAX_RANGE};
pub use list::Hostlist;
