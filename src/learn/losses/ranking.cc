#include "learn/losses/ranking.h"

#include "learn/losses/similarity.h"

namespace hone {

ValueId ranking_loss(Builder& b, const TextLossInputs& in, const TextLossOptions& o) {
  constexpr double kNever = -1e30;  // added to the logits of candidates without a row
  const int64_t rows = b.type(in.columns[0]).shape[0];
  const ValueId anchors = ops::mul(b, unit_rows(b, in.columns[0]), scalar(b, o.scale));
  const ValueId missing =
      ops::mul(b, ops::sub(b, scalar(b, 1), in.weight), scalar(b, kNever));  // [R]
  Values candidates, logits_added;
  for (size_t i = 1; i < in.columns.size(); ++i) {
    candidates.push_back(unit_rows(b, in.columns[i]));
    logits_added.push_back(missing);
  }
  const bool one = candidates.size() == 1;
  const ValueId all = one ? candidates[0] : ops::concat(b, candidates, 0),
                added = one ? missing : ops::concat(b, logits_added, 0);
  const ValueId there = ops::compare(b, in.weight, scalar(b, 0.5), "gt");
  const ValueId labels = ops::select(b, there, ops::iota(b, {DType::i32, {rows}}, 0),
                                     ops::constant(b, -100, {DType::i32, {}}));
  return ops::linear_cross_entropy(b, anchors, all, labels, in.scale, true, 0, added).loss;
}

}  // namespace hone
