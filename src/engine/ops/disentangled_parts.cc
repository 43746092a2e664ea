#include "engine/ops/disentangled_parts.h"

namespace hone {
namespace {

// x [H,T,R] at `places` of each pair -> [H,T,T].
ValueId at_places(Builder& b, const DisentangledDims& d, ValueId x, ValueId places) {
  ValueId rows = ops::reshape(b, ops::transpose(b, x, {1, 2, 0}), {d.tokens * d.rows, d.heads});
  ValueId pairs = ops::gather_rows(b, rows, places);  // [T*T,H]
  return ops::transpose(b, ops::reshape(b, pairs, {d.tokens, d.tokens, d.heads}), {2, 0, 1});
}

}  // namespace

ValueId sums_by_place(Builder& b, const DisentangledDims& d, ValueId places, ValueId x) {
  ValueId pairs = ops::reshape(b, ops::transpose(b, x, {1, 2, 0}), {d.tokens * d.tokens, d.heads});
  ValueId sums = ops::scatter_add_rows(b, places, pairs, d.tokens * d.rows);  // [T*R,H]
  return ops::transpose(b, ops::reshape(b, sums, {d.tokens, d.rows, d.heads}), {2, 0, 1});
}

std::vector<AttrSpec> disentangled_attrs() {
  return {required("heads", 0), {"scale", 1.0}, {"dropout", 0.0}, {"key", ""}, {"first_head", 0}};
}

Result<DisentangledDims> disentangled_dims(const NodeView& n) {
  DisentangledDims d;
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_same(n, 0, n.slot("k")));
  HONE_TRY(expect_same(n, 0, n.slot("v")));
  const Type q = n.in("q");
  d.tokens = q.shape[0];
  d.heads = n.integer("heads");
  if (d.heads < 1 || q.shape[1] % d.heads != 0)
    return bad_operands(n, fmt::format("rows of q hold no {} heads", d.heads));
  d.first_head = n.integer("first_head");
  if (d.first_head < 0 || d.first_head > int64_t{1} << 20)
    return bad_operands(n, fmt::format("first_head={} is out of range", d.first_head));
  d.size = q.shape[1] / d.heads;
  if (!n.has("position_keys") && !n.has("position_queries"))
    return bad_operands(n, "position_keys or position_queries must be given");
  for (const char* name : {"position_keys", "position_queries"}) {
    if (!n.has(name)) continue;
    const Type& rows = n.in(name);
    if (rows.dtype != q.dtype || rows.rank() != 2 || rows.shape[1] != q.shape[1] ||
        rows.shape[0] < 1 || (d.rows > 0 && rows.shape[0] != d.rows))
      return bad_operands(n,
                          fmt::format("{} must be {}[R,{}]", name, name_of(q.dtype), q.shape[1]));
    d.rows = rows.shape[0];
  }
  const Type &row_of = n.in("row_of"), &cu = n.in("cu");
  if (row_of.dtype != DType::i32 || row_of.rank() != 1 || row_of.shape[0] % 2 != 1)
    return bad_operands(n, "row_of must be i32[an odd number of distances]");
  d.reach = (row_of.shape[0] + 1) / 2;
  if (cu.rank() != 1 || cu.dtype != DType::i32 || cu.shape[0] < 2)
    return bad_operands(n, "cu must be i32[S+1]");
  d.segments = cu.shape[0] - 1;
  const double p = n.real("dropout");
  if (!(p >= 0 && p < 1)) return bad_operands(n, fmt::format("dropout={} is outside [0, 1)", p));
  if (p > 0) {
    if (!n.has("rng") || !n.has("sample_ids"))
      return bad_operands(n, "dropout needs rng and sample_ids");
    HONE_TRY(expect_type(n, n.slot("rng"), {DType::i64, {2}}));
    HONE_TRY(expect_type(n, n.slot("sample_ids"), {DType::i64, {d.tokens}}));
  }
  return d;
}

DisentangledParts disentangled_parts(Builder& b, const NodeView& n) {
  Result<DisentangledDims> checked = disentangled_dims(n);
  HONE_BUG_IF(!checked, "{}", checked.error().text());
  DisentangledParts a;
  a.dims = *checked;
  const DisentangledDims& d = a.dims;
  const ValueId cu = n.input("cu"), row_of = n.input("row_of");
  const double scale = n.real("scale"), p_drop = n.real("dropout");
  const auto heads_of = [&](const char* name) {
    return split_heads(b, widened(b, n.input(name)), d.heads);
  };
  a.q = heads_of("q");
  a.k = heads_of("k");
  a.v = heads_of("v");

  const PackedPairs pairs = packed_pairs(b, cu, d.tokens, d.segments);
  const auto whole = [&](int64_t x) {
    return ops::constant(b, static_cast<double>(x), {DType::i32, {}});
  };
  const Shape square{d.tokens, d.tokens};
  ValueId at = ops::add(b, pairs.distance, whole(d.reach - 1));
  at = ops::reshape(b, ops::select(b, pairs.together, at, whole(-1)), {d.tokens * d.tokens});
  const ValueId row = ops::reshape(b, ops::gather_rows(b, row_of, at), square);
  const auto places_of = [&](int64_t axis) {
    ValueId token = ops::mul(b, ops::iota(b, {DType::i32, square}, axis), whole(d.rows));
    ValueId place = ops::select(b, pairs.together, ops::add(b, token, row), whole(-1));
    return ops::reshape(b, place, {d.tokens * d.tokens});
  };
  a.scores = ops::matmul(b, a.q, a.k, false, true);
  if (n.has("position_keys")) {
    a.position_keys = heads_of("position_keys");
    a.by_query = places_of(0);
    const ValueId products = ops::matmul(b, a.q, a.position_keys, false, true);  // [H,T,R]
    a.scores = ops::add(b, a.scores, at_places(b, d, products, a.by_query));
  }
  if (n.has("position_queries")) {
    a.position_queries = heads_of("position_queries");
    a.by_key = places_of(1);
    const ValueId products = ops::matmul(b, a.k, a.position_queries, false, true);  // [H,T,R]
    a.scores = ops::add(b, a.scores, at_places(b, d, products, a.by_key));
  }
  a.scores = ops::mul(b, a.scores, number(b, scale, a.scores));
  a.allowed = ops::broadcast(b, pairs.together, {d.heads, d.tokens, d.tokens}, {1, 2});
  if (p_drop > 0)
    a.keep = mask_of_heads(
        b, {n.input("rng"), n.input("sample_ids"), p_drop, n.text("key"), d.first_head, d.heads},
        cu, cu, d.tokens);
  return a;
}

}  // namespace hone
