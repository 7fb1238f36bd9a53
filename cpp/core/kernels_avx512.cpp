#define MARGINLOOM_KERNELS avx512_kernels
#define MARGINLOOM_KERNELS_NAME "avx512"
#define MARGINLOOM_LANES 8
#define MARGINLOOM_BLOCK 12
#include "core/kernels.inc"
