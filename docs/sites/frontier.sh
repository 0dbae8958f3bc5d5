#!/bin/bash
#SBATCH --account=MYPROJECT
#SBATCH --partition=batch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=7
#SBATCH --gpus-per-node=8
#SBATCH --time=01:00:00

# Load your modules and your virtual environment here.

# For srun of Slurm 22.05 and 23.02, which does not take --cpus-per-task over from sbatch by itself.
[ -z "${SLURM_CPUS_PER_TASK-}" ] || export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"
export NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3 GLOO_SOCKET_IFNAME=hsn0
# A task for each GPU. It sees all GPUs of its node, and number LOCAL_RANK is its own; with --gpus-per-task=1 it would
# see one, which is number 0.
# --kill-on-bad-exit: a node that cannot start ends the job, where the others would wait for it.
srun --kill-on-bad-exit=1 bash -c \
  'exports="$(python -m torchrun_jsc.endpoint --export)" && eval "$exports" && exec python train.py'
