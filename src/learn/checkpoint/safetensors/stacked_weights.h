// Stacked tensors. The model has one tensor with a matrix for each expert (a stacked tensor). The checkpoint has one
// tensor for each expert (a member). A '*' in the name of the stacked tensor is the place of the member's number:
//
//   stacked   "mlp.experts.*.up_proj.weight" [E,F,C]
//   members   "mlp.experts.0.up_proj.weight" [F,C], "mlp.experts.1.up_proj.weight" [F,C], ...
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

inline constexpr char kMemberMark = '*';

inline bool is_stacked(std::string_view name) {
  return name.find(kMemberMark) != std::string_view::npos;
}
// The name of member `number`: the '*' is replaced. A name without '*' is returned unchanged.
std::string member_name(std::string_view stacked, int64_t number);

// A stacked tensor [E,F,C] to make. Some checkpoints have it as a part of one larger tensor: it is rows part * F to
// part * F + F - 1 of each of the E matrices of `merged` [E, parts * F, C]. merged "": there is no such tensor.
struct StackedTensor {
  std::string name;
  std::string merged = {};
  int64_t part = 0, parts = 1;
};
// Returns the weights with the members of these tensors replaced by the stacked tensors. Members are counted from
// number 0 until one is missing or has another type. Without members, the part of `merged` is taken. Tensors that have
// neither are not added; other tensors stay unchanged. No values are read. Returns `weights` if there is nothing to do.
std::unique_ptr<WeightSource> join_stacked(std::unique_ptr<WeightSource> weights,
                                           const std::vector<StackedTensor>& tensors);
// Replaces each stacked tensor (name with '*') in `tensors` by its members.
std::vector<TensorData> split_stacked(std::vector<TensorData> tensors);
// The tensor `tensor` of `weights` as a tensor to write under the name `name`, with elements of `dtype`. It is read in
// blocks when it is written; `weights` must outlive it.
TensorData tensor_of(const WeightSource& weights, const std::string& tensor, std::string name,
                     DType dtype);

}  // namespace hone
