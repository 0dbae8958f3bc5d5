//! Which ids of steps are those of steps that `srun` made.

/// The largest of them: Slurm's `SLURM_MAX_NORMAL_STEP_ID`.
///
/// <https://github.com/SchedMD/slurm/blob/slurm-24-11-5-1/slurm/slurm.h.in>
const LAST: u64 = 4_294_967_280;

/// Whether `id` is of a batch script, an interactive shell, `ssh` or another thing of Slurm's own. Slurm writes these as
/// words, as the largest numbers of 32 or 64 bits, and in 26.05 as negative numbers.
pub(super) fn is_special(id: &str) -> bool {
    let digits = id.trim_start_matches('-');
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return ["batch", "extern", "interactive"].contains(&id);
    }
    !id.parse::<u64>().is_ok_and(|number| number <= LAST)
}

/// Whether `id` is that of an interactive shell, which has a step list: its own node.
pub(super) fn is_interactive(id: &str) -> bool {
    ["-6", "4294967290", "interactive"].contains(&id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_signs_of_slurms_own_ids() {
        for id in [
            "-1",
            "-2",
            "-4",
            "-5",
            "-6",
            "4294967281",
            "4294967291",
            "4294967295",
            "18446744073709551611",
            "batch",
            "extern",
        ] {
            assert!(is_special(id), "{id}");
        }
        for id in ["0", "7", "4294967280", "x"] {
            assert!(!is_special(id), "{id}");
        }
        for id in ["-6", "4294967290", "interactive"] {
            assert!(is_special(id) && is_interactive(id), "{id}");
        }
    }
}
