#include "engine/ops/attention_parts.h"

#include <iterator>
#include <numeric>

namespace hone {
namespace {

const Type kScalarInt{DType::i32, {}};

// For each of `count` packed tokens: its segment (segments: none) and how many tokens of the
// segment come from it on (its end minus its index).
struct Segments {
  ValueId id, left;
};

Segments packed_segments(Builder& b, ValueId cu, int64_t count, int64_t segments) {
  Type grid{DType::i32, {count, segments}};
  ValueId ends = ops::broadcast(b, ops::slice(b, cu, 0, 1, segments + 1), grid.shape, {1});
  ValueId passed = ops::compare(b, ops::iota(b, grid, 0), ends, "ge");
  ValueId id = ops::reduce_sum(b, ops::cast(b, passed, DType::i32), {1});
  ValueId clamped =
      ops::minimum(b, id, ops::constant(b, static_cast<double>(segments - 1), kScalarInt));
  ValueId end = ops::gather_rows(b, cu, ops::add(b, clamped, ops::constant(b, 1, kScalarInt)));
  return {id, ops::sub(b, end, ops::iota(b, {DType::i32, {count}}, 0))};
}

// Key slots of a paged cache in the order of the block table; a slot past its sequence's length
// belongs to segment -1.
Segments paged_segments(Builder& b, ValueId cu, int64_t count, int64_t segments) {
  Type grid{DType::i32, {segments, count / segments}};
  ValueId length =
      ops::sub(b, ops::slice(b, cu, 0, 1, segments + 1), ops::slice(b, cu, 0, 0, segments));
  ValueId left = ops::sub(b, ops::broadcast(b, length, grid.shape, {0}), ops::iota(b, grid, 1));
  ValueId used = ops::compare(b, left, ops::constant(b, 0, kScalarInt), "gt");
  ValueId id = ops::select(b, used, ops::iota(b, grid, 0), ops::constant(b, -1, kScalarInt));
  return {ops::reshape(b, id, {count}), ops::reshape(b, left, {count})};
}

// With the ends of queries and keys aligned, a key comes left_k - left_q before its query.
ValueId distances(Builder& b, const Segments& q, const Segments& k, const Shape& pairs) {
  return ops::sub(b, ops::broadcast(b, k.left, pairs, {1}), ops::broadcast(b, q.left, pairs, {0}));
}

ValueId allowed_pairs(Builder& b, const AttentionDims& a, const Segments& q, const Segments& k,
                      ValueId distance, bool causal, int64_t window) {
  Shape pairs{a.tq, a.tk};
  ValueId q_id = ops::broadcast(b, q.id, pairs, {0}), k_id = ops::broadcast(b, k.id, pairs, {1});
  ValueId allowed = ops::compare(b, q_id, k_id, "eq");
  ValueId real =
      ops::compare(b, q_id, ops::constant(b, static_cast<double>(a.segments), kScalarInt), "lt");
  allowed = ops::minimum(b, allowed, real);
  auto also = [&](double bound, const char* how) {
    allowed = ops::minimum(b, allowed,
                           ops::compare(b, distance, ops::constant(b, bound, kScalarInt), how));
  };
  if (causal) also(0, "ge");
  if (window > 0) also(static_cast<double>(window), "lt");
  if (window > 0 && !causal) also(-static_cast<double>(window), "gt");
  return allowed;
}

// scores += bias[h, reach - 1 - distance]. A pair beyond the reach has no bias: its score is NaN,
// so that a bias too short for its sequences cannot pass unseen.
void add_bias(Builder& b, AttentionParts& a, ValueId bias, ValueId distance, ValueId allowed) {
  const AttentionDims& d = a.dims;
  auto whole = [&](int64_t x) { return ops::constant(b, static_cast<double>(x), kScalarInt); };
  ValueId column = ops::sub(b, whole(d.reach - 1), distance);  // [Tq,Tk]
  ValueId inside = ops::minimum(b, ops::compare(b, column, whole(0), "ge"),
                                ops::compare(b, column, whole(2 * d.reach - 1), "lt"));
  ValueId usable = ops::minimum(b, inside, allowed);
  a.distances = ops::reshape(b, ops::select(b, usable, column, whole(-1)), {d.tq * d.tk});
  ValueId rows = ops::gather_rows(b, ops::transpose(b, bias, {1, 0}), a.distances);  // [Tq*Tk,H]
  ValueId each = ops::transpose(b, ops::reshape(b, rows, {d.tq, d.tk, d.heads}), {2, 0, 1});
  ValueId reached = ops::broadcast(b, inside, {d.heads, d.tq, d.tk}, {1, 2});
  a.scores = ops::select(b, reached, ops::add(b, a.scores, each), number(b, NAN, each));
}

}  // namespace

PackedPairs packed_pairs(Builder& b, ValueId cu, int64_t count, int64_t segments) {
  const Segments s = packed_segments(b, cu, count, segments);
  AttentionDims d;
  d.tq = d.tk = count;
  d.segments = segments;
  const ValueId distance = distances(b, s, s, {count, count});
  return {distance, allowed_pairs(b, d, s, s, distance, false, 0)};
}

ValueId packed_places(Builder& b, ValueId cu, int64_t count, int64_t segments, int64_t width) {
  const Segments s = packed_segments(b, cu, count, segments);
  auto whole = [&](int64_t x) { return ops::constant(b, static_cast<double>(x), kScalarInt); };
  ValueId there = ops::compare(b, s.id, whole(segments), "lt");
  ValueId row = ops::minimum(b, s.id, whole(segments - 1));
  ValueId in_row =
      ops::sub(b, ops::iota(b, {DType::i32, {count}}, 0), ops::gather_rows(b, cu, row));
  return ops::select(b, there, ops::add(b, ops::mul(b, row, whole(width)), in_row), whole(-1));
}

std::vector<AttrSpec> attention_attrs() {
  return with_rounding({required("heads", 0),
                        required("kv_heads", 0),
                        {"causal", false},
                        {"window", 0},
                        {"longest", 0},
                        {"scale", 1.0},
                        {"softcap", 0.0},
                        {"dropout", 0.0},
                        {"first_head", 0},
                        {"key", ""}});
}

static Status read_heads(const NodeView& n, AttentionDims& a) {
  a.heads = n.integer("heads");
  a.kv_heads = n.integer("kv_heads");
  if (a.heads < 1 || a.kv_heads < 1 || a.heads % a.kv_heads != 0)
    return bad_operands(n, fmt::format("{} heads over {} key/value heads", a.heads, a.kv_heads));
  a.first_head = n.integer("first_head");
  if (a.first_head >= 0 && a.first_head <= int64_t{1} << 20) return Ok{};
  return bad_operands(n, fmt::format("first_head={} is out of range", a.first_head));
}

Result<AttentionDims> attention_dims(const NodeView& n) {
  AttentionDims a;
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type& q = n.in("q");
  a.dtype = q.dtype;
  a.tq = q.shape[0];
  HONE_TRY(read_heads(n, a));
  a.fused = !n.has("k");
  if (n.has("k") != n.has("v")) return bad_operands(n, "k and v are given together or not at all");
  int64_t parts = a.fused ? a.heads + 2 * a.kv_heads : a.heads;
  a.size = q.shape[1] / parts;
  if (a.size * parts != q.shape[1])
    return bad_operands(n, fmt::format("rows of q hold no {} heads", parts));
  const Type& cu = n.in("cu_q");
  HONE_TRY(expect_same(n, n.slot("cu_q"), n.slot("cu_k")));
  if (cu.rank() != 1 || cu.dtype != DType::i32 || cu.shape[0] < 2)
    return bad_operands(n, "cu_q and cu_k must be i32[S+1]");
  a.segments = cu.shape[0] - 1;
  a.paged = n.has("block_table");
  a.tk = a.tq;
  if (!a.fused) {
    const Type& k = n.in("k");
    HONE_TRY(expect_same(n, n.slot("k"), n.slot("v")));
    HONE_TRY(expect_rank(n, n.slot("k"), a.paged ? 3 : 2));
    if (k.dtype != q.dtype || k.shape.back() != a.kv_heads * a.size)
      return bad_operands(
          n, fmt::format("rows of k must be {}[{}]", name_of(q.dtype), a.kv_heads * a.size));
    a.tk = k.shape[0];
  }
  if (a.paged) {
    const Type& table = n.in("block_table");
    if (a.fused || table.dtype != DType::i32 || table.rank() != 2 || table.shape[0] != a.segments)
      return bad_operands(n,
                          fmt::format("pages need k, v and a block table i32[{},B]", a.segments));
    a.tk = table.count() * n.in("k").shape[1];
  }
  if (n.real("softcap") < 0)
    return bad_operands(n, fmt::format("softcap={} is negative", n.real("softcap")));
  double p = n.real("dropout");
  if (!(p >= 0 && p < 1)) return bad_operands(n, fmt::format("dropout={} is outside [0, 1)", p));
  if (p > 0) {
    if (!n.has("rng") || !n.has("sample_ids") || a.paged)
      return bad_operands(n, "dropout needs rng, sample_ids and no pages");
    HONE_TRY(expect_type(n, n.slot("rng"), {DType::i64, {2}}));
    HONE_TRY(expect_type(n, n.slot("sample_ids"), {DType::i64, {a.tq}}));
  }
  if (n.has("bias")) {
    const Type& bias = n.in("bias");
    if (bias.dtype != wide(a.dtype) || bias.rank() != 2 || bias.shape[0] != a.heads ||
        bias.shape[1] % 2 != 1)
      return bad_operands(n, fmt::format("the bias must be {}[{}, an odd number of distances]",
                                         name_of(wide(a.dtype)), a.heads));
    a.reach = (bias.shape[1] + 1) / 2;
  }
  return a;
}

ValueId split_heads(Builder& b, ValueId x, int64_t heads) {
  Shape s = b.type(x).shape;
  return ops::transpose(b, ops::reshape(b, x, {s[0], heads, s[1] / heads}), {1, 0, 2});
}

ValueId join_heads(Builder& b, ValueId x) {
  Shape s = b.type(x).shape;
  return ops::reshape(b, ops::transpose(b, x, {1, 0, 2}), {s[1], s[0] * s[2]});
}

ValueId over_keys(Builder& b, ValueId x, const Shape& pairs) {
  std::vector<int64_t> axes(pairs.size() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  return ops::broadcast(b, x, pairs, axes);
}

KeyShares shares_of_keys(Builder& b, ValueId scores, ValueId allowed) {
  const Shape pairs = b.type(scores).shape;
  const int64_t keys = std::ssize(pairs) - 1;
  const ValueId zero = number(b, 0, scores), nothing = number(b, -INFINITY, scores);
  scores = ops::select(b, allowed, scores, nothing);
  ValueId largest = ops::reduce_max(b, scores, {keys});
  const ValueId empty = ops::compare(b, largest, nothing, "eq");
  largest = ops::select(b, empty, zero, largest);
  const ValueId e = ops::exp(b, ops::sub(b, scores, over_keys(b, largest, pairs)));
  const ValueId sum = ops::reduce_sum(b, e, {keys});
  const ValueId lse = ops::add(b, ops::log(b, sum), largest);
  const ValueId divisor = ops::select(b, empty, number(b, 1, sum), sum);
  return {ops::div(b, e, over_keys(b, divisor, pairs)), lse};
}

ValueId shares_again(Builder& b, ValueId scores, ValueId allowed, ValueId lse) {
  const ValueId zero = number(b, 0, scores), nothing = number(b, -INFINITY, scores);
  const ValueId empty = ops::compare(b, lse, nothing, "eq");
  lse = ops::select(b, empty, zero, lse);
  const Shape pairs = b.type(scores).shape;
  return ops::exp(b,
                  ops::sub(b, ops::select(b, allowed, scores, nothing), over_keys(b, lse, pairs)));
}

ValueId mask_of_heads(Builder& b, const DropHeads& drop, ValueId cu_q, ValueId cu_k, int64_t keys) {
  const int64_t end = drop.first + drop.heads;
  const ValueId mask = ops::attention_dropout_mask(b, drop.rng, drop.sample_ids, cu_q, cu_k, drop.p,
                                                   end, keys, drop.key);
  return ops::slice(b, mask, 0, drop.first, end);
}

ValueId dropped(Builder& b, ValueId keep, ValueId x, double p) {
  if (keep == kNoValue) return x;
  return ops::select(b, keep, ops::mul(b, x, number(b, 1 / (1 - p), x)), number(b, 0, x));
}

Cost attention_cost(const NodeView& n, double products) {
  Cost c = elementwise(n, 0);
  const Result<AttentionDims> a = attention_dims(n);
  if (!a) return c;
  const double keys = static_cast<double>(a->tk) / static_cast<double>(a->segments);
  c.flops =
      2 * products * static_cast<double>(a->tq) * keys * static_cast<double>(a->heads * a->size);
  if (n.flag("causal") && a->tq == a->tk) c.flops /= 2;
  return c;
}

AttentionParts attention_parts(Builder& b, const NodeView& n) {
  Result<AttentionDims> checked = attention_dims(n);
  HONE_BUG_IF(!checked, "{}", checked.error().text());
  AttentionParts a;
  a.dims = *checked;
  const AttentionDims& d = a.dims;
  ValueId q = n.input("q"), k = n.input("k"), v = n.input("v");
  const ValueId cu_q = n.input("cu_q"), cu_k = n.input("cu_k");
  if (d.fused) {
    ValueId all = q;
    int64_t at = d.heads * d.size, step = d.kv_heads * d.size;
    q = ops::slice(b, all, 1, 0, at);
    k = ops::slice(b, all, 1, at, at + step);
    v = ops::slice(b, all, 1, at + step, at + 2 * step);
  }
  if (d.paged) {
    const ValueId table = n.input("block_table");
    ValueId pages = ops::reshape(b, table, {b.type(table).count()});
    auto gather = [&](ValueId cache) {
      Shape s = b.type(cache).shape;
      ValueId rows = ops::gather_rows(b, ops::reshape(b, cache, {s[0], s[1] * s[2]}), pages);
      return ops::reshape(b, rows, {d.tk, s[2]});
    };
    k = gather(k);
    v = gather(v);
  }
  auto repeat = [&](ValueId x) {
    x = split_heads(b, ops::cast(b, x, wide(d.dtype)), d.kv_heads);
    if (d.heads == d.kv_heads) return x;
    x = ops::broadcast(b, x, {d.kv_heads, d.heads / d.kv_heads, d.tk, d.size}, {0, 2, 3});
    return ops::reshape(b, x, {d.heads, d.tk, d.size});
  };
  a.q = split_heads(b, ops::cast(b, q, wide(d.dtype)), d.heads);
  a.k = repeat(k);
  a.v = repeat(v);
  ValueId scores = ops::matmul(b, a.q, a.k, false, true);
  a.scores = ops::mul(b, scores, number(b, n.real("scale"), scores));
  if (const double cap = n.real("softcap"); cap > 0)
    a.scores = cap_scores(b, a.scores, cap, &a.capped);
  Segments keys = d.paged ? paged_segments(b, cu_k, d.tk, d.segments)
                          : packed_segments(b, cu_k, d.tk, d.segments);
  Segments queries = packed_segments(b, cu_q, d.tq, d.segments);
  ValueId distance = distances(b, queries, keys, {d.tq, d.tk});
  ValueId allowed =
      allowed_pairs(b, d, queries, keys, distance, n.flag("causal"), n.integer("window"));
  a.allowed = ops::broadcast(b, allowed, {d.heads, d.tq, d.tk}, {1, 2});
  if (d.reach > 0) add_bias(b, a, n.input("bias"), distance, allowed);
  if (double p = n.real("dropout"); p > 0)
    a.keep = mask_of_heads(
        b, {n.input("rng"), n.input("sample_ids"), p, n.text("key"), d.first_head, d.heads}, cu_q,
        cu_k, d.tk);
  return a;
}

}  // namespace hone
