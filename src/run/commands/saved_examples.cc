#include "run/commands/saved_examples.h"

#include <algorithm>
#include <filesystem>

#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/store.h"
#include "learn/data/rows/files.h"
#include "operate/registry/evaluation.h"
#include "operate/registry/model_hash.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

Error cannot_save(const std::string& what, const std::string& todo) {
  return Error(err::kSavedExamples, what).at("--save_examples").todo(todo);
}

// Files of rows below a folder that hone prepare or others have written, those of validation where their
// paths say which they are; not the manifests beside them, which hold times and places.
Status add_row_files(const std::string& folder, std::vector<std::string>& files) {
  for (const Store::Entry& e : HONE_TRY(file_store().list(folder))) {
    const std::string path = folder + "/" + e.name;
    if (e.folder)
      HONE_TRY(add_row_files(path, files));
    else if (!e.name.ends_with(".json"))
      files.push_back(path);
  }
  return Ok{};
}

// The files of rows below a folder: those of its validation split, if any have that name.
Result<std::vector<std::string>> files_of_folder(const std::string& folder) {
  std::vector<std::string> below;
  HONE_TRY(add_row_files(without_end_slash(folder), below));
  const auto is_other = [&](const std::string& f) {
    return f.find("validation", folder.size()) == std::string::npos;
  };
  if (!std::all_of(below.begin(), below.end(), is_other)) std::erase_if(below, is_other);
  return below;
}

Result<std::vector<std::string>> evaluated_files(const TaskSettings& s) {
  std::vector<std::string> files;
  for (const std::string& given : s.validation_file) {
    const std::string pattern[] = {given};
    const auto more = is_folder(given) ? HONE_TRY(files_of_folder(given))
                                       : HONE_TRY(expand_files(pattern, "validation"));
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

// Hashes the evaluated files. For a data set, also how its rows are split, and its name if it is
// not on this machine.
Result<std::string> data_hash(const TaskSettings& s) {
  if (!s.validation_file.empty()) return hash_files(HONE_TRY(evaluated_files(s)));
  std::string content = s.dataset_name;
  if (is_file(s.dataset_name)) content = HONE_TRY(hash_files({s.dataset_name}));
  if (is_folder(s.dataset_name))
    content = HONE_TRY(hash_files(HONE_TRY(files_of_folder(s.dataset_name))));
  return "sha256:" + sha256_of_text(fmt::format(
                         "{}\n{}\n{}\n{}\n{}", content, s.dataset_config_name, s.dataset_revision,
                         s.validation_split_percentage, s.data_seed.value_or(s.seed)));
}

// The values of the columns, row by row of the validation files.
Result<std::vector<OrderedJson>> read_slices(const TaskSettings& s,
                                             const std::vector<std::string>& columns, size_t rows) {
  std::vector<OrderedJson> slices;
  if (columns.empty()) return slices;
  const auto reader = HONE_TRY(open_rows(HONE_TRY(expand_files(s.validation_file, "validation"))));
  Row row;
  std::vector<size_t> at;
  while (HONE_TRY(reader->next(row))) {
    if (at.empty())
      for (const std::string& column : columns)
        at.push_back(HONE_TRY(text_column(*reader, column)));
    OrderedJson values = OrderedJson::object();
    for (size_t c = 0; c < columns.size(); ++c) {
      const Cell& cell = row.cells[at[c]];
      if (const auto* text = std::get_if<std::string>(&cell))
        values[columns[c]] = *text;
      else if (const auto* whole = std::get_if<int64_t>(&cell))
        values[columns[c]] = std::to_string(*whole);
      else if (const auto* number = std::get_if<double>(&cell))
        values[columns[c]] = double_text(*number);
      else if (const auto* yes = std::get_if<bool>(&cell))
        values[columns[c]] = *yes ? "true" : "false";
      else
        values[columns[c]] = nullptr;
    }
    slices.push_back(std::move(values));
  }
  const bool some = s.max_eval_samples >= 0;
  if (slices.size() == rows || (some && slices.size() > rows)) return slices;
  return cannot_save(
      fmt::format("the files have {} rows, {} were evaluated: their columns cannot be assigned",
                  slices.size(), rows),
      "leave --slice_columns out, or take the rows that the task drops out of the file");
}

}  // namespace

Status check_saved_examples(const ChosenTask& chosen,
                            const std::vector<std::string>& slice_columns) {
  const TaskSettings& s = *chosen.task->settings;
  if (s.output_dir.empty())
    return cannot_save("there is no folder for the rows", "name one with --output_dir");
  if (s.streaming) return cannot_save("rows of a stream are not kept", "leave --streaming out");
  const bool blocks = chosen.task->text.has_value();
  if (!slice_columns.empty() && (s.validation_file.empty() || blocks))
    return cannot_save(
        blocks ? fmt::format("a row of task {} is not a row of the file", chosen.task->name)
               : "there is no validation_file whose columns could be read",
        "leave --slice_columns out");
  return Ok{};
}

Status save_examples(const ChosenTask& chosen, const TaskRun& run, const ExampleScores& scores,
                     const std::vector<std::string>& slice_columns) {
  const TaskSettings& s = *chosen.task->settings;
  const std::string data = HONE_TRY(data_hash(s));
  // Rows that are cut out of a text are other rows for another tokenizer or length.
  std::string prefix = data.substr(data.find(':') + 1, 12);
  if (chosen.task->text && run.examples().eval)
    prefix += fmt::format("-{:016x}", run.examples().eval->axes[0].hash());
  const std::vector<OrderedJson> slices =
      HONE_TRY(read_slices(s, slice_columns, scores.rows().size()));
  std::string lines;
  for (size_t i = 0; i < scores.rows().size(); ++i) {
    OrderedJson line = {{"id", fmt::format("{}-{}", prefix, i)}};
    if (scores.rows()[i].is_object()) line.update(scores.rows()[i]);
    if (!slices.empty()) line["slices"] = slices[i];
    lines += dump_json(line) + "\n";
  }
  OrderedJson settings = chosen.schema.dump();
  const OrderedJson told = {{"hone", version()},
                            {"task", chosen.task->name},
                            {"model", s.model_name_or_path},
                            {"folder", std::filesystem::current_path().string()},
                            {"data", data},
                            {"examples", scores.rows().size()},
                            {"settings", redact_secrets(std::move(settings))}};
  HONE_TRY(file_store().write(s.output_dir + "/" + kEvaluationRunFile,
                              dump_json(told, {.indent = 2}) + "\n"));
  HONE_TRY(file_store().write(s.output_dir + "/" + kExamplesFile, lines));
  log_info("{:<11} {} rows in {}/{}", "saved", scores.rows().size(), s.output_dir, kExamplesFile);
  return Ok{};
}

}  // namespace hone
