#include "engine/passes/vocabulary_split.h"

#include <algorithm>

#include "engine/ops/support.h"

namespace hone {
namespace {

constexpr int64_t kLogitBytes = int64_t{32}
                                << 20;  // of tokens whose largest logit is looked for at once

bool is_head(const Node& n) { return n.op->name == "linear_cross_entropy"; }

// Finds the weights with a row for each word.
class VocabularyFinder {
 public:
  VocabularyFinder(const Program& p, int64_t ranks) : p_(p), ranks_(ranks) {}

  std::set<ValueId> find() {
    for (const State& s : p_.states)
      if (s.role == Role::param && p_.type(s.value).dtype == DType::f32) weights_.insert(s.value);
    for (const Named& o : p_.outputs) weights_.erase(o.value);
    for (const State& s : p_.states) weights_.erase(s.next);
    for (const Node& n : p_.nodes)
      for (size_t k = 0; k < n.in.size(); ++k)
        if (n.in[k] != kNoValue && !can_read_part(n, k)) weights_.erase(n.in[k]);
    // A head is divided with its bias or not at all, and so is a weight of several heads.
    for (size_t known = 0; known != weights_.size();) {
      known = weights_.size();
      for (const Node& n : p_.nodes)
        if (is_head(n) && !is_whole_head(n)) erase_head(n);
    }
    std::set<int64_t> sizes;
    for (const Node& n : p_.nodes)
      if (is_head(n) && weights_.contains(n.in[1])) sizes.insert(p_.type(n.in[1]).shape[0]);
    // A head without a table of its words is a classifier.
    std::set<int64_t> of_words;
    for (const Node& n : p_.nodes)
      if (n.op->name == "embedding" && weights_.contains(n.in[0]))
        of_words.insert(p_.type(n.in[0]).shape[0]);
    std::erase_if(weights_, [&](ValueId v) {
      const int64_t rows = p_.type(v).rank() == 0 ? 0 : p_.type(v).shape[0];
      return rows < ranks_ || !sizes.contains(rows) || !of_words.contains(rows) || !is_read(v);
    });
    return std::move(weights_);
  }

 private:
  bool is_result_read(ValueId v) const {
    return std::any_of(p_.outputs.begin(), p_.outputs.end(),
                       [v](const Named& o) { return o.value == v; }) ||
           is_read(v);
  }
  bool is_read(ValueId v) const {
    return std::any_of(p_.nodes.begin(), p_.nodes.end(), [v](const Node& n) {
      return std::find(n.in.begin(), n.in.end(), v) != n.in.end();
    });
  }
  // Whether the node can read rows of operand `k` in its place.
  bool can_read_part(const Node& n, size_t k) const {
    const NodeView view{p_, n};
    if (n.op->name == "embedding")
      return k == 0 && n.in.size() == 2 && n.attrs.text("dtype", "").empty() &&
             n.attrs.text("scheme", "").empty();
    if (!is_head(n) || (k != view.slot("w") && k != view.slot("bias"))) return false;
    // The sum of all logits is not known after a cap.
    const bool sums_capped = view.real("smoothing") != 0 && view.real("softcap") != 0;
    if (sums_capped || view.has("dw_acc") || !view.text("scheme").empty() ||
        !view.text("logits").empty() || p_.type(view.input("x")).dtype != DType::f32)
      return false;
    // Its gradients are those of nll.
    for (size_t out = 3; out < n.out.size(); ++out)
      if (is_result_read(n.out[out])) return false;
    return true;
  }
  bool is_whole_head(const Node& n) const {
    const NodeView view{p_, n};
    return weights_.contains(view.input("w")) &&
           (!view.has("bias") || weights_.contains(view.input("bias")));
  }
  void erase_head(const Node& n) {
    const NodeView view{p_, n};
    weights_.erase(view.input("w"));
    if (view.has("bias")) weights_.erase(view.input("bias"));
  }

  const Program& p_;
  const int64_t ranks_;
  std::set<ValueId> weights_;
};

// Ids of words as rows of this rank's part.
struct LocalRows {
  ValueId inside = kNoValue;  // bool[T]
  ValueId rows = kNoValue;    // i32[T]; 0 outside
};
LocalRows local_rows(Builder& b, ValueId ids, const VocabularyPart& part) {
  const auto number_i32 = [&](int64_t x) {
    return ops::constant(b, static_cast<double>(x), {DType::i32, {}});
  };
  const ValueId from_first = ops::sub(b, ids, number_i32(part.rows.begin));
  LocalRows local;
  local.inside = ops::minimum(b, ops::compare(b, from_first, number_i32(0), "ge"),
                              ops::compare(b, from_first, number_i32(part.rows.count()), "lt"));
  local.rows = ops::select(b, local.inside, from_first, number_i32(0));
  return local;
}

ValueId plain(Builder& b, double x) { return ops::constant(b, x, {DType::f32, {}}); }

// The values of all ranks of a value that each has, one row a rank.
ValueId gathered(Builder& b, ValueId x, const VocabularyPart& part) {
  const int64_t count = b.type(x).count();
  Attrs attrs = part.axis;
  attrs.set("rows", std::vector<int64_t>{part.share.ranks});
  return ops::wait(b, b.emit1("all_gather", {ops::reshape(b, x, {1, count})}, attrs));
}
Values added(Builder& b, const Values& x, const VocabularyPart& part) {
  Values sums = b.emit("all_reduce", x, part.axis);
  for (ValueId& sum : sums) sum = ops::wait(b, sum);
  return sums;
}

class HeadOfPart {
 public:
  HeadOfPart(Builder& b, const Node& head, const HeadOperands& in, const VocabularyPart& part)
      : b_(b),
        head_(head),
        in_(in),
        part_(part),
        tokens_(b.type(in.x).shape[0]),
        width_(b.type(in.x).shape[1]),
        smoothing_(head.attrs.real("smoothing", 0)),
        local_(local_rows(b, in.labels, part)) {}

  HeadLosses emit(bool correct) {
    const ValueId logit = logit_of_rows();
    Attrs attrs = head_.attrs;
    for (const char* other : {"dw", "dx", "dbias", "smoothing"}) attrs.erase(other);
    Values operands{in_.x, in_.w, local_.rows, plain(b_, 1)};
    if (in_.bias != kNoValue) operands.insert(operands.end(), {kNoValue, in_.bias});
    const Values own = b_.emit("linear_cross_entropy", operands, attrs);
    const ValueId nll = nll_of(ops::add(b_, own[1], logit), logit);
    const ValueId weighted = in_.weights == kNoValue ? nll : ops::mul(b_, nll, in_.weights);
    HeadLosses losses;
    losses.nll = nll;
    losses.loss = ops::mul(b_, ops::reduce_sum(b_, weighted, {0}), in_.scale);
    if (correct) losses.correct = correct_of(own[2]);
    return losses;
  }

 private:
  // The logit of each token's row of this rank, which is its label's or that of row 0.
  ValueId logit_of_rows() {
    const ValueId rows = ops::gather_rows(b_, in_.w, local_.rows);
    ValueId z = ops::reshape(b_,
                             ops::matmul(b_, ops::reshape(b_, in_.x, {tokens_, 1, width_}),
                                         ops::reshape(b_, rows, {tokens_, width_, 1})),
                             {tokens_});
    if (in_.bias != kNoValue) z = ops::add(b_, z, ops::gather_rows(b_, in_.bias, local_.rows));
    const double softcap = head_.attrs.real("softcap", 0);
    return softcap == 0 ? z : cap_scores(b_, z, softcap);
  }

  // log-sum-exp over all ranks, less the label's logit. A whole number near the largest log-sum-exp, which has no
  // gradient, keeps exp in its range.
  ValueId nll_of(ValueId log_sum, ValueId logit) {
    const ValueId near = ops::cast(b_, log_sum, DType::i32);
    const ValueId largest =
        ops::cast(b_, ops::reduce_max(b_, gathered(b_, near, part_), {0}), DType::f32);
    const ValueId zero = plain(b_, 0);
    Values terms{ops::exp(b_, ops::sub(b_, log_sum, largest)),
                 ops::select(b_, local_.inside, logit, zero)};
    if (smoothing_ != 0) terms.push_back(sum_of_logits());
    const Values sums = added(b_, terms, part_);
    ValueId picked = sums[1];
    if (smoothing_ != 0)
      picked =
          ops::add(b_, ops::mul(b_, picked, plain(b_, 1 - smoothing_)),
                   ops::mul(b_, sums[2], plain(b_, smoothing_ / static_cast<double>(part_.size))));
    const ValueId valid =
        ops::compare(b_, in_.labels, ops::constant(b_, 0, {DType::i32, {}}), "ge");
    const ValueId all = ops::add(b_, ops::log(b_, sums[0]), largest);
    return ops::select(b_, valid, ops::sub(b_, all, picked), zero);
  }
  // The sum of this rank's logits of each token.
  ValueId sum_of_logits() {
    const ValueId columns = ops::reshape(b_, ops::reduce_sum(b_, in_.w, {0}), {width_, 1});
    ValueId sum = ops::reshape(b_, ops::matmul(b_, in_.x, columns), {tokens_});
    if (in_.bias == kNoValue) return sum;
    return ops::add(b_, sum, ops::reduce_sum(b_, in_.bias, {0}));
  }

  // Whether the first largest logit of all ranks is the label: it is on this rank, and no rank before has one as large.
  ValueId correct_of(ValueId own) {
    const ValueId largest = gathered(b_, largest_logits(), part_);
    const auto row = [&](int64_t begin, int64_t end) {
      return ops::reduce_max(b_, ops::slice(b_, largest, 0, begin, end), {0});
    };
    const int64_t rank = part_.share.rank;
    const ValueId mine = row(rank, rank + 1);
    ValueId right = ops::minimum(
        b_, local_.inside, ops::compare(b_, own, ops::constant(b_, 0, {DType::i32, {}}), "gt"));
    right = ops::minimum(b_, right, ops::compare(b_, mine, row(0, part_.share.ranks), "ge"));
    if (rank > 0) right = ops::minimum(b_, right, ops::compare(b_, mine, row(0, rank), "gt"));
    return ops::cast(b_, added(b_, {ops::cast(b_, right, DType::f32)}, part_)[0], DType::i32);
  }
  // The largest of this rank's logits of each token, some tokens at a time.
  ValueId largest_logits() {
    const int64_t most = std::max<int64_t>(1, kLogitBytes / (4 * part_.rows.count()));
    Values parts;
    for (int64_t begin = 0; begin < tokens_ || begin == 0; begin += most) {
      const ValueId x = tokens_ <= most
                            ? in_.x
                            : ops::slice(b_, in_.x, 0, begin, std::min(begin + most, tokens_));
      const ValueId logits = ops::linear(b_, x, in_.w, {.bias = in_.bias, .trans_w = true});
      parts.push_back(ops::reduce_max(b_, logits, {1}));
    }
    return parts.size() == 1 ? parts[0] : ops::concat(b_, parts, 0);
  }

  Builder& b_;
  const Node& head_;
  const HeadOperands& in_;
  const VocabularyPart& part_;
  const int64_t tokens_, width_;
  const double smoothing_;
  const LocalRows local_;
};

}  // namespace

std::set<ValueId> vocabulary_weights(const Program& program, int64_t ranks) {
  return VocabularyFinder(program, ranks).find();
}

HeadLosses emit_head_of_part(Builder& b, const Node& head, const HeadOperands& in,
                             const VocabularyPart& part, bool correct) {
  return HeadOfPart(b, head, in, part).emit(correct);
}

ValueId emit_lookup_of_part(Builder& b, const Node& lookup, ValueId table, ValueId ids,
                            const VocabularyPart& part) {
  const LocalRows local = local_rows(b, ids, part);
  Attrs attrs = lookup.attrs;
  const int64_t padding = attrs.integer("padding_row", -1);
  if (padding >= part.rows.begin && padding < part.rows.end)
    attrs.set("padding_row", padding - part.rows.begin);
  else
    attrs.erase("padding_row");
  const ValueId rows = b.emit1("embedding", {table, local.rows}, attrs);
  const ValueId there = ops::broadcast(b, local.inside, b.type(rows).shape, {0});
  return added(b, {ops::select(b, there, rows, plain(b, 0))}, part)[0];
}

}  // namespace hone
