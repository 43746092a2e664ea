// Random numbers: a function of seed, step, place and index, so that nothing is kept for the backward pass.
#include "engine/backends/cuda/kernels/philox.cuh"

namespace hone::cuda {

HONE_KERNEL(dropout_mask, const int64_t* rng, const int64_t* samples, const int32_t* positions,
            uint8_t* out, int64_t n, int64_t channels, uint64_t place, uint32_t threshold) {
  const Key key = shared_key(rng, place);
  for (int64_t i = first_of_all(); i < n; i += all_threads()) {
    const int64_t t = i / channels;
    const auto channel = static_cast<uint32_t>(i % channels);
    Words c = words_of(static_cast<uint64_t>(samples[t]), 0);
    c.w[2] = static_cast<uint32_t>(positions[t]);
    c.w[3] = counter_of(channel);
    out[i] = philox(c, key.k0, key.k1).w[channel / 16 % 4] >= threshold;
  }
}

// [heads, tq, tk]; 1 outside of the segments.
HONE_KERNEL(attention_dropout_mask, const int64_t* rng, const int64_t* samples, const int32_t* cu_q,
            const int32_t* cu_k, uint8_t* out, int64_t n, int64_t tq, int64_t tk, int64_t segments,
            uint64_t place, uint32_t threshold) {
  const Key key = shared_key(rng, place);
  for (int64_t at = first_of_all(); at < n; at += all_threads()) {
    const int64_t j = at % tk, i = at / tk % tq, head = at / tk / tq;
    out[at] = 1;
    if (segments < 1 || i < cu_q[0] || i >= cu_q[segments]) continue;
    const int64_t s = segment_of(cu_q, segments, i);
    if (j < cu_k[s] || j >= cu_k[s + 1]) continue;
    const auto column = static_cast<uint32_t>(j - cu_k[s]);
    const auto sample = static_cast<uint64_t>(samples[i]);
    const Words c = {{static_cast<uint32_t>(sample),
                      (static_cast<uint32_t>(sample >> 32) << 16) ^ static_cast<uint32_t>(head),
                      static_cast<uint32_t>(i - cu_q[s]), counter_of(column)}};
    out[at] = philox(c, key.k0, key.k1).w[column / 16 % 4] >= threshold;
  }
}

// Box and Muller; two numbers from two words.
template <class T>
__device__ void normal_numbers(const int64_t* step, T* out, int64_t n, uint64_t key, int64_t period,
                               double std) {
  const auto round = static_cast<uint64_t>((step[0] - 1) / period);
  for (int64_t i = first_of_all(); i < n; i += all_threads()) {
    const Words w = philox(words_of(static_cast<uint64_t>(i) / 4, round),
                           static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
    const int pair = i % 4 < 2 ? 0 : 2;
    const double length = sqrt(-2 * log((w.w[pair] + 0.5) * 0x1p-32));
    const double angle = 2 * 3.14159265358979323846 * w.w[pair + 1] * 0x1p-32;
    out[i] = Narrow<T>::of(std * length * (i % 2 == 0 ? cos(angle) : sin(angle)));
  }
}
HONE_KERNEL(random_normal_f64, const int64_t* step, double* out, int64_t n, uint64_t key,
            int64_t period, double std) {
  normal_numbers(step, out, n, key, period, std);
}
HONE_KERNEL(random_normal_f32, const int64_t* step, float* out, int64_t n, uint64_t key,
            int64_t period, double std) {
  normal_numbers(step, out, n, key, period, std);
}

HONE_KERNEL(round_stochastic_f32, const float* x, const int64_t* step, bf16* out, int64_t n,
            uint64_t key, uint64_t first) {
  for (int64_t i = first_of_all(); i < n; i += all_threads())
    out[i] = round_at_random(x[i], key, static_cast<uint64_t>(step[0]),
                             first + static_cast<uint64_t>(i));
}

}  // namespace hone::cuda
