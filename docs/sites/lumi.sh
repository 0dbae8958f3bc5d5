#!/bin/bash
#SBATCH --account=MYPROJECT
#SBATCH --partition=standard-g
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=56
#SBATCH --gpus-per-node=8
#SBATCH --time=01:00:00

# Load your modules and your virtual environment here.

# srun does not take it over from sbatch by itself.
export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"
export NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3
srun torchrun_jsc --nnodes=auto --nproc-per-node=8 train.py
