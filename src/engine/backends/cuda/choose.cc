#include <algorithm>
#include <map>

#include "engine/backends/cuda/cuda.h"
#include "engine/device/errors.h"

namespace hone {
namespace {

constexpr int64_t kBlocks = 256;     // thread blocks that sum parts of a tensor
constexpr int64_t kHeadRows = 1024;  // rows of logits that the head holds at once
constexpr int64_t kFloat = 4;        // bytes

// The bytes of scratch, by op.
using Scratch = int64_t (*)(const NodeView& n, const DeviceSpec& spec);

int64_t none(const NodeView&, const DeviceSpec&) { return 0; }
int64_t product(const NodeView&, const DeviceSpec& spec) { return spec.workspace_bytes; }
// Sums of all tensors, one f64 a block.
int64_t sums(const NodeView& n, const DeviceSpec&) {
  return kBlocks * 8 * static_cast<int64_t>(n.inputs());
}
// Sums over rows of [rows, columns]: a row of each kind for each block.
int64_t row_sums(const NodeView& n, const DeviceSpec&) {
  return 2 * kBlocks * n.in(0).shape.back() * kFloat;
}
// Radix sort of (id, row) pairs, out of place.
int64_t sorted_rows(const NodeView& n, const DeviceSpec&) {
  return 4 * 8 * n.in(0).count() + kBlocks * 1024;
}
int64_t head(const NodeView& n, const DeviceSpec& spec) {
  const int64_t rows = std::min(kHeadRows, n.in(0).shape[0]);
  return rows * n.in(1).shape[0] * kFloat + rows * n.in(0).shape[1] * kFloat + product(n, spec);
}
// The gradient of q is summed in f32 over the blocks of keys, beside one sum a row.
int64_t attention_gradient(const NodeView& n, const DeviceSpec&) {
  return n.in(0).bytes() + n.in(0).shape[0] * n.integer("heads") * 2 * kFloat;
}

const std::map<std::string, Scratch, std::less<>>& composites() {
  static const std::map<std::string, Scratch, std::less<>> table{
      {"linear", product},
      {"linear_cross_entropy", head},
      {"attention", none},
      {"attention_grad", attention_gradient},
      {"cache_write", none},
      {"layer_norm", none},
      {"layer_norm_grad", row_sums},
      {"rms_norm", none},
      {"rms_norm_grad", row_sums},
      {"rope", none},
      {"embedding", none},
      {"gelu", none},
      {"gelu_tanh", none},
      {"silu", none},
      {"relu", none},
      {"activation_grad", none},
      {"gate", none},
      {"gate_grad", none},
      {"dropout", none},
      {"sum_rows", row_sums},
      {"adamw", none},
      {"adamw_8bit", none},
      {"sgd", none},
      {"adagrad", none},
      {"rmsprop", none},
      {"lion", none},
      {"lion_8bit", none},
      {"apollo_adamw", sums},
      {"lamb", sums},
      {"adafactor", sums},
      {"sum_squares", sums}};
  return table;
}

}  // namespace

Result<Choice> choose_cuda(const NodeView& n, const DeviceSpec& spec) {
  const std::string& op = n.node.op->name;
  const bool on_host = n.node.lane == Lane::host_compute;
  Choice c{(on_host ? "cpu." : "cuda.") + op, 0};
  auto found = composites().find(op);
  if (found != composites().end())
    c.workspace_bytes = found->second(n, spec);
  else if (!n.node.op->decompositions.empty())
    return Error(err::kDeclined, fmt::format("cuda: {}: no kernel of its own", op));
  else if (op == "matmul")
    c.workspace_bytes = product(n, spec);
  else if (op == "scatter_add_rows")
    c.workspace_bytes = sorted_rows(n, spec);
  else if (op == "reduce_sum" || op == "reduce_max")
    c.workspace_bytes = kBlocks * 8 * n.out(0).count();
  return c;
}

}  // namespace hone
