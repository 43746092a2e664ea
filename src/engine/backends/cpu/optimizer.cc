#include "engine/backends/cpu/optimizer.h"

#include <cmath>

#include "engine/backends/cpu/isa.h"
#include "engine/backends/cpu/optimizer_kernels.h"

namespace hone::cpu {

HONE_CPU_DISPATCH(void, adamw_range,
                  (const AdamWTensor& t, const AdamWScalars& s, int64_t begin, int64_t end),
                  (t, s, begin, end))
HONE_CPU_DISPATCH(double, sum_squares_range, (const float* x, int64_t count), (x, count))
HONE_CPU_DISPATCH(void, f32_to_bf16_range, (int64_t count, const float* x, uint16_t* y),
                  (count, x, y))
HONE_CPU_DISPATCH(void, bf16_to_f32_range, (int64_t count, const uint16_t* x, float* y),
                  (count, x, y))
HONE_CPU_DISPATCH(void, f32_to_f16_range, (int64_t count, const float* x, uint16_t* y),
                  (count, x, y))
HONE_CPU_DISPATCH(void, f16_to_f32_range, (int64_t count, const uint16_t* x, float* y),
                  (count, x, y))

namespace {

constexpr int64_t kBlock = 16384;  // elements whose squares are summed as one

// f(tensor index, begin, end) on each thread for its part of all elements, cut at multiples of 64.
template <class List, class Fn>
void for_parts(const List& tensors, ThreadPool& pool, Fn&& f) {
  int64_t units = 0;
  for (const auto& t : tensors) units += (t.count + 63) / 64;
  pool.parallel_for(units, [&](int64_t begin, int64_t end, int) {
    int64_t at = 0;
    for (size_t i = 0; i < tensors.size() && at < end; ++i) {
      const int64_t n = (tensors[i].count + 63) / 64;
      const int64_t b = std::max<int64_t>(begin - at, 0), e = std::min(end - at, n);
      if (b < e) f(i, b * 64, std::min(e * 64, tensors[i].count));
      at += n;
    }
  });
}

template <class Fn>
void for_chunks(int64_t count, ThreadPool& pool, Fn&& f) {
  pool.parallel_for((count + 63) / 64, [&](int64_t b, int64_t e, int) {
    f(b * 64, std::min(e * 64, count) - b * 64);
  });
}

}  // namespace

void adamw(std::span<const AdamWTensor> tensors, const AdamWStep& step, ThreadPool& pool) {
  const double t = static_cast<double>(step.step);
  const double correction1 = 1 - std::pow(step.beta1, t), correction2 = 1 - std::pow(step.beta2, t);
  for_parts(tensors, pool, [&](size_t i, int64_t begin, int64_t end) {
    const AdamWScalars s{static_cast<float>(1 - step.lr * tensors[i].weight_decay),
                         static_cast<float>(1 - step.beta1),
                         static_cast<float>(step.beta2),
                         static_cast<float>(1 - step.beta2),
                         static_cast<float>(std::sqrt(correction2)),
                         static_cast<float>(step.eps),
                         static_cast<float>(step.lr / correction1),
                         step.gradient_scale};
    adamw_range(tensors[i], s, begin, end);
  });
}

int64_t sum_squares_workspace_bytes(int64_t all_elements, int64_t tensors) {
  return 8 * (all_elements / kBlock + tensors);
}

double sum_squares(std::span<const TensorView> tensors, void* workspace, ThreadPool& pool) {
  auto* part = static_cast<double*>(workspace);
  int64_t blocks = 0;
  for (const auto& t : tensors) blocks += (t.count + kBlock - 1) / kBlock;
  pool.parallel_for(blocks, [&](int64_t begin, int64_t end, int) {
    int64_t at = 0;
    for (const auto& t : tensors) {
      const int64_t n = (t.count + kBlock - 1) / kBlock;
      for (int64_t b = std::max(begin, at); b < std::min(end, at + n); ++b) {
        const int64_t first = (b - at) * kBlock;
        part[b] = sum_squares_range(t.data + first, std::min(kBlock, t.count - first));
      }
      at += n;
    }
  });
  double sum = 0;
  for (int64_t b = 0; b < blocks; ++b) sum += part[b];
  return sum;
}

void f32_to_bf16(int64_t count, const float* x, uint16_t* y, ThreadPool& pool) {
  for_chunks(count, pool, [&](int64_t at, int64_t n) { f32_to_bf16_range(n, x + at, y + at); });
}
void bf16_to_f32(int64_t count, const uint16_t* x, float* y, ThreadPool& pool) {
  for_chunks(count, pool, [&](int64_t at, int64_t n) { bf16_to_f32_range(n, x + at, y + at); });
}
void f32_to_f16(int64_t count, const float* x, uint16_t* y, ThreadPool& pool) {
  for_chunks(count, pool, [&](int64_t at, int64_t n) { f32_to_f16_range(n, x + at, y + at); });
}
void f16_to_f32(int64_t count, const uint16_t* x, float* y, ThreadPool& pool) {
  for_chunks(count, pool, [&](int64_t at, int64_t n) { f16_to_f32_range(n, x + at, y + at); });
}

}  // namespace hone::cpu
