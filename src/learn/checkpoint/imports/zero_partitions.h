// The flat parts of weights and optimizer states that the ranks of DeepSpeed's ZeRO have, as pieces of named
// tensors.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "learn/checkpoint/imports/optimizer_dict.h"
#include "learn/checkpoint/imports/piece_weights.h"

namespace hone {

// The state of one rank: *_optim_states.pt. Its tensors are named "<kind>.<k>", the flat tensor number k of a
// kind: "fp32" for the weights, else a state of the optimizer.
struct ZeroRank {
  std::shared_ptr<TorchObject> file;
  int64_t stage = 0, ranks = 0;
  std::vector<std::string> kinds;  // "fp32" first
  std::vector<int64_t> elements;   // of each flat tensor; the same for all kinds
  // Stages 1 and 2 of newer versions: for each flat tensor the weights in it, in their order: name, first
  // element, number of elements.
  struct Slice {
    std::string name;
    int64_t begin = 0, count = 0;
  };
  std::vector<std::vector<Slice>> slices;
  OptimizerDict optimizer;  // arguments, updates
  std::optional<double> loss_scale;
};

// H2214: the file lacks a part. H2215: a form that is not supported.
Result<ZeroRank> read_zero_rank(std::shared_ptr<TorchObject> file);

// Weights in groups of an optimizer, in the order of their flat tensors.
using ZeroGroups = std::vector<std::vector<NamedShape>>;

// Pieces of all weights of `kind`, from all ranks in their order. H2214: a weight lacks elements.
Result<std::map<std::string, std::vector<TensorPiece>>> zero_pieces(
    const std::vector<ZeroRank>& ranks, const ZeroGroups& groups, const std::string& kind);

// Elements of a weight that each rank has in stage 3; the last ones may have fewer.
inline int64_t stage3_part(int64_t elements, int64_t ranks) {
  return elements / ranks + (elements % ranks > 0 ? 1 : 0);
}

}  // namespace hone
