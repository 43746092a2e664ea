// Tensors that a model has as one and a checkpoint one by one, such as the matrices of experts. A '*' in the
// name is the place of their numbers:
//
//   "mlp.experts.*.up_proj.weight" [E,F,C]   <->   "mlp.experts.0.up_proj.weight" [F,C], ..1.., ..2.., ...
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
// The name of one of them; the name itself if it has no mark.
std::string member_name(std::string_view stacked, int64_t number);

// A tensor to join, and where it may be a part of another: rows part * F to part * F + F - 1 of each matrix
// of `merged` [E, parts * F, C]. merged "": nowhere.
struct StackedTensor {
  std::string name;
  std::string merged = {};
  int64_t part = 0, parts = 1;
};
// The weights with these tensors joined, as far as the source has their members, from number 0 on, with one
// shape and one type; the others as they are. Nothing is read yet. The weights themselves if none is there.
std::unique_ptr<WeightSource> join_stacked(std::unique_ptr<WeightSource> weights,
                                           const std::vector<StackedTensor>& tensors);
// The tensors with each stacked one replaced by its members.
std::vector<TensorData> split_stacked(std::vector<TensorData> tensors);
// A tensor of the source to write under that name, read a block at a time; the source must outlive it.
TensorData tensor_of(const WeightSource& weights, const std::string& tensor, std::string name,
                     DType dtype);

}  // namespace hone
