#include "learn/models/query_key_value.h"

namespace hone {
namespace {

// 2^(-8 i / n) for n heads, a power of two; others take every second slope of the next power for
// the heads that are left.
std::vector<float> alibi_slopes(int64_t heads) {
  int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<float> slopes;
  const auto add = [&](int64_t of, int64_t first, int64_t step, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      slopes.push_back(static_cast<float>(
          std::pow(2.0, -8.0 * static_cast<double>(first + i * step) / static_cast<double>(of))));
  };
  add(power, 1, 1, power);
  add(2 * power, 1, 2, heads - power);
  return slopes;
}

}  // namespace

QueriesKeysValues split_by_group(ModelGraph& g, ValueId qkv) {
  Builder& b = g.b;
  const int64_t H = g.config.heads, G = g.config.kv_heads, D = g.config.head_dim, each = H / G;
  const int64_t T = b.type(qkv).shape[0];
  const ValueId groups = ops::reshape(b, qkv, {T, G, each + 2, D});
  const auto part = [&](int64_t first, int64_t count) {
    return ops::reshape(b, ops::slice(b, groups, 2, first, first + count), {T, G * count * D});
  };
  QueriesKeysValues parts{};
  parts.q = part(0, each);
  parts.k = part(each, 1);
  parts.v = part(each + 1, 1);
  return parts;
}

ValueId alibi_bias(ModelGraph& g, double scale) {
  Builder& b = g.b;
  const int64_t H = g.config.heads, reach = g.longest();
  const ValueId slopes = g.constant({"alibi.slopes", {H}, [H] { return alibi_slopes(H); }});
  const Shape shape{H, 2 * reach - 1};
  const ValueId place = ops::cast(b, ops::iota(b, {DType::i32, {shape[1]}}, 0), DType::f32);
  const auto number = [&](double x) { return ops::constant(b, x, {DType::f32, {}}); };
  ValueId distance = ops::sub(b, place, number(static_cast<double>(reach - 1)));
  if (scale != 1) distance = ops::mul(b, distance, number(scale));
  return ops::mul(b, ops::broadcast(b, distance, shape, {1}),
                  ops::broadcast(b, slopes, shape, {0}));
}

}  // namespace hone
