// attention with each segment as a row of its own, padded to the longest: scores are
// [S, H, Lq, Lk] where the packed form has [H, Tq, Tk]. For compilers that take whole programs and
// want dense shapes.
#include "engine/ops/attention_parts.h"

namespace hone {
namespace {

const Type kInt{DType::i32, {}};

ValueId whole(Builder& b, int64_t x) { return ops::constant(b, static_cast<double>(x), kInt); }

// One side of the attention, queries or keys: S rows of `width` places.
struct Rows {
  int64_t width = 0;
  ValueId length;  // [S]
  ValueId first;   // [S]: the first packed token of each
};

Rows rows_of(Builder& b, ValueId cu, int64_t segments, int64_t width) {
  Rows r{width, kNoValue, ops::slice(b, cu, 0, 0, segments)};
  r.length = ops::sub(b, ops::slice(b, cu, 0, 1, segments + 1), r.first);
  return r;
}

// i32[S*width]: the packed token in each place of each row; -1: none.
ValueId tokens_of(Builder& b, const Rows& r) {
  const Type grid{DType::i32, {b.type(r.length).shape[0], r.width}};
  auto by_row = [&](ValueId v) { return ops::broadcast(b, v, grid.shape, {0}); };
  ValueId place = ops::iota(b, grid, 1);
  ValueId used = ops::compare(b, place, by_row(r.length), "lt");
  ValueId token = ops::select(b, used, ops::add(b, place, by_row(r.first)), whole(b, -1));
  return ops::reshape(b, token, {grid.count()});
}

// [S*L, heads*D] -> [S, heads, L, D]
ValueId heads_of(Builder& b, ValueId x, int64_t segments, int64_t heads) {
  const Shape s = b.type(x).shape;
  x = ops::reshape(b, x, {segments, s[0] / segments, heads, s[1] / heads});
  return ops::transpose(b, x, {0, 2, 1, 3});
}

ValueId repeat_heads(Builder& b, ValueId x, int64_t heads) {
  const Shape s = b.type(x).shape;
  if (s[1] == heads) return x;
  x = ops::broadcast(b, x, {s[0], s[1], heads / s[1], s[2], s[3]}, {0, 1, 3, 4});
  return ops::reshape(b, x, {s[0], heads, s[2], s[3]});
}

// bool [S, H, Lq, Lk], one row after another: the mask is a function of places in a segment.
ValueId kept(Builder& b, const NodeView& n, const AttentionDims& d, const Rows& q, const Rows& k,
             ValueId q_tokens, double p) {
  DropHeads drop{n.input("rng"), kNoValue, p, n.text("key"), d.first_head, d.heads};
  ValueId ids = ops::reshape(b, n.input("sample_ids"), {d.tq, 1});
  ids = ops::reshape(b, ops::gather_rows(b, ids, q_tokens), {d.segments * q.width});
  auto border = [&](int64_t width) {
    return ops::mul(b, ops::iota(b, {DType::i32, {2}}, 0), whole(b, width));
  };
  ValueId cu_q = border(q.width), cu_k = border(k.width);
  Values masks;
  for (int64_t s = 0; s < d.segments; ++s) {
    drop.sample_ids = ops::slice(b, ids, 0, s * q.width, (s + 1) * q.width);
    const ValueId mask = mask_of_heads(b, drop, cu_q, cu_k, k.width);
    masks.push_back(ops::reshape(b, mask, {1, d.heads, q.width, k.width}));
  }
  return ops::concat(b, masks, 0);
}

}  // namespace

Values attention_by_row(Builder& b, const NodeView& n) {
  Result<AttentionDims> checked = attention_dims(n);
  HONE_BUG_IF(!checked, "{}", checked.error().text());
  const AttentionDims d = *checked;
  const DType w = wide(d.dtype);
  const int64_t longest = n.integer("longest");
  auto width = [&](int64_t tokens) { return longest > 0 ? std::min(longest, tokens) : tokens; };
  const Rows q = rows_of(b, n.input("cu_q"), d.segments, width(d.tq));
  const Rows k = rows_of(b, n.input("cu_k"), d.segments, d.paged ? d.tk / d.segments : width(d.tk));
  const ValueId q_tokens = tokens_of(b, q), k_tokens = d.paged ? kNoValue : tokens_of(b, k);

  ValueId q_all = n.input("q"), k_all = n.input("k"), v_all = n.input("v");
  if (d.fused) {
    const ValueId all = q_all;
    const int64_t at = d.heads * d.size, step = d.kv_heads * d.size;
    q_all = ops::slice(b, all, 1, 0, at);
    k_all = ops::slice(b, all, 1, at, at + step);
    v_all = ops::slice(b, all, 1, at + step, at + 2 * step);
  }
  auto gather = [&](ValueId x, ValueId tokens, int64_t heads) {
    if (d.paged && tokens == kNoValue) {
      const Shape s = b.type(x).shape;  // [pages, page, C]
      const ValueId table = n.input("block_table");
      ValueId pages = ops::reshape(b, table, {b.type(table).count()});
      x = ops::gather_rows(b, ops::reshape(b, x, {s[0], s[1] * s[2]}), pages);
      x = ops::reshape(b, x, {d.tk, s[2]});
    } else {
      x = ops::gather_rows(b, x, tokens);
    }
    return repeat_heads(b, heads_of(b, ops::cast(b, x, w), d.segments, heads), d.heads);
  };
  const ValueId queries = gather(q_all, q_tokens, d.heads);
  const ValueId keys = gather(k_all, k_tokens, d.kv_heads);
  const ValueId values = gather(v_all, k_tokens, d.kv_heads);
  ValueId scores = ops::matmul(b, queries, keys, false, true);  // [S, H, Lq, Lk]
  scores = ops::mul(b, scores, number(b, n.real("scale"), scores));
  if (const double cap = n.real("softcap"); cap > 0) scores = cap_scores(b, scores, cap);

  // With the ends of queries and keys aligned, a key comes left_k - left_q before its query.
  const Shape pairs{d.segments, q.width, k.width}, all = b.type(scores).shape;
  auto left = [&](const Rows& r, int64_t axis) {
    const Type grid{DType::i32, {d.segments, r.width}};
    ValueId x = ops::sub(b, ops::broadcast(b, r.length, grid.shape, {0}), ops::iota(b, grid, 1));
    return ops::broadcast(b, x, pairs, {0, axis});
  };
  const ValueId left_q = left(q, 1), left_k = left(k, 2), distance = ops::sub(b, left_k, left_q);
  ValueId allowed = ops::minimum(b, ops::compare(b, left_q, whole(b, 0), "gt"),
                                 ops::compare(b, left_k, whole(b, 0), "gt"));
  auto also = [&](int64_t bound, const char* how) {
    allowed = ops::minimum(b, allowed, ops::compare(b, distance, whole(b, bound), how));
  };
  const bool causal = n.flag("causal");
  const int64_t window = n.integer("window");
  if (causal) also(0, "ge");
  if (window > 0) also(window, "lt");
  if (window > 0 && !causal) also(-window, "gt");
  if (d.reach > 0) {
    ValueId column = ops::sub(b, whole(b, d.reach - 1), distance);
    ValueId inside = ops::minimum(b, ops::compare(b, column, whole(b, 0), "ge"),
                                  ops::compare(b, column, whole(b, 2 * d.reach - 1), "lt"));
    column = ops::select(b, inside, column, whole(b, -1));
    column = ops::reshape(b, column, {b.type(column).count()});
    ValueId each = ops::gather_rows(b, ops::transpose(b, n.input("bias"), {1, 0}), column);
    each = ops::reshape(b, each, {d.segments, q.width, k.width, d.heads});
    each = ops::transpose(b, each, {0, 3, 1, 2});
    ValueId reached = ops::broadcast(b, inside, all, {0, 2, 3});
    scores = ops::select(b, reached, ops::add(b, scores, each), number(b, NAN, each));
  }

  const KeyShares shares =
      shares_of_keys(b, scores, ops::broadcast(b, allowed, all, {0, 2, 3}));  // lse [S, H, Lq]
  ValueId p = shares.p, lse = shares.lse;
  if (const double share = n.real("dropout"); share > 0)
    p = dropped(b, kept(b, n, d, q, k, q_tokens, share), p, share);
  ValueId out = ops::transpose(b, ops::matmul(b, p, values), {0, 2, 1, 3});  // [S, Lq, H, D]

  // Back to packed tokens; one past the last segment has no place.
  const ValueId place = packed_places(b, n.input("cu_q"), d.tq, d.segments, q.width);
  out = ops::reshape(b, out, {d.segments * q.width, d.heads * d.size});
  out = ops::gather_rows(b, out, place);
  lse = ops::reshape(b, ops::transpose(b, lse, {0, 2, 1}), {d.segments * q.width, d.heads});
  lse = ops::transpose(b, ops::gather_rows(b, lse, place), {1, 0});  // [H, Tq]
  ValueId nowhere = ops::compare(b, place, whole(b, 0), "lt");
  lse = ops::select(b, ops::broadcast(b, nowhere, {d.heads, d.tq}, {1}), number(b, -INFINITY, lse),
                    lse);
  return {ops::cast(b, out, d.dtype), lse};
}

}  // namespace hone
