#include "learn/tasks/prediction_file.h"

#include "base/core/log.h"
#include "base/store/store.h"

namespace hone {

Status write_predictions(const std::string& folder, const std::string& task,
                         std::span<const std::string> predictions) {
  std::string text = "index\tprediction\n";
  for (size_t i = 0; i < predictions.size(); ++i)
    text += fmt::format("{}\t{}\n", i, predictions[i]);
  const std::string file =
      fmt::format("{}/predict_results{}.txt", folder, task.empty() ? "" : "_" + task);
  HONE_TRY(file_store().write(file, text));
  log_info("{:<11} {}", "predicted", file);
  return Ok{};
}

}  // namespace hone
