#include "learn/models/relative_buckets.h"

#include <cmath>

namespace hone {
namespace {

// The bucket of a key `distance` places before its query (after it if negative): half of the buckets
// for single distances, the others growing by a factor up to max_distance. Computed in f32 as
// Transformers does, since it rounds down what may be whole.
int64_t bucket_of(const Buckets& buckets, int64_t distance) {
  int64_t count = buckets.count, first = 0;
  if (buckets.both_ways) {
    count /= 2;
    if (distance < 0) first = count;
    distance = std::abs(distance);
  }
  distance = std::max<int64_t>(distance, 0);
  const int64_t exact = count / 2;
  if (distance < exact) return first + distance;
  const float range = static_cast<float>(
      std::log(static_cast<double>(buckets.max_distance) / static_cast<double>(exact)));
  const float steps = std::log(static_cast<float>(distance) / static_cast<float>(exact)) / range *
                      static_cast<float>(count - exact);
  return first + std::min(count - 1, exact + static_cast<int64_t>(steps));
}

// Row d + reach is the bucket of a key d places after its query, -reach <= d <= reach; what is
// farther has the last one's.
int64_t table_reach(const Buckets& b) { return 2 * b.max_distance; }

std::vector<float> bucket_table(const Buckets& buckets) {
  std::vector<float> rows;
  const int64_t reach = table_reach(buckets);
  for (int64_t d = -reach; d <= reach; ++d)
    rows.push_back(static_cast<float>(bucket_of(buckets, -d)));
  return rows;
}

}  // namespace

ValueId bucket_bias(ModelGraph& g, const std::string& name, const Buckets& buckets,
                    const std::function<ValueId()>& rows) {
  Builder& b = g.b;
  const ValueId table =
      g.constant({name + ".relative_buckets", {2 * table_reach(buckets) + 1}, [buckets] {
                    return bucket_table(buckets);
                  }});
  if (g.declaring()) return kNoValue;
  Builder::Scope s(b, "relative_attention_bias");
  const int64_t reach = g.longest(), count = 2 * reach - 1, most = table_reach(buckets);
  auto whole = [&](int64_t x) {
    return ops::constant(b, static_cast<double>(x), {DType::i32, {}});
  };
  ValueId at = ops::add(b, ops::iota(b, {DType::i32, {count}}, 0), whole(most + 1 - reach));
  at = ops::minimum(b, ops::maximum(b, at, whole(0)), whole(2 * most));
  ValueId bucket = ops::cast(b, ops::gather_rows(b, table, at), DType::i32);
  return ops::transpose(b, ops::embedding(b, rows(), bucket), {1, 0});
}

}  // namespace hone
