#include "run/commands/data_paths.h"

#include <algorithm>

#include "base/core/url.h"
#include "base/store/store.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/files.h"

namespace hone {

Status check_data_files(const std::vector<std::string>& files) {
  for (const std::string& file : files)
    if (!is_url(file) && file.find_first_of("*?[") == std::string::npos && !path_exists(file))
      HONE_TRY(expand_files(std::vector{file}));
  return Ok{};
}

Status check_data_files(const TaskSettings& s) {
  if (!s.dataset_name.empty()) return Ok{};
  if (s.do_train) HONE_TRY(check_data_files(s.train_file));
  return s.do_eval ? check_data_files(s.validation_file) : Status(Ok{});
}

Status check_data_named(const ChosenTask& chosen) {
  const auto names = [](const Setting& s) { return s.group == "Data" && s.changed(); };
  if (!chosen.task->settings->do_train || std::ranges::any_of(chosen.schema.all(), names))
    return Ok{};
  return Error(err::kDataMissing, "training needs data, and none are named")
      .todo(
          fmt::format("give --train_file or --dataset_name; 'hone train --task {} --help all' has "
                      "the others under Data",
                      chosen.task->name));
}

}  // namespace hone
