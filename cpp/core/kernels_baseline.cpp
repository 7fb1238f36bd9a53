#define MARGINLOOM_KERNELS baseline_kernels
#define MARGINLOOM_KERNELS_NAME "baseline"
#define MARGINLOOM_LANES 2
#define MARGINLOOM_BLOCK 12
#include "core/kernels.inc"
