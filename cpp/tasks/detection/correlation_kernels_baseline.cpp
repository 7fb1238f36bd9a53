#define MARGINLOOM_KERNELS baseline_correlation_kernels
#define MARGINLOOM_KERNELS_NAME "baseline"
#define MARGINLOOM_LANES 4
#include "tasks/detection/correlation_kernels.inc"
