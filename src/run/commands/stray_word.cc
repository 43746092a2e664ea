#include "run/commands/stray_word.h"

#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/rows/files.h"

namespace hone {
namespace {

// The flag of the file or folder; "": none is known.
std::string flag_of_word(const Schema& schema, const std::string& word) {
  const std::string folder = without_end_slash(word) + "/";
  if (path_exists(folder + "config.json")) return "model_name_or_path";
  if (path_exists(folder + "adapter_config.json")) return "adapter_name_or_path";
  if (is_folder(word) || !names_data_file(word)) return "";
  if (schema.command() == "hone eval") return "validation_file";
  return schema.command() == "hone predict" ? "test_file" : "train_file";
}

}  // namespace

std::string advice_for_word(const Schema& schema, const std::string& word) {
  const std::string flag = flag_of_word(schema, word);
  if (flag.empty() || !has_setting(schema, flag)) return "";
  return fmt::format("did you mean --{} {}?", flag, shell_word(word));
}

}  // namespace hone
