// The interface for training checkpoints of another program. Each format is one file of this folder:
//
//   ImportFormat import_lightning() {
//     return {.name = "Lightning", .is_at = is_lightning, .open = open_lightning};
//   }
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "base/store/store.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// A weight that the optimizer's state dict identifies by a number, not by a name.
struct NumberedState {
  // The weight's states are named "<state>.<key>": "exp_avg.0"; "": it has no states.
  std::string key;
  std::optional<Shape> shape;  // of the weight's states; nullopt: no states, or several shapes
};

struct ImportedRun {
  std::string format;  // for the log: "DeepSpeed ZeRO-2 of 2 ranks"
  // The weights, under the names of the run's modules, in the highest precision that the checkpoint has.
  std::unique_ptr<WeightSource> weights;
  // The optimizer's states as tensors "<state>.<weight>", with PyTorch's names of states, such as exp_avg. Null: the
  // checkpoint has none.
  std::unique_ptr<WeightSource> optimizer;
  // Not empty: the checkpoint identifies the optimizer's weights by numbers. numbered[g][i] is weight i of the
  // optimizer's group g, and the states in `optimizer` have the names "<state>.<key>".
  std::vector<std::vector<NumberedState>> numbered = {};
  // Names of weights that may have further rows after those of the model, because the vocabulary was padded. Their
  // states have these rows too.
  std::set<std::string> padded = {};
  int64_t steps = 0;    // training steps made, including those whose update was skipped
  int64_t updates = 0;  // steps that changed the weights
  std::optional<double> loss_scale = {};  // of mixed precision; none: not used
  // Arguments of the optimizer under the names of hone's settings: learning_rate, adam_beta1, weight_decay, ...
  Json arguments = Json::object();
  Json trainer_state = nullptr;  // Transformers' trainer_state.json; null: there is none
  // The state of ReduceLROnPlateau, an object. rate: the learning rate. best: the best metric so far. bad_in_row: the
  // number of evaluations in a row without an improvement. cooling: the number of evaluations until they are counted
  // again. null: the run does not use it.
  Json plateau = nullptr;
};

struct ImportFormat {
  std::string name;  // of the program, for messages
  // Whether the file or folder `path` has this format. Decides by names of files, or reads a little of them.
  Result<bool> (*is_at)(const std::string& path, Store& store) = nullptr;
  // Opens the checkpoint; its tensors are read later. H2214: it is incomplete or damaged. H2215: it is in a form that
  // is not supported. Errors of torch_object.h.
  Result<ImportedRun> (*open)(const std::string& path, Store& store) = nullptr;
};

std::vector<ImportFormat> all_import();  // one for each format's file in this folder; generated

}  // namespace hone
