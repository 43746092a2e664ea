// Reads the files in which the ranks of DeepSpeed's ZeRO save weights and optimizer states. A rank has flat tensors:
// the concatenated parts of many weights. The functions below find the pieces of each weight in the flat tensors.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "learn/checkpoint/imports/optimizer_dict.h"
#include "learn/checkpoint/imports/piece_weights.h"

namespace hone {

// The file of one rank, *_optim_states.pt. Its tensors have the names "<kind>.<k>": flat tensor number k of a kind.
// The kind is "fp32" for the weights, else the name of an optimizer state, such as "exp_avg".
struct ZeroRank {
  std::shared_ptr<TorchObject> file;
  int64_t stage = 0, ranks = 0;    // stage: ZeRO stage 1, 2 or 3. ranks: number of ranks
  std::vector<std::string> kinds;  // "fp32" first
  std::vector<int64_t> elements;   // of each flat tensor k; the same for all kinds
  // The weights in each flat tensor, in order; only in stages 1 and 2 of newer versions, else empty. A slice is the
  // elements [begin, begin + count) of the flat tensor.
  struct Slice {
    std::string name;
    int64_t begin = 0, count = 0;
  };
  std::vector<std::vector<Slice>> slices;
  OptimizerDict optimizer;           // only the members arguments and updates are set
  std::optional<double> loss_scale;  // none: not in the file
};

// Reads the file of one rank. H2214: the file lacks a part, or a part has another form. H2215: the model is a mixture
// of experts in DeepSpeed's form.
Result<ZeroRank> read_zero_rank(std::shared_ptr<TorchObject> file);

// The weights of each group of the optimizer, in their order in the group's flat tensor.
using ZeroGroups = std::vector<std::vector<NamedShape>>;

// For each weight, the pieces of its values of `kind` in the files of the ranks. `ranks`: all of them, in order.
// H2214: a file lacks elements, or has elements of a weight that `groups` does not list.
Result<std::map<std::string, std::vector<TensorPiece>>> zero_pieces(
    const std::vector<ZeroRank>& ranks, const ZeroGroups& groups, const std::string& kind);

// The number of elements of a weight that each rank has in stage 3; the last ranks may have fewer.
inline int64_t stage3_part(int64_t elements, int64_t ranks) {
  return elements / ranks + (elements % ranks > 0 ? 1 : 0);
}

}  // namespace hone
