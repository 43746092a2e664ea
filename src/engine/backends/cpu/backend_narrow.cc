// Kernels of nodes that are kept in 16 bits, through f32.
#include <optional>

#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/kernels/narrow.h"

namespace hone::cpu {
namespace {

using Make = Result<Kernel> (*)(const NodeView& n, int threads);

constexpr const char* kResultType = "as";

bool is_kept_in_half(DType t) { return t == DType::bf16 || t == DType::f16; }
Half half_type(DType t) { return t == DType::bf16 ? Half::bf16 : Half::f16; }

// A node of a program of its own.
struct OneNode {
  Program program;
  Node node;
  NodeView view() const { return {program, node}; }
};

// The node with these attributes, operands of these types and what infer() makes of them.
Result<OneNode> one_node(const OpTable& ops, const Op* op, const Attrs& attrs,
                         const std::vector<std::optional<Type>>& operands) {
  OneNode one{Program(ops), {}};
  one.node.op = op;
  one.node.attrs = attrs;
  for (const auto& type : operands)
    one.node.in.push_back(type ? one.program.new_value(*type) : kNoValue);
  for (Type& type : HONE_TRY(op->infer(one.view())))
    one.node.out.push_back(one.program.new_value(std::move(type)));
  return one;
}

std::vector<std::optional<Type>> operand_types(const NodeView& n) {
  std::vector<std::optional<Type>> types;
  for (size_t i = 0; i < n.inputs(); ++i)
    types.push_back(n.has(i) ? std::optional(n.in(i)) : std::nullopt);
  return types;
}

// A tensor that has a copy in f32 in the workspace.
struct Copied {
  size_t at = 0;  // the operand or result
  Half half = Half::bf16;
  int64_t count = 0, offset = 0;
};

// The node in f32, but for its operands `first_kept` and 1 where a product rounds these.
Result<OneNode> node_in_f32(const NodeView& n, size_t first_kept) {
  std::vector<std::optional<Type>> types = operand_types(n);
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i] || !is_kept_in_half(types[i]->dtype)) continue;
    const bool kept = n.node.op->product && i >= first_kept && i <= Op::kWeightOperand &&
                      n.attrs().flag(name_of(types[i]->dtype));
    if (!kept) types[i]->dtype = DType::f32;
  }
  Attrs attrs = n.attrs();
  attrs.erase(kResultType);
  OneNode one = HONE_TRY(one_node(n.program.ops(), n.node.op, attrs, types));
  for (size_t k = 0; k < n.node.out.size(); ++k) {
    Type wanted = n.out(k);
    if (is_kept_in_half(wanted.dtype)) wanted.dtype = DType::f32;
    if (one.view().out(k) != wanted) return declined(n, "its results in f32 are others");
  }
  return one;
}

// The bias of a product in 16 bits is rounded to its type first.
bool rounds_bias(const NodeView& n) {
  return n.node.op->product && n.node.op->takes("bias") && n.has("bias") &&
         is_kept_in_half(n.out(0).dtype) && n.in("bias").dtype == DType::f32;
}

Result<Kernel> between_casts(const NodeView& n, int threads, Make make) {
  for (const Operand& o : n.node.op->operands)
    if (o.list) return declined(n, "no lists in 16 bits");
  for (size_t first_kept = 0; first_kept <= Op::kWeightOperand + 1; ++first_kept) {
    const Result<OneNode> one = node_in_f32(n, first_kept);
    if (!one) continue;
    Result<Kernel> inner = make(one->view(), threads);
    if (!inner) continue;
    int64_t end = whole_lines(inner->workspace_bytes);
    std::vector<Copied> operands, results;
    const auto copy = [&](std::vector<Copied>& to, size_t at, const Type& kept, const Type& wide) {
      if (kept.dtype == wide.dtype) return;
      to.push_back({at, half_type(kept.dtype), kept.count(), end});
      end += whole_lines(4 * kept.count());
    };
    for (size_t i = 0; i < n.inputs(); ++i)
      if (n.has(i)) copy(operands, i, n.in(i), one->view().in(i));
    std::optional<Copied> bias;
    if (rounds_bias(n)) {
      const int64_t count = n.in("bias").count();
      bias = {n.slot("bias"), half_type(n.out(0).dtype), count, end};
      end += whole_lines(4 * count) + whole_lines(2 * count);
    }
    for (size_t k = 0; k < n.node.out.size(); ++k) copy(results, k, n.out(k), one->view().out(k));
    return Kernel{inner->id + ".in_16_bits", end,
                  [=, run = std::move(inner->run), in = std::vector<const void*>(n.inputs()),
                   out = std::vector<void*>(n.node.out.size())](const KernelArgs& a) mutable {
                    const auto work = [&](int64_t at) {
                      return reinterpret_cast<float*>(static_cast<std::byte*>(a.workspace) + at);
                    };
                    std::copy(a.in, a.in + in.size(), in.begin());
                    std::copy(a.out, a.out + out.size(), out.begin());
                    for (const Copied& c : operands) {
                      widen(c.half, c.count, static_cast<const uint16_t*>(a.in[c.at]),
                            work(c.offset), pool_of(a));
                      in[c.at] = work(c.offset);
                    }
                    if (bias) {
                      float* wide = work(bias->offset);
                      auto* kept = reinterpret_cast<uint16_t*>(
                          work(bias->offset + whole_lines(4 * bias->count)));
                      narrow(bias->half, false, bias->count,
                             static_cast<const float*>(a.in[bias->at]), kept, pool_of(a));
                      widen(bias->half, bias->count, kept, wide, pool_of(a));
                      in[bias->at] = wide;
                    }
                    for (const Copied& c : results) out[c.at] = work(c.offset);
                    run({in.data(), out.data(), a.workspace, a.queue});
                    for (const Copied& c : results)
                      narrow(c.half, false, c.count, work(c.offset),
                             static_cast<uint16_t*>(a.out[c.at]), pool_of(a));
                  }};
  }
  return declined(n, "kernels are for f32");
}

// A product, and the activation of its result as that is kept.
Result<Kernel> with_activation(const NodeView& n, int threads, Make make) {
  if (n.has("residual")) return declined(n, "an activation and a residual at once");
  Attrs attrs = n.attrs();
  attrs.erase("act");
  attrs.erase("save_pre");
  const OneNode product = HONE_TRY(one_node(n.program.ops(), n.node.op, attrs, operand_types(n)));
  const OneNode act = HONE_TRY(
      one_node(n.program.ops(), n.program.ops().find(n.text("act")), {}, {product.view().out(0)}));
  const Kernel first = HONE_TRY(between_casts(product.view(), threads, make)),
               second = HONE_TRY(between_casts(act.view(), threads, make));
  const bool saves = n.flag("save_pre");
  const int64_t pre = whole_lines(std::max(first.workspace_bytes, second.workspace_bytes));
  const int64_t bytes = pre + (saves ? 0 : whole_lines(n.out(0).bytes()));
  return Kernel{fmt::format("{}.{}", first.id, n.text("act")), bytes, [=](const KernelArgs& a) {
                  void* kept = saves ? a.out[1] : static_cast<std::byte*>(a.workspace) + pre;
                  void* const made[] = {kept};
                  first.run({a.in, made, a.workspace, a.queue});
                  const void* const read[] = {kept};
                  second.run({read, a.out, a.workspace, a.queue});
                }};
}

}  // namespace

Result<Kernel> through_f32(const NodeView& n, int threads, Make make) {
  const bool activates = n.node.op->product && n.node.op->attr("act") != nullptr &&
                         n.text("act") != "none" && is_kept_in_half(n.out(0).dtype);
  return activates ? with_activation(n, threads, make) : between_casts(n, threads, make);
}

}  // namespace hone::cpu
