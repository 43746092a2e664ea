// The task that a model was trained on, with the settings that change its answers: the prefix of texts, lengths, beams.
// hone keeps them in a file of its own beside the model, by the names of the flags, and the columns of its rows' texts:
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
  std::string task = {};  // of --task or --preset; "": unknown
  nlohmann::json settings = nlohmann::json::object();
  std::vector<std::string> columns =
      {};  // of the texts of a row, as training read them; empty: unknown, or chats
  // Settings for Transformers' pipelines: `params` becomes the member `params_key` of
  // task_specific_params in config.json; "": none. Only written, never read.
  std::string params_key = {};
  nlohmann::json params = nlohmann::json::object();

  // Values of settings; the default if there is no such setting, or it has another type.
  std::string text(const char* name) const;
  int64_t number(const char* name) const;  // default: 0
};

// A folder without the file has none. H2210: it is not readable.
Result<TrainedTask> read_trained_task(const std::string& folder);
// Writes the file; without a task it removes one that is there.
Status write_trained_task(const std::string& folder, const TrainedTask& trained);

}  // namespace hone
