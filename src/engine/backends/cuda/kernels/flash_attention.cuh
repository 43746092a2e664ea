// The kernels of attention with operands in bf16 or f16: flash_attention_* multiply by warps, wg_attention_* by warp
// groups (sm_90a; in the emulator both have the same code). Their names contain the pass, the type, the channels of a
// head, dropout and bias.
#pragma once

#include "engine/backends/cuda/kernels/flash_back_kv.cuh"
#include "engine/backends/cuda/kernels/flash_back_q.cuh"
#include "engine/backends/cuda/kernels/flash_forward.cuh"

namespace hone::cuda {

#ifdef HONE_HAS_FLASH
#define HONE_IN_FLASH(...) __VA_ARGS__
#else
#define HONE_IN_FLASH(...)  // such a kernel is never launched there
#endif

// forward, back_q, back_kv: the number of blocks that must fit on a multiprocessor, which limits registers.
#define HONE_FLASH(prefix, By, T, size, drop, is_drop, biased, is_biased, forward, back_q, back_kv)  \
  HONE_FLASH_KERNEL(forward, prefix##_attention_##T##_##size##drop##biased, const T* q, const T* k,  \
                    const T* v, const int32_t* cu_q, const int32_t* cu_k, const int64_t* rng,        \
                    const int64_t* samples, const float* bias, T* out, float* lse, Attention a) {    \
    HONE_IN_FLASH(flash_forward<By, T, size, is_drop, is_biased>({q, k, v, cu_q, cu_k, rng, samples, \
                                                                  bias}, out, lse, a));              \
  }                                                                                                  \
  HONE_FLASH_KERNEL(back_q, prefix##_attention_back_q_##T##_##size##drop##biased, const T* q,        \
                    const T* k, const T* v, const T* out, const T* dout, const float* lse,           \
                    const int32_t* cu_q, const int32_t* cu_k, const int64_t* rng,                    \
                    const int64_t* samples, const float* bias, T* dq, float* numbers,                \
                    uint32_t* bits, float* parts, float* sums, Attention a) {                        \
    HONE_IN_FLASH(flash_back_q<By, T, size, is_drop, is_biased>({q, k, v, cu_q, cu_k, rng, samples,  \
                                                                 bias}, out, dout, lse, dq, numbers,  \
                                                                bits, parts, sums, a));              \
  }                                                                                                  \
  HONE_FLASH_KERNEL(back_kv, prefix##_attention_back_kv_##T##_##size##drop##biased, const T* q,      \
                    const T* k, const T* v, const T* dout, const float* numbers,                     \
                    const uint32_t* bits, const int32_t* cu_q, const int32_t* cu_k,                  \
                    const int64_t* rng, const int64_t* samples, const float* bias, T* dk, T* dv,     \
                    float* sums_k, float* sums_v, Attention a) {                                     \
    HONE_IN_FLASH(flash_back_kv<By, T, size, is_drop, is_biased>(                                    \
        {q, k, v, cu_q, cu_k, rng, samples, bias}, dout, numbers, bits, dk, dv, sums_k, sums_v, a)); \
  }
#define HONE_FLASHES(T)                                                     \
  HONE_FLASH(flash, ByWarps, T, 64, , false, , false, 3, 2, 2)              \
  HONE_FLASH(flash, ByWarps, T, 64, _dropout, true, , false, 2, 2, 2)       \
  HONE_FLASH(flash, ByWarps, T, 64, , false, _bias, true, 3, 2, 2)          \
  HONE_FLASH(flash, ByWarps, T, 64, _dropout, true, _bias, true, 2, 2, 2)   \
  HONE_FLASH(flash, ByWarps, T, 128, , false, , false, 2, 2, 2)             \
  HONE_FLASH(flash, ByWarps, T, 128, _dropout, true, , false, 2, 2, 2)
HONE_FLASHES(bf16)
HONE_FLASHES(f16)

#ifdef HONE_HAS_WARP_GROUPS
#define HONE_WG_FLASHES(T)                                                     \
  HONE_FLASH(wg, ByWarpGroups, T, 64, , false, , false, 4, 4, 3)               \
  HONE_FLASH(wg, ByWarpGroups, T, 64, _dropout, true, , false, 4, 3, 2)        \
  HONE_FLASH(wg, ByWarpGroups, T, 64, , false, _bias, true, 3, 3, 2)           \
  HONE_FLASH(wg, ByWarpGroups, T, 64, _dropout, true, _bias, true, 3, 3, 2)    \
  HONE_FLASH(wg, ByWarpGroups, T, 128, , false, , false, 2, 2, 2)              \
  HONE_FLASH(wg, ByWarpGroups, T, 128, _dropout, true, , false, 2, 2, 2)
HONE_WG_FLASHES(bf16)
HONE_WG_FLASHES(f16)
#endif

#ifdef HONE_EMULATED
#define HONE_WG_NAME(pass, variant)                                       \
  const bool wg_attention_##pass##variant##_is_there =                    \
      ::hone::emulate::add<&flash_attention_##pass##variant>("wg_attention_" #pass #variant);
#define HONE_WG_NAMES_OF(variant) \
  HONE_WG_NAME(, variant) HONE_WG_NAME(back_q_, variant) HONE_WG_NAME(back_kv_, variant)
#define HONE_WG_NAMES(T)                                                       \
  HONE_WG_NAMES_OF(T##_64) HONE_WG_NAMES_OF(T##_64_dropout)                    \
  HONE_WG_NAMES_OF(T##_64_bias) HONE_WG_NAMES_OF(T##_64_dropout_bias)          \
  HONE_WG_NAMES_OF(T##_128) HONE_WG_NAMES_OF(T##_128_dropout)
HONE_WG_NAMES(bf16)
HONE_WG_NAMES(f16)
#endif

}  // namespace hone::cuda
