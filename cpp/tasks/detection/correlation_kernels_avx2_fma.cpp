#define MARGINLOOM_KERNELS avx2_correlation_kernels
#define MARGINLOOM_KERNELS_NAME "avx2"
#define MARGINLOOM_LANES 8
#include "tasks/detection/correlation_kernels.inc"
