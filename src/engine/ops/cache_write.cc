// cache_write(cache, x, slots) = the cache with row slots[t] (page * page size + offset) replaced
// by row t of x; slots < 0 are skipped, no slot is named twice. cache [pages, page, C], x [T,C],
// slots i32[T] -> the cache's type. No gradient.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_cache_write(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 3));
  HONE_TRY(expect_rank(n, 1, 2));
  if (n.in(1).dtype != n.in(0).dtype || n.in(1).shape[1] != n.in(0).shape[2])
    return bad_operands(n, "rows are of another type than the cache's");
  HONE_TRY(expect_type(n, 2, {DType::i32, {n.in(1).shape[0]}}));
  return Types{n.in(0)};
}

Values decompose_cache_write(Builder& b, const NodeView& n) {
  Type cache = n.in(0), x = n.in(1);
  int64_t rows = cache.shape[0] * cache.shape[1], channels = cache.shape[2];
  ValueId fresh = ops::scatter_add_rows(b, n.input(2), n.input(1), rows);
  ValueId ones = ops::constant(b, 1, {x.dtype, {x.shape[0], 1}});
  ValueId hits = ops::reshape(b, ops::scatter_add_rows(b, n.input(2), ones, rows), {rows});
  ValueId kept =
      ops::broadcast(b, ops::compare(b, hits, number(b, 0, hits), "le"), {rows, channels}, {0});
  ValueId old = ops::reshape(b, n.input(0), {rows, channels});
  return {
      ops::reshape(b, ops::select(b, kept, old, fresh), cache.shape)};  // in the old one's place
}

Cost cost_cache_write(const NodeView& n) { return {0, 2.0 * static_cast<double>(n.in(1).bytes())}; }

}  // namespace

Op define_cache_write() {
  return {.name = "cache_write",
          .operands = {"cache", "x", "slots"},
          .infer = infer_cache_write,
          .decompositions = {decompose_cache_write},
          .cost = cost_cache_write,
          .over = {{0, "cache"}}};
}

ValueId ops::cache_write(Builder& b, ValueId cache, ValueId x, ValueId slots) {
  return b.emit1("cache_write", {cache, x, slots});
}

}  // namespace hone
