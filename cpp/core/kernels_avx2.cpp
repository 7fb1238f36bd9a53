#define MARGINLOOM_KERNELS avx2_kernels
#define MARGINLOOM_KERNELS_NAME "avx2"
#define MARGINLOOM_LANES 4
#define MARGINLOOM_BLOCK 12
#include "core/kernels.inc"
