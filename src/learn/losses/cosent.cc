// CoSENTLoss (Su 2022): log(1 + sum of exp(s_i - s_j) over all rows i, j whose labels want s_i < s_j), where s is
// scale * the cosine of a row's two texts.
#include "learn/losses/similarity.h"
#include "learn/losses/text_loss.h"

namespace hone {
namespace {

ValueId cosent_loss(Builder& b, const TextLossInputs& in, const TextLossOptions& o) {
  const int64_t rows = b.type(in.labels).shape[0];
  const Shape pairs{rows, rows};
  const auto of_first = [&](ValueId v) { return ops::broadcast(b, v, pairs, {0}); };
  const auto of_second = [&](ValueId v) { return ops::broadcast(b, v, pairs, {1}); };
  const ValueId scores =
      ops::mul(b, cosine_of_rows(b, in.columns[0], in.columns[1]), scalar(b, o.scale));
  const ValueId wanted = ops::compare(b, of_first(in.labels), of_second(in.labels), "lt");
  const ValueId there =
      ops::compare(b, ops::mul(b, of_first(in.weight), of_second(in.weight)), scalar(b, 0.5), "gt");
  const ValueId apart =
      ops::select(b, ops::minimum(b, wanted, there),
                  ops::sub(b, of_first(scores), of_second(scores)), scalar(b, -1e30));  // [R,R]
  const ValueId most = ops::maximum(b, ops::reduce_max(b, apart, {0, 1}), scalar(b, 0));
  const ValueId sum = ops::add(b, ops::exp(b, ops::neg(b, most)),
                               ops::reduce_sum(b, ops::exp(b, ops::sub(b, apart, most)), {0, 1}));
  return ops::mul(b, ops::add(b, ops::log(b, sum), most), in.scale);
}

}  // namespace

TextLoss text_loss_cosent() {
  return {.name = "CoSENTLoss",
          .about = "pairs with a score: pairs with a higher score get a higher cosine",
          .labels = true,
          .mean = false,
          .build = cosent_loss};
}

}  // namespace hone
