// Which file has the kernel of an op.
#include "engine/backends/cpu/backend_support.h"

namespace hone::cpu {

Result<Kernel> composite_kernel(const NodeView& n, int threads) {
  const std::string& op = n.node.op->name;
  using Choose = Result<Kernel> (*)(const NodeView&, int);
  static const std::map<std::string, Choose, std::less<>> kTable{
      {"linear", matrix_kernel},
      {"matmul", matrix_kernel},
      {"linear_cross_entropy", matrix_kernel},
      {"attention", attention_kernel},
      {"attention_grad", attention_kernel},
      {"cache_write", attention_kernel},
      {"layer_norm", row_kernel},
      {"layer_norm_grad", row_kernel},
      {"rms_norm", row_kernel},
      {"rms_norm_grad", row_kernel},
      {"rope", row_kernel},
      {"embedding", row_kernel},
      {"scatter_add_rows", row_kernel},
      {"sum_rows", row_kernel},
      {"gelu", row_kernel},
      {"gelu_tanh", row_kernel},
      {"silu", row_kernel},
      {"relu", row_kernel},
      {"activation_grad", row_kernel},
      {"gate", row_kernel},
      {"gate_grad", row_kernel},
      {"add", row_kernel},
      {"dropout", row_kernel},
      {"dropout_mask", row_kernel},
      {"attention_dropout_mask", row_kernel},
      {"adamw", update_kernel},
      {"sgd", update_kernel},
      {"adagrad", update_kernel},
      {"rmsprop", update_kernel},
      {"lion", update_kernel},
      {"lamb", update_kernel},
      {"adafactor", update_kernel},
      {"sum_squares", update_kernel}};
  auto it = kTable.find(op);
  if (it == kTable.end()) return declined(n, "no fused kernel");
  // these look at the types themselves
  const bool any_float = op == "dropout_mask" || op == "attention_dropout_mask" || op == "linear" ||
                         op == "embedding" || it->second == update_kernel;
  for (ValueId v : n.node.in)
    if (!any_float && v != kNoValue && is_float(n.program.type(v).dtype) &&
        n.program.type(v).dtype != DType::f32)
      return declined(n, "kernels are for f32");
  return it->second(n, threads);
}

}  // namespace hone::cpu
