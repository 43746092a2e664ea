#include "engine/comm/sums.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace hone {
namespace {

// A block at a time stays in the first-level cache.
constexpr int64_t kSumBlock = 1024;
// From here on the work is worth waking a pool.
constexpr int64_t kSumAlone = 65536;

struct SumBf16 {
  uint16_t bits;
};
struct SumF16 {
  uint16_t bits;
};

// As engine/graph's functions, but without branches, so that the compiler makes vectors of a loop.
inline uint32_t either(bool first, uint32_t x, uint32_t y) {
  const uint32_t mask = 0u - uint32_t{first};
  return (x & mask) | (y & ~mask);
}
inline float widened(SumBf16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }
inline float widened(SumF16 x) {
  const uint32_t sign = uint32_t{x.bits & 0x8000u} << 16, rest = x.bits & 0x7fffu;
  const uint32_t normal = (rest << 13) + either(rest >= 0x7c00u, 224u << 23, 112u << 23);
  const uint32_t tiny =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(rest)) * 0x1p-24f);
  return std::bit_cast<float>(sign | either(rest < 0x400u, tiny, normal));
}
inline void narrow(float x, SumBf16& y) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  y.bits = static_cast<uint16_t>(either(is_nan, bits >> 16 | 0x40u, rounded));
}
inline void narrow(float x, SumF16& y) {
  const uint32_t all = std::bit_cast<uint32_t>(x), sign = all >> 16 & 0x8000u;
  const uint32_t bits = all & 0x7fffffffu;
  const uint32_t nan = 0x7e00u | (bits >> 13 & 0x3ffu);
  // Below 2^-14, adding 0.5 rounds to multiples of 2^-24.
  const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13;
  const uint32_t finite = either(bits < 0x38800000u, tiny, normal);
  const uint32_t half = either(bits >= 0x47800000u, 0x7c00u, finite);  // 65536 and more
  y.bits = static_cast<uint16_t>(sign | either(bits > 0x7f800000u, nan, half));
}

// One block of a term, as the type of the sum.
template <class T, class Sum>
inline Sum as_sum(T x) {
  if constexpr (std::is_same_v<T, Sum>)
    return x;
  else
    return widened(x);
}
template <class T, class Sum>
void first_term(const T* __restrict x, int64_t n, Sum* __restrict sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] = as_sum<T, Sum>(x[i]);
}
template <class T, class Sum>
void next_term(const T* __restrict x, int64_t n, Sum* __restrict sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] += as_sum<T, Sum>(x[i]);
}
template <class T, class Sum>
void store_sum(const Sum* __restrict sum, int64_t n, T* __restrict out) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, Sum>)
      out[i] = sum[i];
    else
      narrow(sum[i], out[i]);
  }
}

// Elements [begin, end) of type T, summed as Sum.
template <class T, class Sum>
void sum_range(int64_t begin, int64_t end, std::span<const std::byte* const> terms,
               std::byte* out) {
  alignas(64) Sum sum[kSumBlock];
  for (int64_t at = begin; at < end; at += kSumBlock) {
    const int64_t n = std::min(kSumBlock, end - at);
    first_term(reinterpret_cast<const T*>(terms[0]) + at, n, sum);
    for (const std::byte* term : terms.subspan(1))
      next_term(reinterpret_cast<const T*>(term) + at, n, sum);
    store_sum(sum, n, reinterpret_cast<T*>(out) + at);
  }
}

using RangeSum = void (*)(int64_t, int64_t, std::span<const std::byte* const>, std::byte*);
RangeSum range_sum(DType t) {
  switch (t) {
    case DType::f64:
      return sum_range<double, double>;
    case DType::f32:
      return sum_range<float, float>;
    case DType::bf16:
      return sum_range<SumBf16, float>;
    case DType::f16:
      return sum_range<SumF16, float>;
    case DType::i64:
      return sum_range<uint64_t, uint64_t>;
    case DType::i32:
      return sum_range<uint32_t, uint32_t>;
    default:
      return nullptr;
  }
}

}  // namespace

bool has_sum(DType t) { return range_sum(t) != nullptr; }

void sum_terms(DType t, int64_t count, std::span<const std::byte* const> terms, std::byte* out,
               ThreadPool* pool) {
  const RangeSum sum = range_sum(t);
  HONE_BUG_IF(sum == nullptr || terms.empty(), "no sum over ranks of {}", name_of(t));
  if (pool == nullptr || count < kSumAlone) {
    sum(0, count, terms, out);
    return;
  }
  pool->parallel_for(count, [&](int64_t begin, int64_t end, int) { sum(begin, end, terms, out); });
}

}  // namespace hone
