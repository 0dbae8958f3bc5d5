#!/bin/bash
#SBATCH --account=MYPROJECT
#SBATCH --partition=workq
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=288
#SBATCH --gpus-per-node=4
#SBATCH --time=01:00:00

# Load your modules and your virtual environment here.

# For srun of Slurm 22.05 and 23.02, which does not take --cpus-per-task over from sbatch by itself.
[ -z "${SLURM_CPUS_PER_TASK-}" ] || export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"
# --kill-on-bad-exit: a node that cannot start ends the job, where the others would wait for it.
srun --kill-on-bad-exit=1 torchrun_jsc --nnodes=auto --nproc-per-node=4 train.py
