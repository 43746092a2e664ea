// The task that a model was trained on, and the settings of that training that change the model's answers: the prefix
// of texts, maximum lengths, the number of beams. hone keeps them in hone_task.json beside the model. Settings have
// the names of hone's flags; "columns" names the columns of the training data that held a row's texts:
//
//   {"task": "summarization", "settings": {"source_prefix": "summarize: ", "max_source_length": 512, ...}}
//   {"task": "classification", "settings": {"max_seq_length": 128}, "columns": ["question", "sentence"]}
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

inline constexpr const char* kTrainedTaskFile = "hone_task.json";

struct TrainedTask {
  std::string task = {};  // value of --task or --preset; "": unknown
  nlohmann::json settings = nlohmann::json::object();
  // Names of the columns with the texts of a row, in the order in which training read them; empty: unknown, or the
  // rows were chats.
  std::vector<std::string> columns = {};
  // Settings for Transformers' pipelines: config.json gets task_specific_params[params_key] = params; params_key "":
  // it gets none. They are only written: read_trained_task() does not fill them.
  std::string params_key = {};
  nlohmann::json params = nlohmann::json::object();

  // The value of the setting `name`; "" or 0 if it is absent or has another type.
  std::string text(const char* name) const;
  int64_t number(const char* name) const;
};

// Reads hone_task.json. A folder without this file gives an empty TrainedTask. H2210: the file has another form.
// Errors of read_json_object() (learn/checkpoint/safetensors/strict_json.h).
Result<TrainedTask> read_trained_task(const std::string& folder);
// Writes hone_task.json; if trained.task is "", removes an existing hone_task.json instead.
Status write_trained_task(const std::string& folder, const TrainedTask& trained);

}  // namespace hone
