#include "learn/pretrained/trained_task.h"

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/checkpoint/errors.h"
#include "learn/checkpoint/safetensors/strict_json.h"

namespace hone {

std::string TrainedTask::text(const char* name) const { return text_at(settings, name); }
int64_t TrainedTask::number(const char* name) const { return whole_at(settings, name); }

Result<TrainedTask> read_trained_task(const std::string& folder) {
  TrainedTask trained;
  const std::string file = folder + "/" + kTrainedTaskFile;
  if (!path_exists(file)) return trained;
  const nlohmann::json json = HONE_TRY(read_json_object(file, err::kConfigUnreadable));
  const auto settings = json.find("settings");
  if (settings == json.end() || !settings->is_object())
    return Error(err::kConfigUnreadable, "the file has no object \"settings\"")
        .at(file)
        .todo("take the file from the output_dir of the training, or remove it");
  trained.task = text_at(json, "task");
  trained.settings = *settings;
  const auto columns = json.find("columns");
  if (columns == json.end()) return trained;
  for (const nlohmann::json& name : *columns) {
    if (!columns->is_array() || !name.is_string())
      return Error(err::kConfigUnreadable, "\"columns\" is not a list of names")
          .at(file)
          .todo("take the file from the output_dir of the training, or remove it");
    trained.columns.push_back(name.get<std::string>());
  }
  return trained;
}

Status write_trained_task(const std::string& folder, const TrainedTask& trained) {
  const std::string file = folder + "/" + kTrainedTaskFile;
  if (trained.task.empty()) return file_store().remove_all(file);
  nlohmann::json json{{"task", trained.task}, {"settings", trained.settings}};
  if (!trained.columns.empty()) json["columns"] = trained.columns;
  return file_store().write(file, json_text(json) + "\n");
}

}  // namespace hone
