#define MARGINLOOM_KERNELS avx512_correlation_kernels
#define MARGINLOOM_KERNELS_NAME "avx512"
#define MARGINLOOM_LANES 16
#include "tasks/detection/correlation_kernels.inc"
