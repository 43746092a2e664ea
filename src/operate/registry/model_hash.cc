#include "operate/registry/model_hash.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/hub.h"
#include "base/store/places/transfer.h"
#include "base/store/store.h"
#include "operate/monitor/origin.h"
#include "operate/registry/errors.h"

namespace hone {
namespace {

bool holds_weights(const std::string& name) {
  return name.ends_with(".safetensors") || name.ends_with(".bin") || name.ends_with(".gguf");
}

// `lines`: one for each file.
std::string hash_of_lines(const std::string& lines) { return "sha256:" + sha256_of_text(lines); }

}  // namespace

Result<std::vector<std::string>> model_files(const std::string& given) {
  const std::string folder = without_end_slash(given);
  std::vector<std::string> names;
  for (const Store::Entry& e : HONE_TRY(file_store().list(folder)))
    if (!e.folder) names.push_back(e.name);
  std::vector<std::string> files = wanted_files(names, true, {"*.gguf", "adapter_model.*"});
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  if (std::none_of(files.begin(), files.end(), holds_weights))
    return Error(err::kNoModelFiles, fmt::format("'{}' has no weights of a model", given))
        .todo(
            "name the folder that holds config.json and model.safetensors: the output_dir of a "
            "run");
  return files;
}

Result<std::string> hash_model(const std::string& given) {
  const std::string folder = without_end_slash(given);
  const std::vector<std::string> files = HONE_TRY(model_files(folder));
  std::string lines;
  for (const std::string& file : files)
    lines +=
        fmt::format("{}\t{}\n", file, HONE_TRY(sha256_of_file(file_store(), folder + "/" + file)));
  return hash_of_lines(lines);
}

Result<std::string> hash_data(const std::string& path) {
  if (!is_folder(path)) return "sha256:" + HONE_TRY(sha256_of_file(file_store(), path));
  std::string lines = source_hashes(path);
  if (!lines.empty()) return hash_of_lines(lines);
  for (const TransferFile& file : HONE_TRY(files_below(file_store(), path)))
    lines += fmt::format("{}\t{}\n", file.path,
                         HONE_TRY(sha256_of_file(file_store(), path + "/" + file.path)));
  return hash_of_lines(lines);
}

Result<std::string> hash_files(const std::vector<std::string>& files) {
  std::vector<std::string> sums;
  for (const std::string& file : files)
    sums.push_back(HONE_TRY(sha256_of_file(file_store(), file)));
  return hash_of_sums(sums);
}

std::string hash_of_sums(const std::vector<std::string>& sums) {
  std::string lines;
  for (const std::string& sum : sums) lines += sum + "\n";
  return lines.empty() ? "" : hash_of_lines(lines);
}

}  // namespace hone
