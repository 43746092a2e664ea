#include "engine/backends/cpu/kernels/optimizer.h"

#include <cmath>

#include "engine/backends/cpu/isa/isa.h"
#include "engine/backends/cpu/kernels/optimizer_kernels.h"

namespace hone::cpu {

HONE_CPU_DISPATCH(void, adamw_range,
                  (const UpdateTensor& t, const AdamWScalars& s, int64_t begin, int64_t end),
                  (t, s, begin, end))
HONE_CPU_DISPATCH(void, sgd_range,
                  (const UpdateTensor& t, const SgdScalars& s, int64_t begin, int64_t end),
                  (t, s, begin, end))
HONE_CPU_DISPATCH(void, adagrad_range,
                  (const UpdateTensor& t, const AdagradScalars& s, int64_t begin, int64_t end),
                  (t, s, begin, end))
HONE_CPU_DISPATCH(void, rmsprop_range,
                  (const UpdateTensor& t, const RmspropScalars& s, int64_t begin, int64_t end),
                  (t, s, begin, end))
HONE_CPU_DISPATCH(void, lion_range,
                  (const UpdateTensor& t, const LionScalars& s, int64_t begin, int64_t end),
                  (t, s, begin, end))
HONE_CPU_DISPATCH(double, sum_squares_range, (const Numbers& x, int64_t first, int64_t count),
                  (x, first, count))
HONE_CPU_DISPATCH(void, f32_to_bf16_range, (int64_t count, const float* x, uint16_t* y),
                  (count, x, y))
HONE_CPU_DISPATCH(void, bf16_to_f32_range, (int64_t count, const uint16_t* x, float* y),
                  (count, x, y))
HONE_CPU_DISPATCH(void, f32_to_f16_range, (int64_t count, const float* x, uint16_t* y),
                  (count, x, y))
HONE_CPU_DISPATCH(void, f16_to_f32_range, (int64_t count, const uint16_t* x, float* y),
                  (count, x, y))

namespace {

constexpr int64_t kUpdateBlock = 16384;  // elements whose squares are summed as one

// f(tensor, begin, end) on each thread for its part of all elements, cut at multiples of 64.
template <class List, class Fn>
void for_parts(const List& tensors, ThreadPool& pool, Fn&& f) {
  int64_t units = 0;
  for (const auto& t : tensors) units += (t.count + 63) / 64;
  pool.parallel_for(units, [&](int64_t begin, int64_t end, int) {
    int64_t at = 0;
    for (size_t i = 0; i < tensors.size() && at < end; ++i) {
      const int64_t n = (tensors[i].count + 63) / 64;
      const int64_t b = std::max<int64_t>(begin - at, 0), e = std::min(end - at, n);
      if (b < e) f(tensors[i], b * 64, std::min(e * 64, tensors[i].count));
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

// f(tensor in f32, begin, end) for [begin, end) of a tensor, whichever way it is kept.
template <class Fn>
void in_f32(const UpdateTensor& t, const UpdateStep& step, int64_t begin, int64_t end, Fn&& f) {
  if (t.bf16.p == nullptr) return f(t, begin, end);
  constexpr size_t kLists = std::extent_v<decltype(UpdateTensor::state)>;
  alignas(64) float p[kWidened], states[kLists][kWidened];
  for (int64_t at = begin; at < end; at += kWidened) {
    const int64_t n = std::min(kWidened, end - at);
    UpdateTensor wide = t;
    wide.p = p;
    wide.count = n;
    wide.g.data = static_cast<const char*>(t.g.data) + at * element_bytes(t.g.type);
    widen_bf16(n, t.bf16.p + at, p);
    for (size_t k = 0; k < kLists && t.bf16.state[k] != nullptr; ++k) {
      wide.state[k] = states[k];
      widen_bf16(n, t.bf16.state[k] + at, states[k]);
    }
    f(wide, int64_t{0}, n);
    round_weights(t.bf16, step, at, n, p);
    for (size_t k = 0; k < kLists && t.bf16.state[k] != nullptr; ++k)
      narrow_bf16(n, states[k], t.bf16.state[k] + at);
  }
}

}  // namespace

void widen_bf16(int64_t count, const uint16_t* x, float* y) { bf16_to_f32_range(count, x, y); }
void narrow_bf16(int64_t count, const float* x, uint16_t* y) { f32_to_bf16_range(count, x, y); }
void round_weights(const Bf16Update& to, const UpdateStep& step, int64_t at, int64_t count,
                   const float* p) {
  if (to.stochastic)
    round_stochastic_range({to.key, step.step}, to.first + at, count, p, to.p + at);
  else
    narrow_bf16(count, p, to.p + at);
}

AdamWScalars scalars_of(const AdamW& rule, const UpdateStep& at, double weight_decay) {
  const double t = static_cast<double>(at.step);
  const double correction1 = 1 - std::pow(rule.beta1, t), correction2 = 1 - std::pow(rule.beta2, t);
  const double l2 = rule.l2 ? weight_decay : 0, decay = 1 - at.lr * (weight_decay - l2);
  const double root2 = std::sqrt(correction2);
  AdamWScalars s{.decay = f32(decay),
                 .l2 = f32(l2),
                 .one_minus_beta1 = f32(1 - rule.beta1),
                 .beta2 = f32(rule.beta2),
                 .one_minus_beta2 = f32(1 - rule.beta2),
                 .root_correction2 = f32(root2),
                 .eps = f32(rule.eps),
                 .step_size = f32(at.lr / correction1),
                 .gradient_scale = f32(at.gradient_scale)};
  if (rule.huggingface) {
    s.eps = f32(rule.eps / root2);
    s.step_size = f32(at.lr / correction1 * decay);
  }
  return s;
}

void adamw(std::span<const UpdateTensor> tensors, const AdamW& rule, const UpdateStep& at,
           ThreadPool& pool) {
  for_parts(tensors, pool, [&](const UpdateTensor& x, int64_t begin, int64_t end) {
    const AdamWScalars s = scalars_of(rule, at, x.weight_decay);
    in_f32(x, at, begin, end,
           [&](const UpdateTensor& t, int64_t from, int64_t to) { adamw_range(t, s, from, to); });
  });
}

void sgd(std::span<const UpdateTensor> tensors, const Sgd& rule, const UpdateStep& at,
         ThreadPool& pool) {
  const double fresh = at.step <= 1 ? 1 : 1 - rule.dampening;
  for_parts(tensors, pool, [&](const UpdateTensor& x, int64_t begin, int64_t end) {
    const SgdScalars s{f32(at.gradient_scale),      f32(x.weight_decay),
                       f32(rule.momentum),          f32(fresh),
                       rule.nesterov ? 1.0f : 0.0f, f32(at.lr)};
    in_f32(x, at, begin, end,
           [&](const UpdateTensor& t, int64_t from, int64_t to) { sgd_range(t, s, from, to); });
  });
}

void adagrad(std::span<const UpdateTensor> tensors, const Adagrad& rule, const UpdateStep& at,
             ThreadPool& pool) {
  const double rate = at.lr / (1 + static_cast<double>(at.step - 1) * rule.lr_decay);
  for_parts(tensors, pool, [&](const UpdateTensor& x, int64_t begin, int64_t end) {
    const AdagradScalars s{f32(at.gradient_scale), f32(x.weight_decay), f32(rate), f32(rule.eps)};
    in_f32(x, at, begin, end,
           [&](const UpdateTensor& t, int64_t from, int64_t to) { adagrad_range(t, s, from, to); });
  });
}

void rmsprop(std::span<const UpdateTensor> tensors, const Rmsprop& rule, const UpdateStep& at,
             ThreadPool& pool) {
  for_parts(tensors, pool, [&](const UpdateTensor& x, int64_t begin, int64_t end) {
    const RmspropScalars s{
        f32(at.gradient_scale), f32(x.weight_decay), f32(rule.alpha), f32(1 - rule.alpha),
        f32(rule.eps),          f32(rule.momentum),  f32(at.lr),      rule.centered,
        rule.momentum != 0};
    in_f32(x, at, begin, end,
           [&](const UpdateTensor& t, int64_t from, int64_t to) { rmsprop_range(t, s, from, to); });
  });
}

LionScalars scalars_of(const Lion& rule, const UpdateStep& at, double weight_decay) {
  return {
      f32(at.gradient_scale), f32(1 - at.lr * weight_decay), f32(rule.beta1), f32(1 - rule.beta1),
      f32(rule.beta2),        f32(1 - rule.beta2),           f32(at.lr)};
}

void lion(std::span<const UpdateTensor> tensors, const Lion& rule, const UpdateStep& at,
          ThreadPool& pool) {
  for_parts(tensors, pool, [&](const UpdateTensor& x, int64_t begin, int64_t end) {
    const LionScalars s = scalars_of(rule, at, x.weight_decay);
    in_f32(x, at, begin, end,
           [&](const UpdateTensor& t, int64_t from, int64_t to) { lion_range(t, s, from, to); });
  });
}

int64_t sum_squares_workspace_bytes(int64_t all_elements, int64_t tensors) {
  return 8 * (all_elements / kUpdateBlock + tensors);
}

void sum_squares(std::span<const TensorView> tensors, double* sums, void* workspace,
                 ThreadPool& pool) {
  auto* part = static_cast<double*>(workspace);
  int64_t blocks = 0;
  for (const auto& t : tensors) blocks += (t.count + kUpdateBlock - 1) / kUpdateBlock;
  pool.parallel_for(blocks, [&](int64_t begin, int64_t end, int) {
    int64_t at = 0;
    for (const auto& t : tensors) {
      const int64_t n = (t.count + kUpdateBlock - 1) / kUpdateBlock;
      for (int64_t b = std::max(begin, at); b < std::min(end, at + n); ++b) {
        const int64_t first = (b - at) * kUpdateBlock;
        part[b] = sum_squares_range(t.data, first, std::min(kUpdateBlock, t.count - first));
      }
      at += n;
    }
  });
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t n = (tensors[i].count + kUpdateBlock - 1) / kUpdateBlock;
    for (int64_t step = 1; step < n; step *= 2)
      for (int64_t b = 0; b + step < n; b += 2 * step) part[b] += part[b + step];
    sums[i] = n > 0 ? part[0] : 0;
    part += n;
  }
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
