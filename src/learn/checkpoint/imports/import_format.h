// A form of training checkpoints of another program. Each is one file of this shelf:
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

// A weight that a checkpoint knows by its number alone.
struct NumberedState {
  std::string key;             // in the names of its states: "exp_avg.<key>"; "": it has none
  std::optional<Shape> shape;  // of its states; nullopt: it has none
};

struct ImportedRun {
  std::string format;  // for the log: "DeepSpeed ZeRO-2 of 2 ranks"
  // The weights in their best precision, under the names of the run's modules.
  std::unique_ptr<WeightSource> weights;
  // Tensors "<state>.<weight>" with PyTorch's names of states, such as exp_avg; null: none was saved.
  std::unique_ptr<WeightSource> optimizer;
  // Not empty: the optimizer's groups number its weights, and the states have the names "<state>.<key>".
  std::vector<std::vector<NumberedState>> numbered = {};
  // Weights, and with them their states, that may have rows after those of the model: padded vocabularies.
  std::set<std::string> padded = {};
  int64_t steps = 0;    // made, skipped ones included
  int64_t updates = 0;  // those that changed the weights
  std::optional<double> loss_scale = {};
  // Arguments of the optimizer under the names of settings: learning_rate, adam_beta1, weight_decay, ...
  Json arguments = Json::object();
  Json trainer_state = nullptr;  // trainer_state.json of Transformers, if it is there
  Json plateau = nullptr;        // the state of ReduceLROnPlateau: rate, best, bad_in_row, cooling
};

struct ImportFormat {
  std::string name;  // of the program, for messages
  // Recognises the format by files and their names, or by content; reads little.
  Result<bool> (*is_at)(const std::string& path, Store& store) = nullptr;
  // H2214, H2215, and errors of PyTorch's files.
  Result<ImportedRun> (*open)(const std::string& path, Store& store) = nullptr;
};

std::vector<ImportFormat> all_import();  // generated from the folder

}  // namespace hone
