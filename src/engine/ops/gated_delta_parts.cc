#include "engine/ops/gated_delta_parts.h"

namespace hone {

std::vector<AttrSpec> gated_delta_attrs() {
  return {required("heads", 0), required("key_heads", 0)};
}

Result<DeltaRuleDims> gated_delta_dims(const NodeView& n) {
  DeltaRuleDims d;
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_same(n, 0, n.slot("k")));
  HONE_TRY(expect_rank(n, n.slot("v"), 2));
  const Type &q = n.in("q"), &v = n.in("v"), &cu = n.in("cu");
  if (wide(q.dtype) != q.dtype) return bad_operands(n, "q must be f32 or f64");
  d.tokens = q.shape[0];
  d.heads = n.integer("heads");
  d.key_heads = n.integer("key_heads");
  if (v.dtype != q.dtype || v.shape[0] != d.tokens)
    return bad_operands(n, fmt::format("v must be {}[{},H*E]", name_of(q.dtype), d.tokens));
  if (d.heads < 1 || d.key_heads < 1 || d.heads % d.key_heads != 0 ||
      q.shape[1] % d.key_heads != 0 || v.shape[1] % d.heads != 0)
    return bad_operands(n, fmt::format("{} heads of keys and {} of values do not make these rows",
                                       d.key_heads, d.heads));
  d.keys = q.shape[1] / d.key_heads;
  d.values = v.shape[1] / d.heads;
  const Type of_heads{q.dtype, {d.tokens, d.heads}};
  HONE_TRY(expect_type(n, n.slot("decay"), of_heads));
  HONE_TRY(expect_type(n, n.slot("beta"), of_heads));
  if (cu.rank() != 1 || cu.dtype != DType::i32 || cu.shape[0] < 2)
    return bad_operands(n, "cu must be i32[S+1]");
  d.segments = cu.shape[0] - 1;
  return d;
}

}  // namespace hone
