#include "learn/train/weight_split.h"

#include <algorithm>

#include "engine/passes/differentiate.h"
#include "learn/train/update_groups.h"

namespace hone {
namespace {

// Units of rows that a weight has at most with split_invariant: the squares of each are summed apart.
constexpr int64_t kMostUnits = 64;

}  // namespace

RowRange WeightSplit::held(const Type& weight, const Share& share) const {
  const int64_t rows = weight.shape.empty() ? 1 : weight.shape[0];
  if (whole) return {0, rows};
  if (owner < 0) return share_rows(rows, share, unit);
  return share.rank < owner ? RowRange{0, 0} : RowRange{share.rank == owner ? 0 : rows, rows};
}

std::vector<WeightSplit> split_weights(const std::vector<UpdateWeight>& weights,
                                       const UpdateOptions& options) {
  std::vector<WeightSplit> splits(weights.size());
  const int64_t ranks = options.share.ranks;
  std::vector<int64_t> owned(static_cast<size_t>(ranks), 0);  // bytes, by rank
  for (size_t i = 0; i < weights.size(); ++i) {
    const Type& type = weights[i].type;
    if (type.rank() == 0 || type.count() == 0) continue;
    WeightSplit& split = splits[i];
    const Rule rule = rule_of(options, is_own(weights[i], options));
    const int64_t unit =
        options.split_invariant ? (type.shape[0] + kMostUnits - 1) / kMostUnits : 1;
    // Random numbers of rounding are numbered by element of the tensor.
    const bool is_numbered = options.stochastic_rounding && type.dtype == DType::bf16;
    if (works_by_element(rule) && !is_numbered) {
      const int64_t together = rows_together(rule, type);
      split.unit = (unit + together - 1) / together * together;
      split.whole = (type.shape[0] + split.unit - 1) / split.unit < ranks;
      if (split.whole && !options.split_invariant) split.unit = 1;
      continue;
    }
    split.unit = unit;
    const auto least = std::min_element(owned.begin(), owned.end());
    *least += type.bytes();
    split.whole = false;
    split.owner = least - owned.begin();
  }
  return splits;
}

std::optional<GradientState> gradient_state(const UpdateWeight& weight, const WeightSplit& split,
                                            const UpdateOptions& options) {
  GradientState g;
  g.state.name = grad_name(weight.name);
  g.state.role = Role::grad;
  g.type = gradient_type(weight.type, options.gradients);
  if (options.stage < 2 || split.whole) return g;
  const int64_t rows = weight.type.shape[0];
  const RowRange held = split.held(weight.type, options.share);
  if (held.count() == 0) return std::nullopt;
  if (held.count() == rows) return g;
  g.state.shard = {g.state.name, held.begin, rows, held};
  g.state.name += fmt::format("[{}:{}]", held.begin, held.end);
  g.type.shape[0] = held.count();
  return g;
}

Sharding sharding_of(const std::vector<UpdateWeight>& weights, const UpdateOptions& options,
                     int64_t least_elements) {
  Sharding how;
  if (options.stage < 3) return how;
  how.share = options.share;
  how.least_elements = least_elements;
  const std::vector<WeightSplit> splits = split_weights(weights, options);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (splits[i].whole || splits[i].owner >= 0) how.whole.insert(weights[i].name);
    if (splits[i].unit > 1) how.units[weights[i].name] = splits[i].unit;
  }
  return how;
}

}  // namespace hone
