#!/bin/bash
#SBATCH --account=MYPROJECT
#SBATCH --partition=gpus
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=128
#SBATCH --gres=gpu:1
#SBATCH --time=01:00:00

# Load your modules and your virtual environment here.

# srun does not take it over from sbatch by itself.
export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"
srun torchrun_jsc --nnodes=auto --nproc-per-node=1 train.py
